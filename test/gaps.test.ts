import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runKernel } from '../src/device/conformance/rig.js';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { between, Engine, type EngineOptions, type Piece, type Range, search } from '../src/engine/index.js';
import type { Kernel, Unsigned } from '../src/kernel/index.js';
import { diagnoseStreams } from '../src/workload/gaps/command/report.js';
import { type CandidateOptions, candidateFlow } from '../src/workload/gaps/job/candidates.js';
import { type GapFlowOptions, gapFlow, type PieceWork } from '../src/workload/gaps/job/flow.js';
import { searchGaps, usablePrimes } from '../src/workload/gaps/job/search.js';
import { type HostSieve, type HostWindow, limbs, type Numbers } from '../src/workload/gaps/job/sieve-stage.js';
import { fermat, limbsOf } from '../src/workload/gaps/kernel/chain-kernel.js';
import { firstPrimes } from '../src/workload/gaps/kernel/prime-table.js';
import { minGapForTarget } from '../src/workload/gaps/kernel/reference.js';
import { isProbablePrime, passesFermat } from '../src/workload/gaps/kernel/reference-primes.js';
import { ReferenceSieve, startsOf } from '../src/workload/gaps/kernel/reference-sieve.js';
import { byTier, isLong, isShort } from './tier.js';

const names = ['native', 'wasm', 'cuda', 'opencl', 'webgpu'];
const { absent } = await listDevices();

const digest = (words: Uint32Array) =>
  createHash('sha256')
    .update(Buffer.from(words.buffer, words.byteOffset, words.byteLength))
    .digest('hex');
const data = (name: string) => readFileSync(new URL(`data/gaps/${name}`, import.meta.url), 'utf8');
const genesis = 0xe798f3ae4f57adcf25740fe43100d95ec4fd5d43a1568bc89e2b25df89ff6cb0n << 20n;

/** The candidates that a device leaves of a piece. */
async function candidates(
  device: Device,
  numbers: Numbers,
  piece: Piece,
  options: CandidateOptions,
): Promise<Uint32Array> {
  const open = await candidateFlow(numbers, options).open(device);
  const stream = device.stream();
  const slot = await open.slot(stream);
  try {
    await slot.submit(piece).done;
    const found = slot.reap(piece);
    if (!('offsets' in found)) throw new Error(`${found.found} candidates, room for ${found.capacity}`);
    return Uint32Array.from(found.offsets);
  } finally {
    slot.close();
    open.close();
    stream.close();
  }
}

/** The same by the reference sieve, in one window, computed once for all devices. */
function expectedCandidates({ start, minGap: gap, primes }: Numbers, piece: Piece): Uint32Array {
  const number = start + piece.start;
  const key = `${number} ${piece.count} ${gap} ${primes}`;
  const known = sieved.get(key);
  if (known) return known;
  const base = number - (number & 1n);
  const owned = Math.floor((Number(number - base) + piece.count) / 2);
  const left = new ReferenceSieve(base, firstPrimes(primes), 2 * owned + gap).survivors();
  sieved.set(key, left);
  return left;
}
const sieved = new Map<string, Uint32Array>();

const hex8 = (word: number): string => word.toString(16).padStart(8, '0');

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) result = (result * result * (bit === '1' ? base : 1n)) % modulus;
  return result;
}

async function gapsOn(
  device: Device,
  numbers: Numbers,
  space: Range | bigint,
  options: GapFlowOptions = {},
  engine: EngineOptions = {},
): Promise<bigint[]> {
  const found: bigint[] = [];
  const own = new Engine([device], engine);
  try {
    for await (const { index } of search(gapFlow(numbers, options), { engine: own, space })) found.push(index);
  } finally {
    await own.close();
  }
  return found;
}

