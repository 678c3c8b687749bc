import type { BenchCase, WorkloadBench } from '../../../bench/case.js';
import { DEFAULT_RUNS } from '../../../bench/measure.js';
import { openDevice } from '../../../device/registry.js';
import { Recorder } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import { type CourseCase, courseCases } from '../files/course-cases.js';
import { Solver } from '../job/solve.js';
import { targetFromBits } from '../kernel/reference.js';
import { peers } from './peers.js';
import { fedRateOf, rateOf, sizedOn } from './rate.js';

/** Additions, rotations, shifts and three-input logic per hash, as `millrace kernel stats block` counts them. */
const OPERATIONS_PER_HASH = 2849;

export const blockCases: WorkloadBench = {
  workload: 'block',
  cases: [
    {
      name: 'SHA-256d of headers',
      checkedBy: 'the nonces around the genesis block',
      bound: { limit: 'integer', perUnit: OPERATIONS_PER_HASH },
      open: async (device, { runs, seconds }) => {
        const candidate = await fedRateOf(device, runs, {}, seconds);
        return { ...candidate, close: () => {} };
      },
    },
    ...courseCases.map(courseCase),
  ],
  sized: sizedOn,
  timeline: async (device) => {
    const records = new Recorder(4096);
    await (await fedRateOf(device, DEFAULT_RUNS, { records })).run();
    return records;
  },
  async *peers(device, { runs }) {
    if (device.info.kind !== 'native' && device.info.kind !== 'wasm') return;
    const own = await openDevice(device.info.id, { threads: 1 });
    try {
      const others = await peers(runs);
      yield {
        title: 'SHA-256d, by compressions, one thread each',
        candidates: [await rateOf(own, runs), ...others],
        absent: others.length > 1 ? [] : ['OpenSSL (openssl speed)'],
      };
    } finally {
      await own.close();
    }
  },
};

/** Solves a file of the course: blocks one after the other, each from nonce 0 on. */
function courseCase({ name, blocks }: CourseCase): BenchCase {
  const searches = blocks.map(({ prefix, nonce }) => {
    const bytes = Buffer.from(prefix, 'hex');
    return { nonce, search: { prefix: bytes, target: targetFromBits(bytes.readUInt32LE(72)) } };
  });
  const work = blocks.reduce((sum, { nonce }) => sum + nonce + 1, 0);
  return {
    name: `the course's ${name}, solved`,
    checkedBy: 'the nonces that the chain has',
    bound: { limit: 'integer', perUnit: OPERATIONS_PER_HASH },
    isLong: true,
    unsupportedReason: ({ processor }) => (processor === 'cpu' ? 'a CPU takes minutes for it' : undefined),
    open: async (device, { runs }) => {
      const solver = new Solver(device);
      await solver.prepare(...searches.map(({ search }) => search.target));
      const run = async () => {
        for (const { nonce, search } of searches) {
          const found = await solver.solve(search);
          if (found?.nonce !== nonce) throw wrongNonce(device.info.id, found?.nonce, nonce);
        }
        return { work, digest: blocks.map(({ nonce }) => nonce).join() };
      };
      return { name, unit: 'H', runs, run, close: () => solver.close() };
    },
  };
}

const wrongNonce = (id: string, found: number | undefined, nonce: number): MillraceError =>
  new MillraceError({
    code: 'device-failed',
    message: `${id} found ${found ?? 'no nonce'} where the smallest is ${nonce}`,
    asked: `a block of the course on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; a figure for wrong results is worth nothing`,
  });
