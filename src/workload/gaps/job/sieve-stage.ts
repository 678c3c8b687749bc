import type { FlowStep, HostViews } from '../../../engine/flow/flow.js';
import type { Piece } from '../../../engine/index.js';
import { LruCache } from '../../../engine/telemetry/lru-cache.js';
import { partitionPoint } from '../../../engine/work/bisect.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Kernel } from '../../../kernel/index.js';
import { limbsOf } from '../kernel/chain-kernel.js';
import {
  CACHED_SHAPES,
  expectedPerMs,
  type Plan,
  type PrimeTable,
  primeTable,
  windowsPerPiece,
} from '../kernel/plan.js';
import { bitsOf } from '../kernel/reference.js';
import {
  type BitmapLayout,
  count,
  far,
  list,
  place,
  rank,
  sieve,
  TALLY_WORDS,
  TallyIndex,
} from '../kernel/sieve-kernels.js';

/** The numbers to search, from `start` on; an index is the distance from there. */
export interface Numbers {
  readonly start: bigint;
  /** Number of integers. */
  readonly length: bigint;
  /** The shortest gap that counts; even. */
  readonly minGap: number;
  /** The number of primes to sieve with, from 2 on. */
  readonly primes: number;
}

/** The part of a flow that leaves the list of a piece's candidates on the device. */
export interface SieveStage {
  readonly kernels: Readonly<Partial<Record<SieveKernel, Kernel>>>;
  readonly shared: Readonly<Record<string, Uint32Array>>;
  /** In bytes. */
  readonly buffers: Readonly<Record<'candidate' | 'tally', number>> & Readonly<Record<string, number>>;
  /** Host memory of a slot, in bytes, for multiples or bitmaps of the host. */
  readonly host: Readonly<Record<string, number>>;
  readonly shape: {
    readonly granularity: number;
    readonly min: number;
    readonly max: number;
    stride(): number;
    batch(queued: number, capacity: number): number;
    readonly expectedPerMs: number;
  };
  /** Capacity of the list, in candidates. */
  readonly room: number;
  /** The share of odd numbers that are candidates. */
  readonly density: number;
  /** The most places of a piece. */
  readonly maxOwned: number;
  steps(piece: Piece, host: HostViews): FlowStep<SieveKernel>[];
  windowsOf(piece: Piece): PieceWindows;
}

export type SieveKernel = 'place' | 'far' | 'sieve' | 'count' | 'rank' | 'list';

/** A window whose multiples or bitmap the host provides. */
export interface HostWindow {
  /** Even. The window's odd numbers are start + 1, start + 3, … */
  readonly start: bigint;
  /** Integers from there on; even. */
  readonly length: number;
}

/**
 * Input that a host may provide instead of the device computing it. The function is called for each window just before it
 * is sent, and writes to the memory that the transfer uses: page-locked if the device supports that.
 *
 * `bitmap`: the window's bits, 1 if a number is known to be composite. Bit i of the words (bit i mod 32 of word i / 32)
 * stands for start + 2i + 1, or with the layout `all` for start + i, where even numbers do not count. The words are 0
 * before. The windows of a piece share one transfer and one launch.
 *
 * `starts`: for each odd prime of the table the number i for which start + 2i + 1 is its first multiple. A window with
 * `starts` is always a piece by itself.
 */
export type HostSieve =
  | { readonly bitmap: (window: HostWindow, words: Uint32Array) => void; readonly layout?: BitmapLayout }
  | { readonly starts: (window: HostWindow, words: Uint32Array) => void };

/** The places of a piece; the first is base + 1. */
export interface PieceWindows {
  readonly base: bigint;
  /** The piece's own places; those after them only end gaps. */
  readonly owned: number;
  readonly windows: readonly { readonly from: number; readonly bits: number }[];
}

/** The piece with known gaps. Unlike the job's pieces it has a shorter minimum gap, and many short chains. */
export interface PlantedPiece {
  /** The number that its places count from, with as many bits as the job's. */
  readonly start: bigint;
  readonly piece: Piece;
  readonly minGap: number;
  readonly perChain: number;
}

export interface SieveStageOptions {
  /** Set if the host sieves, wholly or in part. */
  readonly hostSieve?: HostSieve | undefined;
  readonly special?: PlantedPiece | undefined;
}

