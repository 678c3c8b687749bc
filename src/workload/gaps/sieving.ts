import type { HostViews, Step } from '../../engine/flow.js';
import type { Piece } from '../../engine/index.js';
import type { Kernel } from '../../kernel/index.js';
import { limbsOf } from './chain-kernel.js';
import { type Plan, primeTable, windowsAtOnce } from './plan.js';
import { bitsOf } from './reference.js';
import { count, far, list, place, rank, sieve, TALLY_WORDS, Tally } from './sieve-kernels.js';

/** What is searched: numbers from `start` on, of which an index is the distance from there. */
export interface Numbers {
  readonly start: bigint;
  /** How many integers there are. */
  readonly length: bigint;
  /** The shortest gap that counts; even. */
  readonly leastGap: number;
  /** The first so many primes are sieved with. */
  readonly primes: number;
}

/** The part of a flow that leaves the list of a piece's candidates on the device. */
export interface Sieving {
  readonly kernels: Readonly<Record<Exclude<SieveKernel, 'count'>, Kernel>> & { readonly count?: Kernel };
  readonly shared: Readonly<Record<'prime' | 'stroke', Uint32Array>>;
  readonly buffers: Readonly<Record<'start' | 'map' | 'counts' | 'candidate' | 'tally', number>>;
  readonly shape: {
    readonly granularity: number;
    readonly least: number;
    readonly most: number;
    stride(): number;
    batch(queued: number, capacity: number): number;
  };
  /** Candidates that the list holds. */
  readonly room: number;
  steps(piece: Piece): Step<SieveKernel>[];
  windowsOf(piece: Piece): Windows;
}

export type SieveKernel = 'place' | 'far' | 'sieve' | 'count' | 'rank' | 'list';

/** What a host may bring instead of having it made on the device: the first multiples, or the bitmap of a single window. */
export type Given = { readonly starts: Uint32Array } | { readonly bitmap: Uint32Array };

/** A piece in places: its first one is base + 1. */
export interface Windows {
  readonly base: bigint;
  /** Its own places; those behind only end gaps. */
  readonly owned: number;
  readonly windows: readonly { readonly from: number; readonly bits: number }[];
}

/** What of a piece may differ from the job's: a piece whose gaps are known has shorter ones, and many short chains. */
export interface Special {
  /** From where its places count: numbers of as many bits as the job's. */
  readonly start: bigint;
  readonly piece: Piece;
  readonly leastGap: number;
  readonly perChain: number;
}

export interface SievingOptions {
  /** What the host brings, if anything. */
  readonly brings?: Given | undefined;
  readonly special?: Special | undefined;
}

export function sieving(numbers: Numbers, plan: Plan, { brings, special }: SievingOptions = {}): Sieving {
  const { start, length, leastGap, primes: primeCount } = numbers;
  const { tileBits, window, depth, perChain, threads } = plan;
  const { primes, firstFar, strokes, density } = primeTable(primeCount, tileBits);
  const half = leastGap / 2;
  const limbCount = limbsOf({ limb: 'u32', bits: bitsOf(start + length + BigInt(leastGap)) });
  const windowPlaces = Math.ceil(window / 2);
  const places = windowPlaces * depth + 1 + half;
  const room = Math.ceil(places * density * SLACK) + SPARE;
  const mapTiles = Math.ceil((windowPlaces + 1 + half) / tileBits);
  const split = (piece: Piece): Windows =>
    piece === special?.piece
      ? windowsOf(piece, special.start, windowPlaces, special.leastGap / 2)
      : windowsOf(piece, start, windowPlaces, half);

  const origin = (base: bigint): Step<SieveKernel>[] => {
    if (brings && 'bitmap' in brings) return [];
    if (brings) return [{ do: 'write', buffer: 'start', data: brings.starts }];
    return [{ do: 'launch', kernel: 'place', count: primes.length, chunk: { base: limbs(base, 32, limbCount) } }];
  };
  const marks = (from: number, bits: number, tiles: number): Step<SieveKernel>[] => {
    if (brings && 'bitmap' in brings) {
      const written = { do: 'write', buffer: 'map', data: brings.bitmap } as const;
      return [written, { do: 'launch', kernel: 'count', count: tiles, chunk: { bits } }];
    }
    const farCount = primes.length - firstFar;
    const first: Step<SieveKernel>[] = [
      { do: 'fill', buffer: 'map', word: 0, offset: 0, bytes: tiles * (tileBits / 8) },
      { do: 'launch', kernel: 'far', count: farCount, chunk: { first: firstFar, bits } },
    ];
    const chunk = { from, bits, strokes: strokes.length / 2 };
    return [...first.slice(0, farCount > 0 ? 2 : 1), { do: 'launch', kernel: 'sieve', count: tiles, chunk }];
  };
  return {
    kernels: kernelsFor(tileBits, limbCount, brings !== undefined && 'bitmap' in brings),
    shared: { prime: primes, stroke: strokes.length === 0 ? new Uint32Array(2) : strokes },
    buffers: {
      start: primes.byteLength,
      map: mapTiles * (tileBits / 8),
      counts: mapTiles * 4,
      candidate: room * 4,
      tally: TALLY_WORDS * 4,
    },
    shape: {
      granularity: window,
      least: window,
      most: window * depth,
      stride: () => window,
      batch: (queued, capacity) => window * windowsAtOnce(queued, capacity, depth),
    },
    room,
    windowsOf: split,
    steps: (piece) => {
      const { base, windows } = split(piece);
      const chains = piece === special?.piece ? special.perChain : perChain;
      const steps: Step<SieveKernel>[] = [{ do: 'fill', buffer: 'tally', word: 0 }, ...origin(base)];
      for (const [window, { from, bits }] of windows.entries()) {
        const tiles = Math.ceil(bits / tileBits);
        steps.push(
          ...marks(from, bits, tiles),
          { do: 'launch', kernel: 'rank', count: 1, chunk: { window, tiles, perChain: chains, threads, room } },
          { do: 'launch', kernel: 'list', count: tiles, chunk: { from, room } },
        );
      }
      return steps;
    },
  };
}

