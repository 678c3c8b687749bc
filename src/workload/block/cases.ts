import type { Benched } from '../../bench/case.js';
import { openDevice } from '../../device/registry.js';
import { peers } from './peers.js';
import { fedRateOf, rateOf, sizedOn } from './rate.js';

/** Additions, rotations, shifts and three-input logic of a hash, as `millrace kernel stats block` counts them. */
const OPERATIONS = 2849;

export const blockCases: Benched = {
  workload: 'block',
  cases: [
    {
      name: 'SHA-256d of headers',
      checkedBy: 'the nonces around the genesis block',
      bound: { limit: 'integer', perUnit: OPERATIONS },
      open: async (device, { runs, seconds }) => {
        const candidate = await fedRateOf(device, runs, {}, seconds);
        return { ...candidate, close: () => {} };
      },
    },
  ],
  sized: sizedOn,
  peers: async (device, { runs }) => {
    const own = await openDevice(device.info.id, { threads: 1 });
    const others = await peers(runs);
    return {
      title: 'SHA-256d, by compressions, one thread each',
      candidates: [await rateOf(own, runs), ...others],
      absent: others.length > 1 ? [] : ['OpenSSL (openssl speed)'],
      close: () => own.close(),
    };
  },
};
