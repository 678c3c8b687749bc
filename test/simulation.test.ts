import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endOf, type Range } from '../src/engine/work/space.js';
import { type DeviceSpec, type JobSpec, type Outcome, simulate } from './simulation/simulation.js';
import { byTier } from './tier.js';

/**
 * The engine's policies combined, on a virtual clock: their guarantees must hold whatever devices do.
 */
const WORLDS = byTier(8, 120, 5000);
/** Seeds of each fixed scenario. */
const SEEDS = byTier(1, 5);

describe('in any world', () => {
  const good = fc.record({
    perMs: fc.double({ min: 100, max: 5000, noNaN: true }),
    jitter: fc.double({ min: 0, max: 0.5, noNaN: true }),
    streams: fc.integer({ min: 1, max: 3 }),
    perStream: fc.integer({ min: 2, max: 4 }),
    launchMs: fc.double({ min: 0, max: 0.5, noNaN: true }),
  });
  const moment = fc.double({ min: 0, max: 250, noNaN: true });
  const fault = fc.oneof(
    fc.constant({}),
    fc.record({ diesAtMs: moment }),
    fc.record({ slows: fc.record({ fromMs: moment, factor: fc.constantFrom(2, 10, 50) }) }),
    fc.record({ hangs: fc.record({ fromMs: moment, forMs: fc.constantFrom(500, 1e9) }) }),
    fc.record({ fails: fc.constantFrom(0.01, 0.3, 1) }),
    fc.record({ inventsFromMs: moment }),
  );
  const device = fc.tuple(good, fault).map(([spec, bad]) => ({ ...spec, ...bad }));
  const job = fc.record({
    start: fc.constantFrom(0n, (1n << 32n) - 70_000n, (1n << 53n) - 70_000n, (1n << 64n) - 70_000n, 1n << 127n),
    length: fc.oneof(fc.bigInt(1n, 5000n), fc.bigInt(100_000n, 1_000_000n)),
    mode: fc.constantFrom('all' as const, 'first' as const, 'any' as const, 'arrival' as const),
    hitEvery: fc.constantFrom(undefined, 7n, 1000n, 999_983n),
    ringCapacity: fc.constantFrom(8, 64, 1024),
    aim: fc.constantFrom('interactive' as const, 'batch' as const),
    startsAtMs: fc.constantFrom(0, 0, 50, 700),
    inFlight: fc.constantFrom(undefined, undefined, 1),
  });
  const world = fc.record({
    seed: fc.nat(),
    first: good,
    others: fc.array(device, { maxLength: 3 }),
    jobs: fc.array(job, { minLength: 1, maxLength: 4 }),
    cancels: fc.constantFrom(0, 0, 0.02, 0.3),
    canary: fc.constantFrom(undefined, 8),
    misses: fc.boolean(),
  });

  test('every index counts once, answers are right, and the job ends, whatever fails', () => {
    fc.assert(
      fc.property(world, ({ seed, first, others, jobs, cancels, canary, misses }) => {
        // The first device is slow or fast but sound. With canaries the last one may also miss hits.
        const specs: DeviceSpec[] = [first, ...others].map((spec, at) => ({ ...spec, id: `device ${at}` }));
        const liar = specs.length > 1 && canary !== undefined && misses ? specs.pop() : undefined;
        const devices = liar ? [...specs, { ...liar, missesFromMs: 300 }] : specs;
        const plans = jobs.map(({ start, length, hitEvery, inFlight, ...rest }, at): JobSpec => {
          // Fewer hits in long jobs: more would make the test itself slow.
          const every = hitEvery === 7n && length > 100_000n ? 700n : hitEvery;
          return {
            id: `job ${at}`,
            range: { start, length },
            ...rest,
            ...(every && { hitEvery: every }),
            ...(canary && { canary }),
            ...(inFlight && { inFlight }),
          };
        });
        const outcome = simulate({ seed, devices, jobs: plans, cancels });
        expect(outcome.endMs).toBeDefined();
        for (const plan of plans) checkJob(plan, outcome);
        checkIssues(outcome);
      }),
      { numRuns: WORLDS },
    );
  });
});

