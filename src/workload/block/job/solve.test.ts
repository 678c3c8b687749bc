import { describe, expect, it } from 'vitest';
import type { BoundJob, Device, DeviceBuffer, DeviceProgram, Launch, Report, Stream } from '../../../device/device.js';
import { sharedMemory } from '../../../device/host-memory.js';
import { MillraceError } from '../../../kernel/error.js';
import { type Block, checkNonce, headerPrefix, targetFromBits } from '../kernel/reference.js';
import { jobValues } from '../kernel/scan.js';
import { maxNonces, Solver } from './solve.js';
import { solveAll } from './solve-all.js';

const prefix = Buffer.alloc(76, 7);
/** Every hash is below it, so every nonce that the fake device reports is valid. */
const EASY = (1n << 256n) - 1n;

describe('a search', () => {
  it('gives the smallest nonce when chunks end in any order', async () => {
    const device = fakeDevice({ hits: (nonce) => nonce >= 5000 && nonce % 777 === 0, shuffle: true });
    const solution = await new Solver(device).solve({ prefix, target: EASY });
    expect(solution).toMatchObject({ nonce: 5439, hash: checkNonce(prefix, EASY, 5439).hash });
  });

  it('gives the first one reported in mode any', async () => {
    // The chunk with the smallest nonce ends only after the search; only its neighbours can answer.
    const device = fakeDevice({
      hits: (nonce) => nonce >= 100,
      stuck: (base, count) => base + count > 100 && base <= 100,
    });
    const solution = await new Solver(device).solve({ prefix, target: EASY, mode: 'any' });
    expect(solution?.nonce).toBeGreaterThan(100);
  });

  it('returns null when the range is exhausted, after trying each nonce once', async () => {
    const device = fakeDevice({ hits: () => false });
    const tried: number[] = [];
    const range = { from: 2 ** 32 - 100_001, to: 2 ** 32 };
    const onProgress = (count: number) => tried.push(count);
    expect(await new Solver(device).solve({ prefix, target: EASY, ...range, onProgress })).toBeNull();
    let next = range.from;
    for (const { base, count } of device.launches.toSorted((a, b) => a.base - b.base)) {
      expect(base).toBe(next);
      next += count;
    }
    expect(next).toBe(range.to);
    expect(tried.at(-1)).toBe(100_001);
  });

  it('of an empty range finds nothing', async () => {
    const device = fakeDevice({ hits: () => true });
    expect(await new Solver(device).solve({ prefix, target: EASY, from: 5, to: 5 })).toBeNull();
    expect(device.launches).toEqual([]);
  });

  it('finds a solution at both ends of the range', async () => {
    for (const nonce of [70_000, 79_999]) {
      const device = fakeDevice({ hits: (n) => n === nonce });
      const solution = await new Solver(device).solve({ prefix, target: EASY, from: 70_000, to: 80_000 });
      expect(solution?.nonce).toBe(nonce);
    }
  });

  it('limits the size of its chunks by the target', async () => {
    const device = fakeDevice({ hits: (nonce) => nonce === 3000 });
    expect((await new Solver(device).solve({ prefix, target: EASY }))?.nonce).toBe(3000);
    expect(Math.max(...device.launches.map(({ count }) => count))).toBe(65);
    // One in 2^20: 64 of them in 2^26, which chunks here never reach.
    expect([EASY, 1n << 255n, 1n << 236n, 1n << 224n, 1n].map(maxNonces)).toEqual([
      65,
      129,
      2 ** 26 + 1,
      2 ** 32,
      2 ** 32,
    ]);
  });

  it('uses the variant that its target allows', async () => {
    const device = fakeDevice({ hits: (nonce) => nonce === 3 });
    const solver = new Solver(device);
    await solver.solve({ prefix, target: EASY });
    await solver.solve({ prefix, target: EASY });
    // Nonce 3 is not a solution at difficulty 1: the check rejects it, but the kernel was compiled by then.
    await solver.solve({ prefix, target: 1n << 223n }).catch(() => {});
    expect(device.compiled).toBe(2);
  });
});