/** More candidates than are expected: their number varies by less, in windows of any use. */
const SLACK = 1.1;
const SPARE = 4096;

/** The last window is longer, by what the last of the piece's own primes needs to see. */
export function windowsOf({ start: first, count }: Piece, start: bigint, windowPlaces: number, half: number): Windows {
  const number = start + first;
  const base = number - (number & 1n);
  const owned = Math.floor((Number(number - base) + count) / 2);
  const windows = Array.from({ length: Math.max(1, Math.ceil(owned / windowPlaces)) }, (_, w) => {
    const from = w * windowPlaces;
    const isLast = from + windowPlaces >= owned;
    return { from, bits: isLast ? owned + half - from : windowPlaces };
  });
  return { base, owned, windows };
}

/**
 * Which window a place is in, by where they begin, ascending and from 0 on; `starts.length` − 1 is the end of the last. As
 * many as there are windows where it is in none.
 */
export function windowAt(starts: readonly number[], place: number): number {
  const windows = starts.length - 1;
  if (!(place >= 0 && place < (starts[windows] ?? 0))) return windows;
  let [low, high] = [0, windows];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((starts[middle] ?? 0) <= place) low = middle;
    else high = middle;
  }
  return low;
}

/** Least significant first. */
export const limbs = (n: bigint, width: 32 | 64, limbCount: number): bigint[] =>
  Array.from({ length: limbCount }, (_, i) => BigInt.asUintN(width, n >> BigInt(width * i)));

/** The host's copy of `tally`. */
export const tallyIn = ({ tally }: HostViews): Uint32Array =>
  tally ? new Uint32Array(tally.buffer, tally.byteOffset, TALLY_WORDS) : new Uint32Array(TALLY_WORDS);

/** Candidates of each window, of which the last has those behind the piece as well. */
export const countsIn = (tally: Uint32Array, windows: number): number[] =>
  Array.from(tally.subarray(Tally.windows, Tally.windows + windows), (sum, w) =>
    w === 0 ? sum : sum - (tally[Tally.windows + w - 1] ?? 0),
  );

/** One kernel for each shape, so that its program is compiled once. */
const known = new Map<string, Sieving['kernels']>();

function kernelsFor(tileBits: number, limbCount: number, withCount: boolean): Sieving['kernels'] {
  const key = `${tileBits} ${limbCount} ${withCount}`;
  const before = known.get(key);
  if (before) return before;
  const shape = { tileBits };
  const made = { place: place(limbCount), far, sieve: sieve(shape), rank, list: list(shape) };
  const kernels = { ...made, ...(withCount && { count: count(shape) }) } as unknown as Sieving['kernels'];
  known.set(key, kernels);
  return kernels;
}
