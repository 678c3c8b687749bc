import type { Benched } from '../../bench/case.js';
import { openDevice } from '../../device/registry.js';
import { gmpPower } from './peers.js';
import { fermatBase, fermatRate, searchRate } from './rate.js';

export const gapsCases: Benched = {
  workload: 'gaps',
  cases: [
    {
      name: 'Fermat tests, 320 bits',
      checkedBy: 'bigint powers of the first 128 numbers',
      lacks: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes minutes for it' : undefined),
      open: (device, { runs }) =>
        fermatRate(device, { bits: 320, runs, count: device.info.processor === 'gpu' ? 2 ** 20 : 2 ** 12 }),
    },
    {
      name: 'search, shift 32',
      checkedBy: 'the gap of a block that was mined',
      isLong: true,
      lacks: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes days for it' : undefined),
      open: (device, { runs }) => searchRate(device, { runs }),
    },
  ],
  peers: async (device, { runs }) => {
    const [bits, count] = [320, 2 ** 11];
    const own = await openDevice(device.info.id, { threads: 1 });
    const ours = await fermatRate(own, { bits, count, runs });
    const gmp = gmpPower(fermatBase(bits), count, runs);
    return {
      title: `Fermat tests, ${bits} bits, one thread each`,
      candidates: [ours, ...(gmp ? [gmp] : [])],
      absent: gmp ? [] : ['GMP (libgmp)'],
      close: async () => {
        await ours.close();
        await own.close();
      },
    };
  },
};