describe('several jobs', () => {
  test('k equal jobs on a device are never more than one chunk apart, and none waits more than 2k + 1 rounds', () => {
    const shape = fc.record({
      k: fc.integer({ min: 1, max: 9 }),
      streams: fc.integer({ min: 1, max: 4 }),
      seed: fc.nat(),
    });
    fc.assert(
      fc.property(shape, ({ k, streams, seed }) => {
        const jobs = Array.from(
          { length: k },
          (_, at): JobSpec => ({ id: `${at}`, range: { start: 0n, length: 2_000_000n } }),
        );
        const devices = [{ id: 'gpu', perMs: 2000, jitter: 0.4, streams }];
        const { issues } = simulate({ seed, devices, jobs, untilMs: 500 });
        const turns = new Map(jobs.map(({ id }) => [id, 0]));
        expect(issues.length).toBeGreaterThan(10);
        const apart: number[] = [];
        // Jobs join one by one.
        const all = issues.filter(({ active }) => active >= k);
        for (const { job } of all) {
          turns.set(job, turns.get(job)! + 1);
          apart.push(Math.max(...turns.values()) - Math.min(...turns.values()));
        }
        expect(Math.max(...apart)).toBeLessThanOrEqual(1);
        expect(Math.max(...all.map(({ waitRounds }) => waitRounds))).toBeLessThanOrEqual(2 * k + 1);
      }),
      { numRuns: byTier(3, 20) },
    );
  });

  test('a new job gets its first chunk within one rotation, and an equal share from then on', () => {
    const jobs: JobSpec[] = [
      { id: 'old', range: { start: 0n, length: 1n << 40n } },
      { id: 'new', range: { start: 0n, length: 1n << 40n }, startsAtMs: 1000 },
    ];
    const { issues } = simulate({ seed: 1, devices: [{ id: 'gpu', perMs: 2000 }], jobs, untilMs: 4000 });
    const later = issues.filter(({ issuedMs }) => issuedMs >= 1000);
    expect(later.slice(0, 2).map(({ job }) => job)).toContain('new');
    // Chunks of the old job shrink to the aim of jobs that take turns, so that time is shared too.
    const items = (job: string) =>
      issues.filter((issue) => issue.job === job && issue.issuedMs >= 2000).reduce((sum, { count }) => sum + count, 0);
    expect(items('new') / items('old')).toBeGreaterThan(0.5);
    expect(items('new') / items('old')).toBeLessThan(2);
  });
});

describe('several devices', () => {
  const total = 80_000_000;
  const job: JobSpec = { id: 'job', range: { start: 0n, length: BigInt(total) } };
  const pair = (more: Partial<DeviceSpec>[] = [], jitter = 0.1): DeviceSpec[] => [
    { id: 'a', perMs: 5000, jitter, ...more[0] },
    { id: 'b', perMs: 3000, jitter, ...more[1] },
  ];
  const endOfRun = (seed: number, devices: DeviceSpec[], jobs = [job]): number => {
    const { endMs } = simulate({ seed, devices, jobs });
    return endMs ?? Number.POSITIVE_INFINITY;
  };

  test('with speeds in the ratio 5:3 end within 3 % of the ideal', () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      for (const jitter of [0, 0.1, 0.3]) expect(endOfRun(seed, pair([], jitter)) / (total / 8000)).toBeLessThan(1.03);
    }
  });

  test('end a job of a quarter of a second within 2 % of the ideal', () => {
    const short: JobSpec = { id: 'job', range: { start: 0n, length: 2_000_000n } };
    for (let seed = 0; seed < SEEDS; seed++) expect(endOfRun(seed, pair([], 0), [short]) / 250).toBeLessThan(1.02);
  });

  test.each([
    [2, 1.9],
    [4, 3.7],
  ])('%i equal devices are at least %f times as fast as one, in short jobs and long ones', (count, minSpeedup) => {
    // The miner's first chunk on a GPU: 17.3 M nonces, 32 ms on this device.
    const gpu = { perMs: 532_000, shape: { stride: 4 * 17_301_504, granularity: 1 } };
    const devices = Array.from({ length: count }, (_, at): DeviceSpec => ({ id: `${at}`, ...gpu }));
    for (const ms of [100, 117, 250, 1000, 10_000]) {
      const jobs = [{ id: 'job', range: { start: 0n, length: BigInt(ms * gpu.perMs) } }];
      const alone = endOfRun(1, devices.slice(0, 1), jobs);
      expect(alone / endOfRun(1, devices, jobs)).toBeGreaterThan(minSpeedup);
    }
  });

  test('end within 15 % of the ideal if one slows tenfold in mid-run', () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      for (const part of byTier([0.5], [0.2, 0.5, 0.8])) {
        const fromMs = (part * total) / 8000;
        const slows = { slows: { fromMs, factor: 10 } };
        const left = total - 8000 * fromMs;
        expect(endOfRun(seed, pair([{}, slows])) / (fromMs + left / 5300)).toBeLessThan(1.15);
        expect(endOfRun(seed, pair([slows])) / (fromMs + left / 3500)).toBeLessThan(1.15);
      }
    }
  });

  test('end within 15 % of the ideal too if the whole run takes one second', () => {
    const short: JobSpec = { id: 'job', range: { start: 0n, length: BigInt(total / 10) } };
    for (let seed = 0; seed < byTier(3, 40); seed++) {
      const fromMs = 500;
      const left = total / 10 - 8000 * fromMs;
      const slows = { slows: { fromMs, factor: 10 } };
      expect(endOfRun(seed, pair([{}, slows]), [short]) / (fromMs + left / 5300)).toBeLessThan(1.15);
    }
  });

  test('redo the chunks of one that hangs for good', () => {
    for (let seed = 0; seed < SEEDS; seed++) {
      const outcome = simulate({ seed, devices: pair([{}, { hangs: { fromMs: 3000, forMs: 1e9 } }]), jobs: [job] });
      const ideal = 3000 + (total - 24e6) / 5000;
      expect(outcome.endMs! / ideal).toBeLessThan(1.15);
      checkJob(job, outcome);
    }
  });

  test('of three kinds, a thousandfold apart in speed: the slowest does not delay the end', () => {
    const devices: DeviceSpec[] = [
      { id: 'gpu', perMs: 5000, jitter: 0.05 },
      { id: 'cpu', perMs: 100, jitter: 0.2 },
      // Its smallest useful chunk takes a second.
      { id: 'tab', perMs: 5, jitter: 0.2, shape: { min: 5000, stride: 5000 } },
    ];
    for (let seed = 0; seed < SEEDS; seed++) expect(endOfRun(seed, devices) / (total / 5105)).toBeLessThan(1.03);
  });

  test('a static partition gives each device its part and nothing else', () => {
    const parts = new Map([
      ['a', { start: 0n, length: 50_000_000n }],
      ['b', { start: 50_000_000n, length: 30_000_000n }],
    ]);
    const outcome = simulate({ seed: 1, devices: pair(), jobs: [{ ...job, parts }] });
    checkJob(job, outcome);
    for (const { device, start } of outcome.issues) expect(device).toBe(start < 50_000_000n ? 'a' : 'b');
    expect(outcome.endMs! / 10_000).toBeLessThan(1.03);
  });
});