describe('many blocks', () => {
  const bits = 0x207fffff;
  const blockAt = (time: number): Block => ({
    version: 1,
    previousHash: '0'.repeat(64),
    time,
    bits,
    transactions: ['a'.repeat(64)],
  });
  const blocks = Array.from({ length: 9 }, (_, at) => blockAt(at));
  /** Computed with node:crypto alone. */
  const smallest = (block: Block) => {
    let nonce = 0;
    while (!checkNonce(headerPrefix(block), targetFromBits(bits), nonce).valid) nonce++;
    return nonce;
  };
  const isRight = (nonce: number, job: { header: readonly number[] }) =>
    checkNonce(bytesOf(job.header), targetFromBits(bits), nonce).valid;
  const bytesOf = (words: readonly number[]) => {
    const bytes = Buffer.alloc(76);
    for (const [at, word] of words.entries()) bytes.writeUInt32BE(word, 4 * at);
    return bytes;
  };

  it('are solved several at a time; answers are in order, each reported once', async () => {
    const device = fakeDevice({ hits: isRight, shuffle: true });
    const reported: number[] = [];
    const solver = new Solver(device);
    const solutions = await solveAll(solver.engine, blocks, { onBlock: ({ at }) => reported.push(at) });
    expect(solutions.map((one) => one?.nonce)).toEqual(blocks.map(smallest));
    expect(reported.toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    await solver.close();
    expect(device.held).toBe(0);
  });

  it('are solved even if one has no nonce', async () => {
    const none = blocks.findIndex((block) => smallest(block) > 0);
    const range = { from: 0, to: 1 };
    const solutions = await solveAll(new Solver(fakeDevice({ hits: isRight })).engine, blocks, range);
    expect(solutions[none]).toBeNull();
    expect(solutions.map((one) => one?.nonce)).toEqual(blocks.map((block) => (smallest(block) === 0 ? 0 : undefined)));
  });

  it('all end on a failure, with its error', async () => {
    const lost = new MillraceError({ code: 'device-failed', message: 'the driver is gone' });
    const device = fakeDevice({ hits: () => false, failure: lost });
    const solver = new Solver(device);
    await expect(solveAll(solver.engine, blocks, {})).rejects.toThrow('the driver is gone');
    await solver.close();
    expect(device.held).toBe(0);
  });

  it('all end on a cancel', async () => {
    const device = fakeDevice({ hits: () => false, stuck: () => true });
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 5);
    const search = solveAll(new Solver(device).engine, blocks, { signal: controller.signal });
    await expect(search).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('a faulty device', () => {
  it.each([
    ['a nonce that is not a solution', { hits: (n: number) => n === 9 }, 1n << 200n, 'is not below the target'],
    [
      'a nonce outside its chunk',
      { hits: (n: number) => n === 9, report: () => 5_000_000 },
      EASY,
      'reported index 9, but gave it as nonce 5000000',
    ],
    ['a chunk cut short', { hits: () => false, complete: false }, EASY, 'before its end'],
  ])('that reports %s is an error', async (_what, behaviour, target, message) => {
    const device = fakeDevice(behaviour);
    const failure = new Solver(device).solve({ prefix, target }).catch((error: unknown) => error);
    expect(await failure).toBeInstanceOf(MillraceError);
    expect(await failure).toMatchObject({ code: 'device-failed' });
    expect(String(await failure)).toContain(message);
    expect(String(await failure)).toContain('fake');
  });

  it('that reports more hits than fit is an error, not an endless search', async () => {
    const device = fakeDevice({ hits: () => true, extra: 5000 });
    const failure = new Solver(device).solve({ prefix, target: EASY });
    await expect(failure).rejects.toMatchObject({ code: 'buffer-range' });
  });

  it('that fails passes its error to the caller, and leaves no other unhandled', async () => {
    const lost = new MillraceError({ code: 'device-failed', message: 'the driver is gone' });
    const device = fakeDevice({ hits: () => false, failure: lost });
    await expect(new Solver(device).solve({ prefix, target: EASY })).rejects.toBe(lost);
  });
});

describe('a cancel', () => {
  it('before the start prevents all launches', async () => {
    const device = fakeDevice({ hits: () => true });
    const signal = AbortSignal.abort();
    await expect(new Solver(device).solve({ prefix, target: EASY, signal })).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(device.launches).toEqual([]);
  });

  it('ends a search whose chunks never end, and leaves the solver usable', async () => {
    const device = fakeDevice({ hits: (nonce) => nonce === 50_000, stuck: (base) => base > 4000 && base < 9000 });
    const solver = new Solver(device);
    const controller = new AbortController();
    const search = solver.solve({ prefix, target: EASY, signal: controller.signal });
    setTimeout(() => controller.abort(), 5);
    await expect(search).rejects.toMatchObject({ name: 'AbortError' });
    expect((await solver.solve({ prefix, target: EASY, from: 49_000 }))?.nonce).toBe(50_000);
    await solver.close();
    expect(device.held).toBe(0);
  });
});

it('job values are in the word order that the kernel reads', () => {
  const values = jobValues(Buffer.from(Array.from({ length: 76 }, (_, at) => at)), 0xffffn << 208n);
  expect(values.header).toHaveLength(19);
  expect(values.header.slice(0, 2)).toEqual([0x00010203, 0x04050607]);
  expect(values.target).toEqual([0, 0xffff0000, 0, 0, 0, 0, 0, 0]);
});

interface Behaviour {
  readonly hits: (nonce: number, job: { readonly header: readonly number[] }) => boolean;
  /** The nonce that is written for a hit. */
  readonly report?: (nonce: number) => number;
  /** Added to the ring's count. */
  readonly extra?: number;
  readonly complete?: boolean;
  readonly failure?: Error;
  /** Launches that end only when cancelled. */
  readonly stuck?: (base: number, count: number) => boolean;
  /** Ends launches out of order. */
  readonly shuffle?: boolean;
}

/** Implements the contract with setTimeout. A stream keeps its order only as the solver sees it: by completions. */
function fakeDevice(behaviour: Behaviour) {
  const launches: { base: number; count: number }[] = [];
  const state = { compiled: 0, held: 0 };
  const rings = new Map<DeviceBuffer, Uint32Array>();
  const device: Device & { launches: typeof launches; readonly compiled: number; readonly held: number } = {
    launches,
    get compiled() {
      return state.compiled;
    },
    get held() {
      return state.held;
    },
    info: {
      id: 'fake',
      kind: 'native',
      processor: 'cpu',
      name: 'a fake device',
      memoryBytes: 0,
      units: 1,
      capabilities: [],
      limits: { bufferBytes: 0, lanes: 1 },
      versions: {},
    },
    compile: async () => {
      state.compiled += 1;
      const program: DeviceProgram = {
        ...({} as DeviceProgram),
        name: 'block',
        device,
        lanes: 1,
        bindings: [],
        hit: [{ name: 'nonce', type: 'u32', length: 1, array: false }],
        ring: { headerWords: 4, recordWords: 2 },
        bind: (job): BoundJob => Object.assign({ program }, { job }),
      };
      return program;
    },
    alloc: async (bytes) => {
      state.held += 1;
      const buffer: DeviceBuffer = {
        bytes,
        free: () => {
          state.held -= 1;
        },
      };
      rings.set(buffer, new Uint32Array(bytes / 4));
      return buffer;
    },
    stream: () => fakeStream(behaviour, launches, rings),
    host: async (bytes) => sharedMemory(bytes),
    close: async () => {},
  };
  return device;
}

function fakeStream(
  behaviour: Behaviour,
  launches: { base: number; count: number }[],
  rings: Map<DeviceBuffer, Uint32Array>,
): Stream {
  const waiting = new Set<() => void>();
  let queued: (() => void)[] = [];
  let last = { base: 0, count: 0 };
  return {
    write: () => {},
    copy: () => {},
    wait: () => {},
    close: () => {},
    fill: (buffer, word, offset = 0, bytes = 0) => {
      queued.push(() => rings.get(buffer)!.fill(word, offset / 4, (offset + bytes) / 4));
    },
    read: (buffer, into) => {
      queued.push(() => (into as Uint32Array).set(rings.get(buffer)!));
    },
    launch: (launch: Launch) => {
      last = { base: Number(launch.base), count: Number(launch.count) };
      launches.push(last);
      const { base, count } = last;
      const { job } = launch.job as BoundJob & { job: { header: readonly number[] } };
      queued.push(() => emit(behaviour, rings.get(launch.ring!)!, { base, count }, job));
    },
    mark: () => {
      const commands = queued;
      queued = [];
      const { base, count } = last;
      const done = new Promise<Report>((resolve, reject) => {
        const end = (complete: boolean) => {
          waiting.delete(cancelled);
          for (const command of commands) command();
          if (behaviour.failure) reject(behaviour.failure);
          else resolve({ startedNs: 0n, endedNs: BigInt(count), complete });
        };
        const cancelled = () => end(false);
        if (behaviour.stuck?.(base, count)) waiting.add(cancelled);
        else setTimeout(() => end(behaviour.complete ?? true), behaviour.shuffle ? 4 - (launches.length % 4) : 0);
      });
      return { done };
    },
    cancel: () => {
      for (const end of [...waiting]) end();
    },
  };
}

function emit(
  { hits, report = (nonce) => nonce, extra = 0 }: Behaviour,
  ring: Uint32Array,
  { base, count }: { base: number; count: number },
  job: { readonly header: readonly number[] },
) {
  let found = 0;
  // Backwards: a device stores hits in any order.
  for (let item = count - 1; item >= 0; item -= 1) {
    if (!hits(base + item, job)) continue;
    if (4 + found * 2 < ring.length) ring.set([item, report(base + item)], 4 + found * 2);
    found += 1;
  }
  ring[0] = found + extra;
}
