import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { type SimulatedJob, type SimulatedWorker, simulate, type World } from './fleet/simulation.js';
import { byTier, isLong, isShort, patience } from './tier.js';

/**
 * Both sides of the fleet's protocol on a network that loses, delays, duplicates and reorders, with machines that crash,
 * hang and lie. The simulated ledger throws if an index or a hit counts twice, and if a job ends without one.
 */
const WORLDS = byTier(4, 400, 20_000);

const good = fc.record({
  perMs: fc.constantFrom(0.5, 20, 1000, 30_000),
  joinsAtMs: fc.constantFrom(0, 0, 700, 20_000),
  clock: fc.constantFrom(1, 1, 0.9, 1.1),
});
const moment = fc.integer({ min: 0, max: 60_000 });
const fault: fc.Arbitrary<Partial<SimulatedWorker>> = fc.oneof(
  fc.constant({}),
  fc.record({ diesAtMs: moment }),
  fc.record({ diesAtMs: moment, returnsAfterMs: fc.integer({ min: 0, max: 20_000 }) }),
  fc.record({ hangsAtMs: moment }),
  fc.record({ leavesAtMs: moment }),
  fc.record({ offline: fc.tuple(moment, moment).map(([from, ms]) => ({ fromMs: from, toMs: from + ms })) }),
  fc.record({ invents: fc.constant(true) }),
  fc.record({ refuses: fc.constant(['job 0']) }),
);
const worker = fc.tuple(good, fault).map(([spec, bad]): SimulatedWorker => ({ ...spec, ...bad }));
const job = fc.record({
  start: fc.constantFrom(0n, (1n << 64n) - 5000n, 1n << 127n),
  length: fc.oneof(fc.bigInt(1n, 5000n), fc.bigInt(10_000n, 50_000_000n)),
  mode: fc.constantFrom('all' as const, 'all' as const, 'first' as const, 'any' as const, 'arrival' as const),
  sparse: fc.constantFrom(2n, 50n, 1000n),
  startsAtMs: fc.constantFrom(0, 0, 5000),
  cancelAtMs: fc.constantFrom(undefined, undefined, undefined, 8000),
  priority: fc.constantFrom(0, 0, 1),
});
const world = fc.record({
  seed: fc.nat(),
  network: fc.record({
    loss: fc.constantFrom(0, 0.01, 0.3),
    duplicates: fc.constantFrom(0, 0.3),
    latencyMs: fc.constantFrom(0.1, 5, 300),
    late: fc.constantFrom(0, 0.05),
  }),
  first: good,
  others: fc.array(worker, { maxLength: 6 }),
  jobs: fc.array(job, { minLength: 1, maxLength: 3 }),
  coordinatorFaults: fc.array(fc.record({ atMs: moment, kind: fc.constantFrom('crash' as const, 'pause' as const) }), {
    maxLength: 3,
  }),
  streamLosses: fc.array(moment, { maxLength: 2 }),
  viaText: fc.boolean(),
});

const common = { sparse: 2n, startsAtMs: 0, cancelAtMs: undefined } as const;
/** A coordinator that starts again after the first hit was committed: the job was reported as complete, not as answered. */
const restartedAfterHit: typeof world extends fc.Arbitrary<infer W> ? W : never = {
  seed: 375132161,
  network: { loss: 0.3, duplicates: 0, latencyMs: 0.1, late: 0.05 },
  first: { perMs: 30_000, joinsAtMs: 20_000, clock: 1 },
  others: [
    { perMs: 0.5, joinsAtMs: 0, clock: 1, offline: { fromMs: 0, toMs: 0 } },
    { perMs: 1000, joinsAtMs: 0, clock: 1, diesAtMs: 0, returnsAfterMs: 0 },
  ],
  jobs: [
    { start: 1n << 127n, length: 252_049n, mode: 'first', priority: 0, ...common },
    { start: (1n << 64n) - 5000n, length: 27_990_350n, mode: 'all', priority: 1, ...common },
    { start: 0n, length: 3_839_435n, mode: 'all', priority: 0, ...common },
  ],
  coordinatorFaults: [
    { atMs: 28_982, kind: 'pause' },
    { atMs: 43_144, kind: 'crash' },
  ],
  streamLosses: [],
  viaText: false,
};