describe('a device on a slow machine', () => {
  // Windows of a second, canaries of an eighth of that, as the gaps workload has on two cores.
  const shape = { stride: 1000, granularity: 1000, min: 1000, max: 4000 };
  const job: JobSpec = { id: 'job', range: { start: 0n, length: 64_000n }, canary: 125 };
  const run = (factor: number, share: number): Outcome => {
    const slows = { fromMs: 8000, factor };
    const devices = [{ id: 'cpu', perMs: 1, jitter: 0.3, shape, slows }];
    return simulate({ seed: 1, devices, jobs: [job], otherLoad: { fromMs: 8000, share } });
  };

  test.each(byTier([1, 16], [1, 4, 16, 64]))('that becomes %i times slower does every chunk once', (factor) => {
    const outcome = run(factor, Math.max(1 / 16, 1 / factor));
    expect(outcome.excluded.size).toBe(0);
    expect(outcome.itemsOf.get('cpu')).toBe(64_000 + 125 * outcome.issues.filter(isCanary).length);
    checkJob(job, outcome);
  });

  test('gets its first canary after three chunks, not at the end', () => {
    const { issues } = run(1, 1);
    expect(issues.findIndex(isCanary)).toBeLessThanOrEqual(3);
    expect(issues.filter(isCanary).length).toBeGreaterThan(8);
  });

  test('is still excluded if it hangs', () => {
    const hangs = { fromMs: 8000, forMs: 1e9 };
    const outcome = simulate({
      seed: 1,
      devices: [{ id: 'cpu', perMs: 1, shape, hangs }],
      jobs: [job],
      untilMs: 300_000,
    });
    expect(outcome.excluded).toEqual(new Map([['cpu', 'stalled']]));
  });

  const isCanary = ({ kind }: Outcome['issues'][number]): boolean => kind === 'canary';
});