export function sieveStage(numbers: Numbers, asked: Plan, { hostSieve, special }: SieveStageOptions = {}): SieveStage {
  checkNumbers(numbers);
  const { start, minGap } = numbers;
  const plan = hostSieve && 'starts' in hostSieve ? { ...asked, depth: 1 } : asked;
  const { tileBits, window, depth, perChain, threads } = plan;
  const table = primeTable(numbers.primes, tileBits);
  const half = minGap / 2;
  const windowPlaces = Math.ceil(window / 2);
  const places = windowPlaces * depth + 1 + half;
  const room = Math.ceil(places * table.density * SLACK) + SPARE;
  const tiles = Math.ceil((windowPlaces + 1 + half) / tileBits);
  const split = (piece: Piece): PieceWindows =>
    piece === special?.piece
      ? windowsOf(piece, special.start, windowPlaces, special.minGap / 2)
      : windowsOf(piece, start, windowPlaces, half);
  const size: SieveSize = { windowPlaces, tiles, depth, tileBits, room };
  const marks =
    hostSieve && 'bitmap' in hostSieve
      ? hostBitmaps(size, hostSieve)
      : deviceBitmaps(size, table, numbers, hostSieve?.starts);
  return {
    kernels: { ...marks.kernels, ...kernelsFor(`list ${tileBits}`, () => ({ rank, list: list({ tileBits }) })) },
    shared: marks.shared,
    buffers: { ...marks.buffers, candidate: room * 4, tally: TALLY_WORDS * 4 },
    host: marks.host,
    shape: {
      granularity: window,
      min: window,
      max: window * depth,
      // The engine's first chunks are a quarter of a stride: one window, or as many as `batch` returns.
      stride: () => 4 * window,
      batch: (queued, capacity) => window * windowsPerPiece(queued, capacity, depth),
      expectedPerMs: expectedPerMs(plan, bitsOf(start)),
    },
    room,
    density: table.density,
    maxOwned: windowPlaces * depth + 1,
    windowsOf: split,
    steps: (piece, host) => {
      const parts = split(piece);
      if (parts.windows.length > depth) throw tooLong(piece, window, depth);
      const chains = piece === special?.piece ? special.perChain : perChain;
      const ranked = (at: number, first: number, bits: number): FlowStep<SieveKernel> => ({
        do: 'launch',
        kernel: 'rank',
        count: 1,
        chunk: { window: at, first, tiles: Math.ceil(bits / tileBits), perChain: chains, threads, room },
      });
      return [{ do: 'fill', buffer: 'tally', word: 0 }, ...marks.steps(parts, host, ranked)];
    },
  };
}

interface SieveSize {
  readonly windowPlaces: number;
  /** Tiles of the longest window. */
  readonly tiles: number;
  readonly depth: number;
  readonly tileBits: number;
  readonly room: number;
}

/** How the windows of a piece get their bitmaps, and how these become the list. */
interface BitmapStage extends Pick<SieveStage, 'kernels' | 'shared' | 'host'> {
  readonly buffers: Readonly<Record<string, number>>;
  steps(windows: PieceWindows, host: HostViews, ranked: RankStep): FlowStep<SieveKernel>[];
}

/** Ranks window number `at`, whose first tile is number `first`. */
type RankStep = (at: number, first: number, bits: number) => FlowStep<SieveKernel>;

/** Sieves windows on the device one by one, all in one bitmap, which stays in the device's cache. */
function deviceBitmaps(
  { tiles, tileBits, room }: SieveSize,
  { primes, firstFar, strokes }: PrimeTable,
  { start, length, minGap }: Numbers,
  starts: Extract<HostSieve, { starts: unknown }>['starts'] | undefined,
): BitmapStage {
  const limbCount = limbsOf({ limb: 'u32', bits: bitsOf(start + length + BigInt(minGap)) });
  const farCount = primes.length - firstFar;
  const origin = (windows: PieceWindows, host: HostViews): FlowStep<SieveKernel> => {
    const { base } = windows;
    if (starts === undefined)
      return { do: 'launch', kernel: 'place', count: primes.length, chunk: { base: limbs(base, 32, limbCount) } };
    const data = wordsOf(host.starts);
    starts(hostWindow(windows, 0), data);
    return { do: 'write', buffer: 'start', data };
  };
  const kernels = kernelsFor(`sieve ${tileBits}`, () => ({ far, sieve: sieve({ tileBits }) }));
  return {
    kernels: {
      ...kernels,
      ...(starts === undefined && kernelsFor(`place ${limbCount}`, () => ({ place: place(limbCount) }))),
    },
    shared: { prime: primes, stroke: strokes.length === 0 ? new Uint32Array(2) : strokes },
    buffers: { start: primes.byteLength, map: tiles * (tileBits / 8), counts: tiles * 4 },
    host: starts === undefined ? {} : { starts: primes.byteLength },
    steps: (parts, host, ranked) => [
      origin(parts, host),
      ...parts.windows.flatMap(({ from, bits }, at): FlowStep<SieveKernel>[] => {
        const own = Math.ceil(bits / tileBits);
        const chunk = { from, bits, strokes: strokes.length / 2 };
        const farther = { do: 'launch', kernel: 'far', count: farCount, chunk: { first: firstFar, bits } } as const;
        return [
          { do: 'fill', buffer: 'map', word: 0, offset: 0, bytes: own * (tileBits / 8) },
          ...(farCount > 0 ? [farther] : []),
          { do: 'launch', kernel: 'sieve', count: own, chunk },
          ranked(at, 0, bits),
          { do: 'launch', kernel: 'list', count: own, chunk: { from, tiles: own, places: 0, room } },
        ];
      }),
    ],
  };
}