describe('in any world', () => {
  test(
    'nothing is lost, nothing counts twice, and every job ends',
    () => {
      fc.assert(
        fc.property(world, ({ first, others, jobs, ...rest }) => {
          const made: World = {
            ...rest,
            // The first worker is slow or fast, but sound.
            workers: [{ ...first, perMs: Math.max(20, first.perMs) }, ...others],
            jobs: jobs.map(({ start, length, sparse, cancelAtMs, ...job }, at) => ({
              ...job,
              id: `job ${at}`,
              space: between(start, start + length),
              hitEvery: length / sparse + 1n,
              ...(cancelAtMs !== undefined && { cancelAtMs }),
            })),
          };
          const outcome = simulate(made);
          for (const { id, space, mode } of made.jobs) {
            const { outcome: end, done, hits } = outcome.jobs.get(id)!;
            if (end === 'complete') expect(done).toBe(space.length);
            if (end === 'answered') expect(hits.length).toBeGreaterThan(0);
            if (mode === 'all' || mode === 'arrival') expect(end).not.toBe('answered');
          }
        }),
        { numRuns: WORLDS, examples: [[restartedAfterHit]] },
      );
    },
    patience(isLong ? 3_600_000 : 120_000),
  );
});

describe('a fleet', () => {
  const quiet = { loss: 0, duplicates: 0, latencyMs: 20, late: 0 };
  const one = (length: bigint, hitEvery: bigint): SimulatedJob => ({
    id: 'job',
    space: between(0n, length),
    mode: 'all',
    hitEvery,
  });

  test.skipIf(isShort)('of sound machines keeps its devices fed and does little twice', () => {
    const workers = [1000, 3000, 9000, 27_000].map((perMs) => ({ perMs }));
    const { fed, workRatio, jobs } = simulate({
      seed: 1,
      network: quiet,
      workers,
      jobs: [one(20_000_000_000n, 1_000_003n)],
    });
    expect(jobs.get('job')?.hits.length).toBe(Number(20_000_000_000n / 1_000_003n) + 1);
    expect(fed).toBeGreaterThan(0.99);
    expect(workRatio).toBeLessThan(1.01);
  });

  test('gives the smallest index that hits, and stops', () => {
    const space = between(1n, 1_000_000_000n);
    const first: SimulatedJob = { id: 'job', space, mode: 'first', hitEvery: 10_000_019n };
    const { jobs } = simulate({ seed: 2, network: quiet, workers: [{ perMs: 100 }, { perMs: 3000 }], jobs: [first] });
    const { hits, outcome, done } = jobs.get('job')!;
    expect(outcome).toBe('answered');
    expect(hits[0]).toBe(10_000_019n);
    expect(done).toBeLessThan(space.length);
  });

  test('ends although a worker hangs with the last range', () => {
    const workers = [{ perMs: 1000, hangsAtMs: 5000 }, { perMs: 10 }];
    const { jobs, endedAtMs } = simulate({ seed: 3, network: quiet, workers, jobs: [one(6_000_000n, 99_991n)] });
    expect(jobs.get('job')?.done).toBe(6_000_000n);
    expect(endedAtMs).toBeLessThan(1_000_000);
  });

  test.skipIf(isShort)(
    `of ${byTier(1000, 1000, 100_000)} workers, a tenth of which crash, does each index once`,
    () => {
      const count = byTier(1000, 1000, 100_000);
      const workers = Array.from({ length: count }, (_, at): SimulatedWorker => {
        const spec = { perMs: 100 * (1 + (at % 17)), joinsAtMs: (at * 7919) % 3000, clock: 0.95 + (at % 11) / 100 };
        return at % 10 === 3 ? { ...spec, diesAtMs: 3000 + ((at * 104_729) % 8000), returnsAfterMs: 5000 } : spec;
      });
      const total = workers.reduce((sum, { perMs }) => sum + perMs, 0);
      const length = BigInt(total * 8000);
      const { jobs, events, workRatio, terms } = simulate({
        seed: 4,
        network: { loss: 0.01, duplicates: 0.01, latencyMs: 30, late: 0.001 },
        workers,
        jobs: [one(length, length / 10_000n)],
        coordinatorFaults: [{ atMs: 6000, kind: 'crash' }],
        maxEvents: 100_000_000,
      });
      expect(jobs.get('job')).toMatchObject({ outcome: 'complete', done: length });
      expect(jobs.get('job')?.hits.length).toBe(Number((length - 1n) / (length / 10_000n)) + 1);
      expect(workRatio).toBeLessThan(1.2);
      expect(terms).toBe(2);
      if (isLong) expect(events).toBeGreaterThan(10_000_000);
    },
    patience(isLong ? 7_200_000 : 180_000),
  );
});
