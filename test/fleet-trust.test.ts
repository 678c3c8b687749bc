import { describe, expect, test } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { liars } from './fleet/liars.js';
import { type SimulatedJob, type SimulatedWorker, simulate } from './fleet/simulation.js';
import { byTier, isLong, isShort, patience } from './tier.js';

/**
 * Fleets of workers that are not trusted, on a simulated network. The simulated ledger throws if a job ends without a hit, or
 * counts something twice: so each of these jobs ends with the right answer.
 */
const HITS = 2000n;
const job = (length: bigint): SimulatedJob => ({
  id: 'job',
  space: between(0n, length),
  mode: 'all',
  hitEvery: length / HITS + 1n,
  hasWitnesses: true,
});
const quiet = { loss: 0, duplicates: 0, latencyMs: 20, late: 0 };
const rough = { loss: 0.02, duplicates: 0.02, latencyMs: 50, late: 0.002 };
/** Half a minute of a worker is a lease. */
const length = (workers: readonly SimulatedWorker[], seconds: number): bigint =>
  BigInt(Math.round(workers.reduce((sum, { perMs }) => sum + perMs, 0) * seconds * 1000));
const stranger = (at: number, lie?: SimulatedWorker['lie']): SimulatedWorker => ({
  perMs: 1000 * (1 + (at % 5)),
  isStranger: true,
  ...(lie && { lie }),
});
const seeds = Array.from({ length: byTier(1, 1, 50) }, (_, seed) => seed + 1);

describe('liars', () => {
  test('of three kinds among twelve workers are found, and the job ends with the right answer', () => {
    const kinds = ['skips a tenth of every range', 'leaves hits out', 'invents hits'];
    const workers = Array.from({ length: 12 }, (_, at) => stranger(at, liars[kinds[at - 4] ?? '']?.()));
    const outcome = simulate({ seed: 1, network: quiet, workers, jobs: [job(length(workers, 60))] });
    expect(outcome.jobs.get('job')?.hits.length).toBe(Number(HITS));
    expect(outcome.barred.map(({ worker }) => worker).sort()).toEqual([4, 5, 6]);
  });

  test.skipIf(isShort).for(Object.keys(liars).flatMap((kind) => seeds.map((seed) => [kind, seed] as const)))(
    'one that %s, five among 50 (%i)',
    { timeout: patience(300_000) },
    ([kind, seed]) => {
      const workers = Array.from({ length: 50 }, (_, at) => stranger(at, at % 10 === 3 ? liars[kind]?.() : undefined));
      // Those that lie late have to have the time to.
      const seconds = kind.includes('30 leases') ? 2400 : 400;
      const outcome = simulate({
        seed,
        network: rough,
        workers,
        jobs: [job(length(workers, seconds))],
        maxEvents: 20_000_000,
      });
      expect(outcome.jobs.get('job')?.hits.length).toBe(Number(HITS));
      expect(outcome.barred.map(({ worker }) => worker).sort((a, b) => a - b)).toEqual([3, 13, 23, 33, 43]);
    },
  );

  test.skipIf(isShort).for(seeds)(
    'of all kinds, and a coordinator that dies (%i)',
    { timeout: patience(300_000) },
    (seed) => {
      const kinds = Object.values(liars);
      const workers = Array.from({ length: 50 }, (_, at) =>
        stranger(at, at % 4 === 1 ? kinds[at >> 2]?.() : undefined),
      );
      const outcome = simulate({
        seed,
        network: rough,
        workers,
        jobs: [job(length(workers, 600))],
        coordinatorFaults: [{ atMs: 300_000, kind: 'crash' }],
        maxEvents: 20_000_000,
      });
      expect(outcome.jobs.get('job')?.hits.length).toBe(Number(HITS));
    },
  );
});

describe('honest workers', () => {
  test.skipIf(isShort)(
    'are never barred, and audits cost little once they are trusted',
    { timeout: patience(300_000) },
    () => {
      const workers = Array.from({ length: isLong ? 50 : 10 }, (_, at) => stranger(at));
      const { barred, audited, standings } = simulate({
        seed: 3,
        network: quiet,
        workers,
        jobs: [job(length(workers, 3600))],
        maxEvents: 20_000_000,
      });
      expect(barred).toEqual([]);
      expect(new Set(standings)).toEqual(new Set(['trusted']));
      expect(audited).toBeLessThan(0.2);
    },
  );

  test('stay trusted when the coordinator dies, and what they did is not done again', () => {
    const workers = Array.from({ length: 5 }, (_, at) => stranger(at));
    const jobs = [job(length(workers, 200))];
    const world = { seed: 7, network: quiet, workers, jobs };
    const undisturbed = simulate(world);
    const {
      standings,
      workRatio,
      barred,
      jobs: ended,
    } = simulate({
      ...world,
      // Late enough that nobody could earn trust again.
      coordinatorFaults: [{ atMs: 0.95 * undisturbed.endedAtMs, kind: 'crash' }],
    });
    expect(ended.get('job')?.hits.length).toBe(Number(HITS));
    expect(new Set(standings)).toEqual(new Set(['trusted']));
    expect(barred).toEqual([]);
    // Leases that were not over are done again, and audits that were under way: not what waited for them.
    expect(workRatio - undisturbed.workRatio).toBeLessThan(0.25);
  });

  test('of our own cost nothing', () => {
    const workers = [{ perMs: 1000 }, { perMs: 3000 }];
    const { audited, workRatio } = simulate({ seed: 4, network: quiet, workers, jobs: [job(length(workers, 60))] });
    expect(audited).toBe(0);
    expect(workRatio).toBeLessThan(1.1);
  });

  test('of whom there is one wait for a second', () => {
    const alone = [stranger(0)];
    const jobs = [job(length(alone, 20))];
    expect(() => simulate({ seed: 5, network: quiet, workers: alone, jobs, maxEvents: 5000 })).toThrow(/0 done/);
    const { jobs: ended } = simulate({
      seed: 5,
      network: quiet,
      workers: [...alone, { ...stranger(1), joinsAtMs: 60_000 }],
      jobs,
    });
    expect(ended.get('job')?.hits.length).toBe(Number(HITS));
  });

  test('without witnesses do everything twice', () => {
    const workers = [stranger(0), stranger(1), stranger(2)];
    const { hasWitnesses: _, ...plain } = job(length(workers, 30));
    const { audited } = simulate({
      seed: 6,
      network: quiet,
      workers,
      jobs: [{ ...plain, hitEvery: plain.space.length / 3n }],
    });
    expect(audited).toBeGreaterThan(0.95);
  });
});