/** The start and length of each gap, found by going from prime to prime. */
function expectedGaps(start: bigint, length: number, least: number): { at: bigint; gap: number }[] {
  const found: { at: bigint; gap: number }[] = [];
  let last: number | undefined;
  for (let at = start % 2n === 0n ? 1 : 0; last === undefined || last < length; at += 2) {
    if (!isProbablePrime(start + BigInt(at))) continue;
    if (last !== undefined && at - last >= least) found.push({ at: BigInt(last), gap: at - last });
    last = at;
  }
  return found;
}

/** Numbers of 64 bits, which compile fast. Some gaps have exactly the minimum length. */
const start64 = 0xd5ca_da15_b5b6_6983n;
const LENGTH = byTier(130_001, 260_001);
const LEAST = 186;
const gaps64 = expectedGaps(start64, LENGTH, LEAST);
const expected64 = gaps64.map(({ at }) => at);

describe.each(names)('%s', (name) => {
  const missing = absent.find(({ id }) => id === name);
  let device: Device | undefined;
  beforeAll(async () => {
    if (!missing) device = await openDevice(name);
  });
  afterAll(() => device?.close());
  // The compile time of SwiftShader grows with workgroup memory: 2 s of CPU at 8 KiB. That of PoCL does not, so one size is
  // enough there.
  const tile = (name === 'webgpu' || name === 'opencl') && !isLong ? { tileBits: 2 ** 13 } : {};
  const isLight = name === 'native' || name === 'wasm' || name === 'cuda';
  type Skip = (why: string) => void;
  const on = (body: (device: Device, skip: Skip) => Promise<void>) => async (ctx: { skip: Skip }) => {
    if (missing) return ctx.skip(missing.reason);
    await body(device!, (why) => ctx.skip(why));
  };
  /** For tests with their own kernels, which emulated GPUs compile for seconds. Those still have the test for every gap. */
  const onLight = (body: (device: Device) => Promise<void>) => async (ctx: { skip: Skip }) => {
    if (isShort && !isLight) return ctx.skip('its kernels take seconds to compile here: npm run test:all');
    await on(body)(ctx);
  };

  describe('sieve', () => {
    test.skipIf(isShort && name === 'wasm')(
      'matches the windows of the chain, round by round',
      { timeout: 120_000 },
      onLight(async (here) => {
        const [small] = JSON.parse(data('sieve_windows.json')) as {
          sieve_size: number;
          sieve_primes: number;
          rounds: { survivors: number; survivors_sha256_le_u32: string }[];
        }[];
        const numbers = { start: genesis, length: 1n << 20n, minGap: 3058, primes: small!.sieve_primes };
        for (const [round, { survivors, survivors_sha256_le_u32 }] of small!.rounds.entries()) {
          const piece = { start: BigInt(round * small!.sieve_size), count: small!.sieve_size };
          const found = await candidates(here, numbers, piece, { window: small!.sieve_size, ...tile });
          expect(digest(found)).toBe(digest(expectedCandidates(numbers, piece)));
          const inWindow = found.filter((at) => at < small!.sieve_size);
          expect(inWindow).toHaveLength(survivors);
          expect(digest(inWindow)).toBe(survivors_sha256_le_u32);
        }
      }),
    );

    test(
      'handles odd window sizes, primes larger than tiles and windows, and the boundary at 2^32',
      { timeout: 120_000 },
      onLight(async (here) => {
        const numbers = { start: genesis + 1n, length: 1n << 40n, minGap: 602, primes: 6000 };
        const pieces = [
          { start: 0n, count: 100_003 },
          { start: (1n << 32n) - 70_001n, count: 70_001 },
          { start: (1n << 32n) + 12n, count: 20_001 },
          { start: (1n << 39n) + 7n, count: 1 },
        ];
        for (const piece of pieces) {
          const found = await candidates(here, numbers, piece, { window: 20_001, depth: 5, tileBits: 2 ** 13 });
          expect(digest(found)).toBe(digest(expectedCandidates(numbers, piece)));
          expect(found.every((at) => at % 2 === 1)).toBe(true);
        }
      }),
    );

    test(
      'starts from remainders or bitmaps of the host',
      { timeout: 120_000 },
      onLight(async (here) => {
        const [window, gap] = [40_001, 1000];
        const numbers = { start: genesis + 1n, length: 1n << 20n, minGap: gap, primes: 3000 };
        const primes = firstPrimes(numbers.primes);
        const own = (given: HostSieve, piece: Piece, depth: number) =>
          candidates(here, numbers, piece, { window, depth, hostSieve: given, ...tile });
        const alone = { start: BigInt(window), count: window };
        const starts = (from: HostWindow, words: Uint32Array): void =>
          words.set(
            startsOf(from.start, primes)
              .subarray(1)
              .map((odd) => (odd - 1) / 2),
          );
        expect(digest(await own({ starts }, alone, 4))).toBe(digest(expectedCandidates(numbers, alone)));
        // Three windows share a transfer; words after the end of a window are ignored.
        const piece = { start: 7n, count: 3 * window - 100 };
        const expected = digest(expectedCandidates(numbers, piece));
        const asked: HostWindow[] = [];
        const left = (from: HostWindow): Uint32Array => new ReferenceSieve(from.start, primes, from.length).survivors();
        const odd = (from: HostWindow, words: Uint32Array): void => {
          asked.push(from);
          expect(words.every((word) => word === 0)).toBe(true);
          words.fill(0xffff_ffff);
          for (const at of left(from)) words[at >> 6]! &= ~(1 << ((at >> 1) & 31));
        };
        // Bits of even numbers are ignored: here they say that none is composite.
        const all = (from: HostWindow, words: Uint32Array): void => {
          words.fill(0xaaaa_aaaa);
          for (const at of left(from)) words[at >> 5]! &= ~(1 << (at & 31));
        };
        expect(digest(await own({ bitmap: odd }, piece, 3))).toBe(expected);
        expect(digest(await own({ bitmap: all, layout: 'all' }, piece, 3))).toBe(expected);
        const { start: first } = asked[0]!;
        expect([first % 2n, first <= numbers.start + 7n]).toEqual([0n, true]);
        expect(asked.map(({ start }) => start - first)).toEqual([0n, BigInt(window + 1), BigInt(2 * (window + 1))]);
        // A piece that has more windows than the depth allows, or more candidates than fit.
        await expect(own({ bitmap: odd }, piece, 2)).rejects.toThrow(/has more than 2 windows of 40001/);
        await expect(own({ starts }, piece, 3)).rejects.toThrow(/has more than 1 windows of 40001/);
        await expect(own({ bitmap: () => undefined }, piece, 3)).rejects.toThrow(/room for/);
      }),
    );
  });

  test(
    'does Fermat tests of small numbers, including liars and Carmichael numbers',
    { timeout: 120_000 },
    onLight(async (here) => {
      const limb: Unsigned = name === 'native' ? 'u64' : 'u32';
      const places = Uint32Array.from({ length: 3000 }, (_, i) => i);
      const shape = { limb, bits: 64 };
      const chunk = { base: limbs(2n, limb === 'u32' ? 32 : 64, limbsOf(shape)) };
      const setup = {
        count: places.length,
        chunk,
        buffers: { candidate: places, prime: new Uint32Array(places.length) },
      };
      const { buffers } = await runKernel(here, fermat(shape) as unknown as Kernel, setup);
      const found = [...(buffers.prime as Uint32Array)].map(Boolean);
      expect(found).toEqual([...places].map((at) => passesFermat(BigInt(2 * at + 3))));
      for (const liar of [341, 561, 645, 1105, 1387, 1729, 2047]) expect(found[(liar - 3) / 2]).toBe(true);
    }),
  );

  test(
    'finds every gap once, whatever the windows, chains, cells, depth and streams',
    { timeout: 120_000 },
    on(async (here) => {
      const numbers = { start: start64, length: BigInt(LENGTH), minGap: LEAST, primes: 2000 };
      expect(gaps64.some(({ gap }) => gap === LEAST)).toBe(true);
      const ways: [GapFlowOptions, EngineOptions][] = [
        [{ window: 2 ** 18 }, {}],
        [{ window: 30_001, depth: 3, perChain: 7, threads: 50 }, { streams: 1 }],
        [
          { window: 4096, depth: 1, perChain: 64 },
          { streams: 3, slots: 2 },
        ],
        [{ window: 100_000, depth: 2, perChain: 1, threads: 2 ** 30 }, { pipeline: 'sync' }],
        [{ window: 30_001, depth: 3, width: 300, threads: 70 }, { streams: 2 }],
        [{ window: 2 ** 18, width: 2 ** 15 }, {}],
        [
          { window: 4096, depth: 1, width: 1 },
          { streams: 3, slots: 2 },
        ],
      ];
      // PoCL and SwiftShader take seconds to compile the kernels of each, and a C compiler one; real GPUs search by cells.
      const hasOne = isShort && name !== 'wasm';
      const chosen = hasOne ? [4] : isShort ? [1, 4, 6] : ways.keys();
      for (const [options, engine] of [...chosen].map((at) => ways[at]!)) {
        expect(
          await gapsOn(here, numbers, BigInt(LENGTH), { ...options, ...tile }, engine),
          JSON.stringify(options),
        ).toEqual(expected64);
      }
      if (hasOne) return;
      // A window longer than the range, and the fewest primes: only the amount of work changes.
      const few = { ...numbers, primes: 12 };
      for (const width of [0, 1000]) {
        const options = { window: 2 ** 18, width, ...tile };
        expect(await gapsOn(here, few, 60_000n, options, { streams: 8, slots: 1 })).toEqual(
          expected64.filter((at) => at < 60_000n),
        );
      }
    }),
  );

  test(
    'traces words, carries and residues of candidates that match bigints',
    { timeout: 120_000 },
    onLight(async (here) => {
      // Carries run through three words of 32 bits, or one of 64; through one of 32 where compilers are slow.
      const [bits, start] = isLight
        ? [128, (3n << 110n) | (2n ** 96n - 24_000n)]
        : [64, 2n ** 64n - 2n ** 60n - 24_000n];
      const numbers = { start, length: 2n ** 16n, minGap: 1000, primes: 2000 };
      const pieces: PieceWork[] = [];
      const options = { window: 2 ** 14, depth: 1, traced: true, onPiece: (work: PieceWork) => pieces.push(work) };
      await gapsOn(here, numbers, numbers.length, { ...options, ...tile });
      const traces = pieces.flatMap(({ base, shape, traces: own }) => own.map((one) => ({ base, shape, ...one })));
      expect(traces).toHaveLength(8 * 4);
      const numberOf = (words: Uint32Array): bigint => BigInt(`0x${[...words].reverse().map(hex8).join('')}`);
      const seen = new Set<string>();
      for (const { base, shape, added, words, carries, residue } of traces) {
        const n = base + BigInt(added);
        expect(numberOf(words)).toBe(n);
        expect(numberOf(residue)).toBe(power(2n, n - 1n, n));
        const width = shape.limb === 'u32' ? 32n : 64n;
        expect(carries).toHaveLength(bits / Number(width));
        for (const [i, carry] of carries.entries()) {
          const below = 1n << (width * BigInt(i + 1));
          expect(carry).toBe((base % below) + BigInt(added) >= below ? 1 : 0);
        }
        seen.add(carries.join(''));
      }
      expect(seen).toEqual(new Set(name === 'native' ? ['00', '10'] : isLight ? ['0000', '1110'] : ['00', '10']));
      const passed = traces.filter(({ residue }) => numberOf(residue) === 1n);
      expect(passed.length).toBe(traces.filter(({ base, added }) => isProbablePrime(base + BigInt(added))).length);
      expect(passed.length).toBeGreaterThan(0);
    }),
  );

  test(
    "logs the streams, by the runtime's handles where it has them",
    on(async () => {
      const log: string[] = [];
      const own = await openDevice(name, { log: (line) => log.push(line) });
      const engine = new Engine([own], { streams: 3 });
      try {
        const lines: string[] = [];
        await diagnoseStreams({ diagnose: (line) => lines.push(line) }, [own], engine.streams);
        const opened = log.flatMap((line) => /stream \d is (0x[0-9a-f]+)/.exec(line)?.[1] ?? []);
        expect(new Set(opened).size).toBe(name === 'cuda' || name === 'opencl' ? 3 : 0);
        const handles = opened.length > 0 ? opened : [0, 1, 2].map((at) => `${own.info.id}/${at}`);
        expect(lines).toEqual([
          `streams count=3 handles: [0]=${handles[0]} [1]=${handles[1]} [2]=${handles[2]} device=${own.info.id}`,
        ]);
      } finally {
        await engine.close();
        await own.close();
      }
    }),
  );

  // Later blocks are below.
  test.skipIf(isShort)(
    'finds the gap of the first block',
    { timeout: 300_000 },
    on(async (here, skip) => {
      if (!isLight && !isLong) return skip('compiling for 276 bits takes half a minute here: npm run test:long');
      const numbers = {
        start: genesis,
        length: 1n << 20n,
        minGap: minGapForTarget(genesis, 16n << 48n),
        primes: 100_000,
      };
      expect(await gapsOn(here, numbers, 1n << 20n, { window: 2 ** 20 })).toEqual([1_023_209n]);
    }),
  );
});

