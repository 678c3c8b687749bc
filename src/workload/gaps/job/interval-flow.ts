import type { Device } from '../../../device/device.js';
import { type Flow, flow, hitsIn, type Piece } from '../../../engine/index.js';
import { LruCache } from '../../../engine/telemetry/lru-cache.js';
import type { Kernel } from '../../../kernel/index.js';
import { limbsOf, type NumberShape } from '../kernel/chain-kernel.js';
import { intervalSieve, intervalTests } from '../kernel/interval-kernels.js';
import { CACHED_SHAPES, type PlanOptions, planFor } from '../kernel/plan.js';
import { withPlanted } from '../kernel/planted.js';
import { firstPrimes } from '../kernel/prime-table.js';
import { bitsOf } from '../kernel/reference.js';
import { place, TALLY_WORDS, TallyIndex } from '../kernel/sieve-kernels.js';
import { type ChineseSet, compositeMask, type Intervals } from './chinese-set.js';
import type { FoundGap, PieceWork } from './flow.js';
import { limbs, tallyIn } from './sieve-stage.js';

export interface IntervalFlowOptions extends Pick<PlanOptions, 'limb'> {
  /** Number of primes to sieve with, of those below 2^16. */
  readonly primes?: number;
  readonly onPiece?: (work: PieceWork) => void;
  /** The first intervals, shortened so that some of them hit. */
  readonly planted?: { readonly count: number; readonly length: number };
}

/** All primes below 2^16. */
export const MAX_INTERVAL_PRIMES = 6542;

/** Intervals without a prime, as a flow for `search`: an index is an interval's number. */
export function intervalFlow(
  set: ChineseSet,
  intervals: Intervals,
  options: IntervalFlowOptions = {},
): Flow<readonly FoundGap[]> {
  const { planted } = options;
  const special = planted && { piece: { start: 0n, count: planted.count }, length: planted.length };
  const made: Flow<readonly FoundGap[]> = {
    name: 'gaps-intervals',
    open: (device, how) => flowOn(device, set, intervals, options, special).open(device, how),
  };
  return special ? withPlanted(made, special.piece) : made;
}

function flowOn(
  device: Device,
  set: ChineseSet,
  { first, step, count, length }: Intervals,
  { limb: asked, primes: primeCount = MAX_INTERVAL_PRIMES, onPiece }: IntervalFlowOptions,
  special: { readonly piece: Piece; readonly length: number } | undefined,
): Flow<readonly FoundGap[]> {
  const { limb } = planFor(device, asked ? { limb: asked } : {});
  const shape: NumberShape = { limb, bits: bitsOf(first + step * count + BigInt(length)) };
  const width = limb === 'u32' ? 32 : 64;
  const places = length / 2;
  const words = Math.ceil(places / 32);
  // At least one prime: the launch and the buffer must not be empty.
  const primes = firstPrimes(Math.max(set.primes + 1, Math.min(primeCount, MAX_INTERVAL_PRIMES))).subarray(set.primes);
  const placeLimbs = Math.ceil(shape.bits / 32);
  const max = device.info.processor === 'gpu' ? GPU_INTERVALS : CPU_INTERVALS;
  const lengthOf = (piece: Piece): number => (piece === special?.piece ? special.length : length);
  return flow<readonly FoundGap[], 'place' | 'sieve' | 'tests'>({
    name: 'gaps-intervals',
    kernels: kernelsFor(shape, words, placeLimbs),
    shared: {
      prime: primes,
      step: primes.map((p) => Number((step / 2n) % BigInt(p))),
      mask: wordsOf(compositeMask(set, words * 32)),
    },
    buffers: { start: primes.byteLength, map: max * words * 4, tally: TALLY_WORDS * 4 },
    rings: { ring: { kernel: 'tests', hits: RING_HITS } },
    host: { tally: TALLY_WORDS * 4 },
    max,
    stride: () => Math.max(1, max >> 3),
    steps: (piece, host) => {
      const base = first + piece.start * step;
      return [
        { do: 'fill', buffer: 'tally', word: 0 },
        { do: 'launch', kernel: 'place', count: primes.length, chunk: { base: limbs(base, 32, placeLimbs) } },
        {
          do: 'launch',
          kernel: 'sieve',
          count: piece.count,
          chunk: { bits: lengthOf(piece) / 2, primes: primes.length },
        },
        {
          do: 'launch',
          kernel: 'tests',
          count: piece.count,
          chunk: { base: limbs(base, width, limbsOf(shape)), step: limbs(step, width, limbsOf(shape)) },
          ring: 'ring',
        },
        { do: 'read', buffer: 'tally', into: tallyIn(host) },
      ];
    },
    reap: (piece, slot) => {
      const tally = tallyIn(slot.host);
      const ring = slot.ring('ring');
      const found = hitsIn<typeof hit>({ start: 0n, count: piece.count }, ring);
      if (!Array.isArray(found)) return found;
      const [tests, primesFound] = [tally[TallyIndex.tests] ?? 0, tally[TallyIndex.primes] ?? 0];
      const work = {
        device,
        piece,
        windows: 1,
        candidates: 0, // not counted: candidates after the first prime are never tested
        counts: [],
        found: [],
        tests,
        primes: primesFound,
        shape,
        base: first + piece.start * step,
        traces: [],
        bytes: ring.words.byteLength + TALLY_WORDS * 4,
      };
      if (piece !== special?.piece) onPiece?.(work);
      return (found as readonly { readonly interval: number }[])
        .map(({ interval }) => ({ index: piece.start + BigInt(interval) }))
        .sort((a, b) => (a.index < b.index ? -1 : 1));
    },
  });
}

const hit = { interval: 'u32' } as const;
const RING_HITS = 4096;
/** About ten tests each: a hundredth of a second on an H200, half a second on two cores. */
const GPU_INTERVALS = 2 ** 17;
const CPU_INTERVALS = 2 ** 11;

/** Packs bits into words: bit i of the words is entry i. */
function wordsOf(bits: Uint8Array): Uint32Array {
  const words = new Uint32Array(bits.length / 32);
  for (const [at, bit] of bits.entries()) words[at >> 5] = (words[at >> 5] as number) | (bit << (at & 31));
  return words;
}

/** One kernel for each shape, so that its program is compiled once. */
type Kernels = Readonly<Record<'place' | 'sieve' | 'tests', Kernel>>;
const kernelCache = new LruCache<Kernels>(CACHED_SHAPES);

function kernelsFor(shape: NumberShape, words: number, placeLimbs: number): Kernels {
  return kernelCache.get(`${shape.limb} ${shape.bits} ${words}`, () => {
    const made = { place: place(placeLimbs), sieve: intervalSieve(words), tests: intervalTests(shape, words) };
    return made as unknown as Kernels;
  });
}
