import type { OpenCase, WorkloadBench } from '../../../bench/case.js';
import { findMaxWork, type ScalableWork } from '../../../bench/scaling.js';
import type { Device } from '../../../device/device.js';
import { openDevice } from '../../../device/registry.js';
import { Engine } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import { searchGaps } from '../job/search.js';
import { searchStreams } from '../kernel/plan.js';
import { gmpPower, pariPower } from './peers.js';
import { fermatBase, fermatRate, searchLength, searchRate, sieveRate } from './rate.js';

const isGpu = ({ info }: Device): boolean => info.processor === 'gpu';

export const gapsCases: WorkloadBench = {
  workload: 'gaps',
  cases: [
    {
      name: 'Fermat tests, 320 bits',
      checkedBy: 'bigint powers of the first 128 numbers',
      unsupportedReason: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes minutes for it' : undefined),
      open: (device, { runs }) => fermatRate(device, { bits: 320, runs, count: isGpu(device) ? 2 ** 23 : 2 ** 12 }),
    },
    {
      name: 'sieve, 900,000 primes',
      checkedBy: "how many candidates the miners' sieve leaves",
      isLong: true,
      unsupportedReason: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes days for it' : undefined),
      open: async (device, { runs }) =>
        counted(device, await sieveRate(device, { primes: 900_000, runs, ...(!isGpu(device) && { depth: 1 }) })),
    },
    {
      name: 'search, shift 32',
      checkedBy: 'the gap of a block that was mined',
      isLong: true,
      unsupportedReason: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes days for it' : undefined),
      open: (device, { runs }) => searchRate(device, { runs, length: searchLength(device) }),
    },
  ],
  sized: sizedOn,
  async *peers(device, { runs }) {
    if (device.info.kind !== 'native' && device.info.kind !== 'wasm') return;
    const [bits, count] = [320, 2 ** 12];
    const own = await openDevice(device.info.id, { threads: 1 });
    try {
      const ours = await fermatRate(own, { bits, count, runs });
      const gmp = gmpPower(fermatBase(bits), count, runs);
      const pari = await pariPower(fermatBase(bits), count, runs);
      yield {
        title: `Fermat tests, ${bits} bits, one thread each`,
        candidates: [ours, gmp, pari].filter((one) => one !== undefined),
        absent: [...(gmp ? [] : ['GMP (libgmp)']), ...(pari ? [] : ['PARI/GP (gp)'])],
      };
      await ours.close();
    } finally {
      await own.close();
    }
  },
};

/** Candidates that `ReferenceSieve` leaves, by number of integers from the sieve's start, plus the minimum gap after them. */
const CANDIDATES = new Map([
  [2 ** 24, 572_833],
  [2 ** 25, 1_145_141],
  [2 ** 26, 2_291_320],
  [2 ** 28, 9_165_593],
  [2 ** 30, 36_661_006],
]);

/** Fails a run if its number of candidates is wrong, where it is known: windows depend on a GPU's memory. */
function counted(device: Device, rated: OpenCase): OpenCase {
  const run = async () => {
    const done = await rated.run();
    const known = CANDIDATES.get(done.work);
    if (known === undefined || done.digest === String(known)) return done;
    throw new MillraceError({
      code: 'device-failed',
      message: `${device.info.id} left ${done.digest} candidates of ${done.work} integers, not ${known}`,
      asked: `the sieve on ${device.info.id}`,
      advice: `run \`millrace selftest --device ${device.info.id}\`; a figure for wrong results is worth nothing`,
    });
  };
  return { ...rated, run };
}

/** A search over all devices; measures scaling. Its gaps are checked by bigints. */
async function sizedOn(devices: readonly Device[], maxWork?: number): Promise<ScalableWork> {
  const engine = new Engine([...devices], searchStreams(devices));
  const request = { start: fermatBase(288), minGap: 5_000 };
  const run = async (work: number): Promise<number> => {
    const begun = performance.now();
    for await (const _ of searchGaps({ ...request, length: BigInt(work) }, { engine }));
    return (performance.now() - begun) / 1000;
  };
  await run(1); // compiles
  return { unit: 'integers', maxWork: maxWork ?? (await findMaxWork(run, 10 ** 11)), run, close: () => engine.close() };
}