test('batches the first pieces by the length of the queue, like later ones', { timeout: 120_000 }, async () => {
  const device = await openDevice('wasm');
  const [window, depth] = [2 ** 12, 4];
  const numbers = { start: start64, length: BigInt(40 * window), minGap: LEAST, primes: 2000 };
  try {
    for (const slots of [1, 3]) {
      const submitted: number[] = [];
      const onSubmit = ({ count }: Piece): number => submitted.push(count / window);
      await gapsOn(device, numbers, numbers.length, { window, depth, onSubmit }, { streams: 2, slots });
      // Two are queued at once; the others wait until one of them has ended.
      expect(submitted.slice(0, 2)).toEqual(slots === 1 ? [4, 2] : [4, 3]);
    }
  } finally {
    await device.close();
  }
});

test('uses several devices for one job', { timeout: 120_000 }, async (ctx) => {
  const found = ['native', 'wasm'].filter((name) => !absent.some(({ id }) => id === name));
  if (found.length < 2) return ctx.skip('native or wasm is absent');
  const devices = await Promise.all(found.map((name) => openDevice(name)));
  const engine = new Engine(devices);
  try {
    const numbers = { start: start64, length: BigInt(LENGTH), minGap: LEAST, primes: 2000 };
    const window = byTier(2500, 5000);
    // Compiled in advance: otherwise the first ready device might do everything.
    for (const device of devices) await gapsOn(device, numbers, 1000n, { window, depth: 2 });
    const who = new Set<string>();
    const flow = gapFlow(numbers, { window, depth: 2, onPiece: (work) => who.add(work.device.info.id) });
    const gaps: bigint[] = [];
    for await (const { index } of search(flow, { engine, space: BigInt(LENGTH) })) gaps.push(index);
    expect(gaps).toEqual(expected64);
    expect([...who].sort()).toEqual(found);
  } finally {
    await engine.close();
    for (const device of devices) await device.close();
  }
});

