import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Random } from '../../device/conformance/model/random.js';
import { join, leave, type Rotation, roundsOf, serve } from './fairness.js';

const rotationOf = (...jobs: string[]): Rotation => jobs.reduce(join, [] as Rotation);
const everyone = () => true;

describe('rotation', () => {
  test('serves jobs in turn; a new job comes last; no job is in it twice', () => {
    let rotation = rotationOf('a', 'b', 'c');
    const served: (string | undefined)[] = [];
    for (let turn = 0; turn < 7; turn++) {
      const next = serve(rotation, everyone);
      served.push(next.job);
      rotation = turn === 2 ? join(join(next.rotation, 'd'), 'a') : next.rotation;
    }
    expect(served).toEqual(['a', 'b', 'c', 'a', 'b', 'c', 'd']);
  });

  test('skips jobs that want nothing; they keep their place and count no rounds', () => {
    const first = serve(rotationOf('a', 'b', 'c'), (job) => job !== 'a');
    expect(first.job).toBe('b');
    expect(first.rotation).toEqual([
      { job: 'a', rounds: 0 },
      { job: 'c', rounds: 1 },
      { job: 'b', rounds: 0 },
    ]);
    expect(serve(first.rotation, everyone).job).toBe('a');
    expect(roundsOf(first.rotation, 'c')).toBe(1);
    expect(serve(rotationOf('a'), () => false)).toEqual({
      job: undefined,
      rotation: rotationOf('a'),
      mustHalveOthers: false,
    });
    expect(serve(leave(rotationOf('a', 'b'), 'a'), everyone).job).toBe('b');
  });
});

/** Simulates jobs on slots that become free in random order, with at most `limit` chunks of a job in flight (C7: 1). */
function play(seed: number, jobs: number, slots: number, limit: number, times: (random: Random) => number) {
  const random = new Random(seed);
  let rotation = rotationOf(...Array.from({ length: jobs }, (_, at) => `job ${at}`));
  const turns = new Map(rotation.map(({ job }) => [job, 0]));
  const flight: { job: string; endMs: number }[] = [];
  let nowMs = 0;
  let spread = 0;
  let mostRounds = 0;
  /** Turns each other job has had since this one began to wait. */
  const since = new Map<string, Map<string, number>>();
  let twice = 0;
  const wants = (job: string) => flight.filter((chunk) => chunk.job === job).length < limit;
  for (let step = 0; step < 300; step++) {
    while (flight.length < slots) {
      const waiting = rotation.filter(({ job }) => wants(job)).map(({ job }) => job);
      mostRounds = Math.max(mostRounds, ...rotation.map(({ rounds }) => rounds));
      const served = serve(rotation, wants);
      rotation = served.rotation;
      if (served.job === undefined) break;
      flight.push({ job: served.job, endMs: nowMs + times(random) });
      turns.set(served.job, turns.get(served.job)! + 1);
      since.delete(served.job);
      for (const job of waiting) {
        if (job === served.job) continue;
        const seen = since.get(job) ?? since.set(job, new Map()).get(job)!;
        seen.set(served.job, (seen.get(served.job) ?? 0) + 1);
        twice = Math.max(twice, seen.get(served.job)!);
      }
      for (const job of since.keys()) if (!waiting.includes(job)) since.delete(job);
      spread = Math.max(spread, Math.max(...turns.values()) - Math.min(...turns.values()));
    }
    const next = flight.reduce((soonest, chunk) => (chunk.endMs < soonest.endMs ? chunk : soonest));
    nowMs = next.endMs;
    flight.splice(flight.indexOf(next), 1);
  }
  return { spread, mostRounds, twice };
}

describe('fairness', () => {
  const counts = { jobs: fc.integer({ min: 1, max: 12 }), slots: fc.integer({ min: 1, max: 8 }), seed: fc.nat() };

  test('k equal jobs are never more than one chunk apart, whatever the chunk times', () => {
    fc.assert(
      fc.property(fc.record(counts), ({ jobs, slots, seed }) => {
        const { spread, mostRounds } = play(seed, jobs, slots, slots, (random) => 1 + random.below(100));
        expect(spread).toBeLessThanOrEqual(1);
        expect(mostRounds).toBeLessThanOrEqual(2 * jobs + 1);
      }),
    );
  });

  test('the same holds with one chunk in flight each (C7) if chunks take equal times', () => {
    fc.assert(
      fc.property(fc.record(counts), ({ jobs, slots, seed }) => {
        const { spread, mostRounds } = play(seed, jobs, slots, 1, () => 10);
        expect(spread).toBeLessThanOrEqual(1);
        expect(mostRounds).toBeLessThanOrEqual(2 * jobs + 1);
      }),
    );
  });

  test('while a job waits no other job has two turns, whatever the times and the limit', () => {
    fc.assert(
      fc.property(fc.record(counts), fc.integer({ min: 1, max: 4 }), ({ jobs, slots, seed }, limit) => {
        const { twice, mostRounds } = play(seed, jobs, slots, limit, (random) => 1 + random.below(1000));
        expect(twice).toBeLessThanOrEqual(1);
        expect(mostRounds).toBeLessThanOrEqual(jobs);
      }),
    );
  });

  test('a job that fits no slot waits at most 2 × active + 1 rounds; then no other job is served until it fits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 0, max: 60 }), (jobs, fitsAfter) => {
        let rotation = rotationOf('big', ...Array.from({ length: jobs - 1 }, (_, at) => `small ${at}`));
        let crowds = 0;
        let servedAt: number | undefined;
        for (let turn = 0; servedAt === undefined; turn++) {
          const next = serve(rotation, everyone, (job) => job !== 'big' || turn >= fitsAfter);
          rotation = next.rotation;
          if (next.mustHalveOthers) crowds++;
          expect(roundsOf(rotation, 'big')).toBeLessThanOrEqual(2 * jobs + 1);
          if (next.job === undefined) expect(roundsOf(rotation, 'big')).toBe(2 * jobs + 1);
          if (next.job === 'big') servedAt = turn;
        }
        expect(servedAt).toBe(fitsAfter);
        expect(crowds).toBe(fitsAfter > 2 * jobs ? 1 : 0);
        expect(roundsOf(rotation, 'big')).toBe(0);
      }),
    );
  });
});
