import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openDevice } from '../src/device/registry.js';
import { type ChunkSource, Engine, Intervals, MemorySource, type SearchMode, search } from '../src/engine/index.js';
import { between } from '../src/engine/work/space.js';
import { items, u32, when } from '../src/kernel/index.js';
import { openStore } from '../src/store/index.js';
import { byTier } from './tier.js';

/** A source's results of earlier runs, and hits stored before they are shown: with the engine and with the ledger. */
const kernel = items('seventh', { hit: { n: u32 } }, ({ index, emit }) => {
  when(index.lo.rem(7).eq(3), () => emit({ n: index.lo }));
});
type Found = { readonly index: bigint; readonly n: number };
const hit = (index: number): Found => ({ index: BigInt(index), n: index });
const sevenths = (from: number, to: number): Found[] =>
  Array.from({ length: to - from }, (_, at) => from + at)
    .filter((index) => index % 7 === 3)
    .map(hit);

const device = await openDevice('interpreter');
const folder = mkdtempSync(join(tmpdir(), 'millrace-source-'));
afterAll(async () => {
  await device.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A source in memory that has results already and stores slowly. */
class SlowSource extends MemorySource<readonly Found[]> implements ChunkSource<readonly Found[]> {
  readonly storedResults: readonly Found[];
  readonly stored: Found[] = [];

  constructor(space: number, completed: Intervals, found: readonly Found[]) {
    super(between(0n, BigInt(space)), completed);
    this.storedResults = found;
  }

  override async commit(_piece?: unknown, hits: readonly Found[] = []): Promise<void> {
    await this.commitEarly(hits);
  }

  async commitEarly(hits: readonly Found[]): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    this.stored.push(...hits);
  }
}

async function hitsOf(source: SlowSource, space: number, mode: SearchMode): Promise<Found[]> {
  const engine = new Engine([device]);
  try {
    const all: Found[] = [];
    for await (const found of search(kernel, { engine, space, mode, source, max: 50 })) {
      const isKnown = [...source.stored, ...source.storedResults].some(({ index }) => index === found.index);
      expect(isKnown).toBe(true); // stored before it is shown
      all.push(found);
    }
    return all;
  } finally {
    await engine.close();
  }
}

describe('a source with stored results', () => {
  const completed = Intervals.of([between(100n, 200n), between(350n, 400n)]);
  const found = [...sevenths(100, 200), ...sevenths(350, 400)];

  it('has its hits delivered again, in order with the new ones', async () => {
    const source = new SlowSource(500, completed, found);
    expect(await hitsOf(source, 500, 'all')).toEqual(sevenths(0, 500));
    expect(source.stored.map(({ n }) => n).sort((a, b) => a - b)).toEqual(
      sevenths(0, 500)
        .filter(({ index }) => !completed.has({ start: index, length: 1n }))
        .map(({ n }) => n),
    );
  });

  it('has each hit delivered once, also if it was stored before its piece', async () => {
    const source = new SlowSource(500, completed, [hit(17), ...found]);
    expect(await hitsOf(source, 500, 'all')).toEqual(sevenths(0, 500));
    const inAnyOrder = await hitsOf(new SlowSource(500, completed, [hit(17), ...found]), 500, 'arrival');
    expect(inAnyOrder.map(({ n }) => n).sort((a, b) => a - b)).toEqual(sevenths(0, 500).map(({ n }) => n));
  });

  it('has a smaller hit found below the stored ones', async () => {
    expect(await hitsOf(new SlowSource(500, completed, found), 500, 'first')).toEqual([hit(3)]);
    const below = Intervals.of([between(0n, 3n)]);
    expect(await hitsOf(new SlowSource(500, below, [hit(3)]), 500, 'first')).toEqual([hit(3)]);
  });

  it('answers mode `any` at once', async () => {
    const source = new SlowSource(500, completed, found);
    expect(await hitsOf(source, 500, 'any')).toEqual([hit(101)]);
    expect(source.stored).toEqual([]);
    const [some] = await hitsOf(new SlowSource(500, Intervals.none, []), 500, 'any');
    expect(some!.n % 7).toBe(3);
  });

  it('has all hits delivered without a scan if its space is complete', async () => {
    const source = new SlowSource(500, Intervals.of([between(0n, 500n)]), sevenths(0, 500));
    expect(await hitsOf(source, 500, 'all')).toEqual(sevenths(0, 500));
    expect(source.stored).toEqual([]);
  });
});

describe('a ledger', () => {
  const SPACE = byTier(6000, 20_000);
  const spec = {
    command: 'test',
    name: 'sevenths',
    params: {},
    kernel: 'sevenths',
    space: between(0n, BigInt(SPACE)),
    call: { args: [], folder: '' },
  };

  it('resumes, run after run, until everything is done once', async () => {
    let runs = 0;
    for (let isComplete = false; !isComplete; runs++) {
      const store = await openStore(folder);
      const job = await store.open<Found>(spec);
      const engine = new Engine([device]);
      const all: Found[] = [];
      const stop = new AbortController();
      const hits = search(kernel, { engine, space: SPACE, source: job.source, max: 40, signal: stop.signal });
      try {
        for await (const found of hits) {
          all.push(found);
          if (all.length > 300 * (runs + 1)) stop.abort();
        }
        isComplete = true;
        expect(all).toEqual(sevenths(0, SPACE));
      } catch (error) {
        expect(stop.signal.aborted && (error as Error).name).toBe('AbortError');
        expect(all).toEqual(sevenths(0, SPACE).slice(0, all.length));
      }
      await engine.close();
      await job.checkpoint();
      // The run may have been stopped with everything done and not all hits delivered.
      const isDone = (await store.find(job.id)).done === BigInt(SPACE);
      if (!isDone) await expect(job.finish('complete')).rejects.toThrow('was reported complete');
      await job.finish(isComplete ? 'complete' : 'open');
      await store.close();
    }
    expect(runs).toBeGreaterThan(1);
    const store = await openStore(folder);
    const [{ job, done, hits } = { job: undefined }] = await store.jobs();
    expect({ state: job?.state, done, hits }).toEqual({
      state: 'complete',
      done: BigInt(SPACE),
      hits: sevenths(0, SPACE).length,
    });
    await store.close();
  });

  it('records ranges without a search, and tuning measurements', async () => {
    const store = await openStore(folder);
    const job = await store.open<Found>({ ...spec, command: 'written' });
    const elapsedMs = job.elapsed;
    await job.record(between(0n, 500n), [hit(3)]);
    expect(job.elapsed).toBeGreaterThan(elapsedMs);
    job.holdClock();
    const heldMs = job.elapsed;
    await job.record(between(500n, 600n));
    expect(job.elapsed).toBe(heldMs);
    job.startClock();
    await job.record(between(600n, BigInt(SPACE)));
    expect(job.elapsed).toBeGreaterThan(heldMs);
    await job.finish('complete');
    const key = { kernel: 'k', device: 'interpreter', driver: '', candidates: 'a,b' };
    await store.keepTuning(key, { a: 1.5, b: 2 });
    expect(await store.tuning(key)).toMatchObject({ timings: { a: 1.5, b: 2 } });
    await store.close();
    await expect(store.jobs()).rejects.toThrow('closed');
  });
});

it('a job is written as often as MILLRACE_CHECKPOINT_MS says, 10 s at most', async () => {
  const store = await openStore(join(folder, 'often'));
  const before = process.env.MILLRACE_CHECKPOINT_MS;
  /** Opens a job that is written each `ms`. */
  const every = async (ms: string) => {
    process.env.MILLRACE_CHECKPOINT_MS = ms;
    const [name, space, call] = [`each ${ms} ms`, between(0n, 9n), { args: [], folder: '' }];
    return store.open({ name, command: name, params: {}, kernel: name, space, call });
  };
  try {
    // With equal times the one that was opened first would be written first.
    const seldom = await every('1e9');
    const often = await every('10');
    for (const job of [seldom, often]) job.add(between(0n, 5n), []);
    await expect.poll(() => often.stored.indices).toBe(5n);
    expect(seldom.stored.indices).toBe(0n);
    for (const job of [seldom, often]) await job.finish('open');
  } finally {
    if (before === undefined) delete process.env.MILLRACE_CHECKPOINT_MS;
    else process.env.MILLRACE_CHECKPOINT_MS = before;
    await store.close();
  }
});