describe('on the CPU', () => {
  let device: Device | undefined;
  const missing = absent.find(({ id }) => id === 'native');
  beforeAll(async () => {
    if (!missing) device = await openDevice('native');
  });
  afterAll(() => device?.close());

  test('finds the gap of block 1385452, in the whole window in a long run', { timeout: 600_000 }, async (ctx) => {
    if (missing) return ctx.skip(missing.reason);
    const start = 0xd5cada15b5b66983f5c04d8909b8b8f423f14936ecdf02829d6b3e847918d8b8n << 32n;
    const gap = minGapForTarget(start, 6244144922783894n);
    expect(gap).toBe(4424);
    const numbers = { start, length: 1n << 32n, minGap: gap, primes: isLong ? 900_000 : 100_000 };
    const window = 33_554_432;
    const space = isLong ? between(0n, BigInt(window)) : between(20_000_000n, 20_000_000n + (1n << 20n));
    const works: PieceWork[] = [];
    const found = await gapsOn(device!, numbers, space, { window, onPiece: (work) => works.push(work) });
    expect(found).toEqual([20_540_019n]);
    if (!isLong) return;
    const list = await candidates(device!, numbers, { start: 0n, count: window }, { window, depth: 1 });
    const inWindow = list.filter((at) => at < window);
    expect(inWindow).toHaveLength(1_144_985);
    expect(digest(inWindow)).toBe('66f3149ced3bbc7baefaee3ecc7d0887dcb0febf7d92ce264479c67a3f0ae870');
  });

  test('finds the gap of block 1385457, and the record with merit 41.9', { timeout: 600_000 }, async (ctx) => {
    if (missing) return ctx.skip(missing.reason);
    const start = 0x8f20eb9cdb6ac2efee61f2cba1a68e298919804f05e82ac5e67359218b10c39en << 32n;
    const numbers = { start, length: 1n << 32n, minGap: minGapForTarget(start, 6241188427198572n), primes: 100_000 };
    expect(numbers.minGap).toBe(4412);
    // All of its numbers, or some around the gap.
    const [space, window] = byTier<[Range, number]>(
      [between(3_800_000n, 3_900_000n), 2 ** 17],
      [between(0n, 4_194_304n), 4_194_304],
    );
    expect(await gapsOn(device!, numbers, space, { window })).toEqual([3_881_429n]);
    const record = 293703234068022590158723766104419463425709075574811762098588798217895728858676728143227n;
    const [from, at] = [(record >> 32n) << 32n, record & 0xffff_ffffn];
    const engine = new Engine([device!]);
    try {
      const request = {
        start: from + at - 5000n,
        length: 20_000n,
        minGap: 8000,
        primes: 50_000,
        window: 2 ** 16,
        width: 500,
      };
      const found = [];
      for await (const gap of searchGaps(request, { engine })) found.push(gap);
      expect(found).toEqual([{ index: 5000n, offset: 5000n, start: record, end: record + 8350n }]);
    } finally {
      await engine.close();
    }
  });

  test.skipIf(isShort)('finds gaps of numbers of 337 and 766 bits', { timeout: 120_000 }, async (ctx) => {
    if (missing) return ctx.skip(missing.reason);
    const blocks = JSON.parse(data('blocks.json')) as { start: string; gap: number; start_bits: number }[];
    const long = blocks.filter(({ start_bits }) => start_bits > 330);
    expect(long.map(({ start_bits }) => start_bits)).toEqual([337, 766]);
    for (const { start, gap } of long) {
      const numbers = { start: BigInt(start) - 1999n, length: 1n << 32n, minGap: gap, primes: 100_000 };
      // The gap is two below this minimum.
      const none = { ...numbers, minGap: gap + 2 };
      // With one test a round, the last round has most of the tests: the cell has its only prime at the lower end.
      for (const plan of [{ perChain: 64 }, { width: 100 }, { width: 1 }]) {
        expect(await gapsOn(device!, numbers, 4000n, { window: 2 ** 14, ...plan })).toEqual([1999n]);
        expect(await gapsOn(device!, none, 4000n, { window: 2 ** 14, ...plan })).toEqual([]);
      }
    }
  });

  test('uses no sieve prime that would strike itself out', () => expect(usablePrimes(1000n, 900_000)).toBe(168));
});