/** Sends the host's bitmaps of a piece in one transfer, and counts and lists them in one launch each. */
function hostBitmaps(
  size: SieveSize,
  { bitmap, layout = 'odd' }: Extract<HostSieve, { bitmap: unknown }>,
): BitmapStage {
  const { windowPlaces, tiles, depth, tileBits, room } = size;
  const perPlace = layout === 'odd' ? 1 : 2;
  const windowWords = (tiles * tileBits * perPlace) / 32;
  return {
    kernels: kernelsFor(`count ${tileBits} ${layout}`, () => ({ count: count({ tileBits }, layout) })),
    shared: {},
    buffers: { given: depth * windowWords * 4, map: depth * tiles * (tileBits / 8), counts: depth * tiles * 4 },
    host: { given: depth * windowWords * 4 },
    steps: (parts, host, ranked) => {
      const { windows } = parts;
      const data = wordsOf(host.given)
        .subarray(0, windows.length * windowWords)
        .fill(0);
      for (const [at, { bits }] of windows.entries()) {
        const from = at * windowWords;
        bitmap(hostWindow(parts, at), data.subarray(from, from + Math.ceil((bits * perPlace) / 32)));
      }
      const lastBits = windows.at(-1)?.bits ?? 0;
      const all = (windows.length - 1) * tiles + Math.ceil(lastBits / tileBits);
      const counted = { tiles, windows: windows.length, bits: windowPlaces, lastBits };
      return [
        { do: 'write', buffer: 'given', data },
        { do: 'launch', kernel: 'count', count: all, chunk: counted },
        ...windows.map(({ bits }, at) => ranked(at, at * tiles, bits)),
        { do: 'launch', kernel: 'list', count: all, chunk: { from: 0, tiles, places: windowPlaces, room } },
      ];
    },
  };
}

function hostWindow({ base, windows }: PieceWindows, at: number): HostWindow {
  const { from = 0, bits = 0 } = windows[at] ?? {};
  return { start: base + 2n * BigInt(from), length: 2 * bits };
}

/** A slot's host memory as words. */
export const wordsOf = (bytes: Uint8Array | undefined): Uint32Array =>
  bytes ? new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4) : new Uint32Array(0);

/** Throws if a gap or a length cannot be searched for. */
export function checkNumbers({ length, minGap }: Pick<Numbers, 'length' | 'minGap'>): void {
  const isGap = Number.isInteger(minGap) && minGap >= 2 && minGap % 2 === 0 && minGap <= MAX_GAP;
  if (isGap && length >= 1n) return;
  throw new MillraceError({
    code: 'usage',
    message: isGap ? `a range of ${length} integers cannot be searched` : `a gap of ${minGap} cannot be searched for`,
    asked: `gaps of at least ${minGap} in ${length} integers`,
    advice: isGap ? 'give at least one integer' : `give an even number from 2 to ${MAX_GAP}`,
  });
}
const MAX_GAP = 2 ** 20;

function tooLong({ start, count: integers }: Piece, window: number, depth: number): MillraceError {
  return new MillraceError({
    code: 'launch-range',
    message: `a piece of ${integers} integers has more than ${depth} windows of ${window}`,
    asked: `the piece from ${start} on`,
    advice: 'take shorter pieces, larger windows or a larger depth; with `starts` of the host, a piece has one window',
  });
}

/** Capacity over the expected number of candidates, which varies by less in windows of useful size. */
const SLACK = 1.1;
const SPARE = 4096;

/** Splits a piece into windows. The last one is longer: the piece's last primes need the numbers after it. */
export function windowsOf(
  { start: first, count }: Piece,
  start: bigint,
  windowPlaces: number,
  half: number,
): PieceWindows {
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
 * The window of a place. `starts` are the first places of the windows, ascending from 0, then the end of the last. Returns
 * the number of windows if the place is in none.
 */
export function windowAt(starts: readonly number[], place: number): number {
  const windows = starts.length - 1;
  if (!(place >= 0 && place < (starts[windows] ?? 0))) return windows;
  return partitionPoint(windows, (window) => (starts[window] ?? 0) <= place) - 1;
}

/** Least significant first. */
export const limbs = (n: bigint, width: 32 | 64, limbCount: number): bigint[] =>
  Array.from({ length: limbCount }, (_, i) => BigInt.asUintN(width, n >> BigInt(width * i)));

/** The host's copy of `tally`. */
export const tallyIn = ({ tally }: HostViews): Uint32Array =>
  tally ? new Uint32Array(tally.buffer, tally.byteOffset, TALLY_WORDS) : new Uint32Array(TALLY_WORDS);

/** Candidates of each window; the last includes those after the piece. */
export const countsIn = (tally: Uint32Array, windows: number): number[] =>
  Array.from(tally.subarray(TallyIndex.windows, TallyIndex.windows + windows), (sum, w) =>
    w === 0 ? sum : sum - (tally[TallyIndex.windows + w - 1] ?? 0),
  );

/** One kernel for each shape, so that its program is compiled once. */
const kernelCache = new LruCache<SieveStage['kernels']>(CACHED_SHAPES);

/** `make` returns kernels with any signature: a flow binds them by the names of its buffers and values. */
function kernelsFor(key: string, make: () => Readonly<Partial<Record<SieveKernel, unknown>>>): SieveStage['kernels'] {
  return kernelCache.get(key, () => make() as SieveStage['kernels']);
}