describe('devices that lie', () => {
  const job: JobSpec = { id: 'job', range: { start: 0n, length: 20_000_000n }, hitEvery: 10_007n, canary: 256 };
  const devices = (bad: Partial<DeviceSpec>): DeviceSpec[] => [
    { id: 'good', perMs: 3000, jitter: 0.1 },
    { id: 'bad', perMs: 5000, jitter: 0.1, ...bad },
  ];

  test('one that starts to miss hits is caught by a canary, and no hit is lost', () => {
    for (let seed = 0; seed < byTier(2, 8); seed++) {
      const outcome = simulate({ seed, devices: devices({ missesFromMs: 50 + 97 * seed }), jobs: [job] });
      expect(outcome.excluded).toEqual(new Map([['bad', 'missed']]));
      checkJob(job, outcome);
    }
  });

  test('one that invents hits is excluded after three', () => {
    for (let seed = 0; seed < byTier(2, 8); seed++) {
      const outcome = simulate({ seed, devices: devices({ inventsFromMs: 800 }), jobs: [job] });
      expect(outcome.excluded).toEqual(new Map([['bad', 'wrong']]));
      checkJob(job, outcome);
    }
  });

  test('one that hangs before its canary: its chunks do not count, and the other device redoes them', () => {
    for (let seed = 0; seed < byTier(2, 8); seed++) {
      const hangs = { fromMs: 60 + 100 * seed, forMs: 1e9 };
      const outcome = simulate({ seed, devices: devices({ hangs }), jobs: [job] });
      expect(outcome.endMs).toBeDefined();
      checkJob(job, outcome);
    }
  });

  test('canaries of sound devices take at most 0.2 % of the work, apart from the final ones', () => {
    const { issues } = simulate({ seed: 3, devices: devices({}), jobs: [job] });
    const items = (kind: string) =>
      issues.filter((issue) => issue.kind === kind).reduce((sum, { count }) => sum + count, 0);
    expect(issues.filter(({ kind }) => kind === 'canary').length).toBeGreaterThan(20);
    expect(items('canary')).toBeLessThanOrEqual(0.002 * items('work') + 2 * 256);
  });
});

test('streams, slots, devices and chunk sizes do not change the answers', () => {
  const job: JobSpec = {
    id: 'job',
    range: { start: (1n << 64n) - 100_000n, length: 200_000n },
    hitEvery: 4099n,
    ringCapacity: 16,
  };
  const answers = new Set<string>();
  for (const streams of byTier([1, 3], [1, 2, 3, 8])) {
    for (const count of byTier([1, 4], [1, 2, 4])) {
      for (const aim of ['interactive', 'batch'] as const) {
        const devices = Array.from({ length: count }, (_, at) => ({
          id: `${at}`,
          perMs: 100 + 300 * at,
          jitter: 0.3,
          streams,
        }));
        const { delivered } = simulate({ seed: streams + 10 * count, devices, jobs: [{ ...job, aim }] });
        answers.add(delivered.get('job')!.join());
      }
    }
  }
  expect(answers.size).toBe(1);
});

/** Checks that the chunks that counted tile the range, and that exactly its hits were delivered. */
function checkJob({ id, range, mode = 'all', hitEvery }: JobSpec, { counted, delivered }: Outcome): void {
  const ranges = [...(counted.get(id) ?? [])].sort((a, b) => (a.start < b.start ? -1 : 1));
  const answers = delivered.get(id) ?? [];
  const hits = hitsOf(range, hitEvery);
  const isMisplaced = (next: Range, at: number): boolean =>
    next.start < (at === 0 ? range.start : endOf(ranges[at - 1]!)) || endOf(next) > endOf(range);
  expect(ranges.filter(isMisplaced)).toEqual([]);
  const total = ranges.reduce((sum, { length }) => sum + length, 0n);
  const [first] = hits;
  if (first === undefined || mode === 'all' || mode === 'arrival') expect(total).toBe(range.length);
  if (mode === 'all') expect(answers).toEqual(hits);
  else if (mode === 'arrival') expect([...answers].sort((a, b) => (a < b ? -1 : 1))).toEqual(hits);
  else if (mode === 'any') {
    expect(answers.length).toBe(first === undefined ? 0 : 1);
    for (const answer of answers) expect(hits).toContain(answer);
  } else {
    expect(answers).toEqual(first === undefined ? [] : [first]);
    // Everything up to the answer was tried, without a gap.
    let end = range.start;
    for (const next of ranges) if (next.start === end) end = endOf(next);
    if (first !== undefined) expect(end).toBeGreaterThan(first);
  }
}

function hitsOf({ start, length }: Range, every: bigint | undefined): bigint[] {
  const hits: bigint[] = [];
  if (every === undefined) return hits;
  for (let index = ((start + every - 1n) / every) * every; index < start + length; index += every) hits.push(index);
  return hits;
}

/** Checks that no launch crosses a multiple of 2^32. */
function checkIssues({ issues }: Outcome): void {
  expect(issues.filter(({ start, count }) => (start + BigInt(count) - 1n) >> 32n !== start >> 32n)).toEqual([]);
}
