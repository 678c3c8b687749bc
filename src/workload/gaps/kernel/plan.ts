import type { Device } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Unsigned } from '../../../kernel/index.js';
import { firstPrimes } from './prime-table.js';
import { MASK_PRIMES, MAX_DEPTH, MAX_STROKE } from './sieve-kernels.js';

/** How a device searches. Results do not depend on it. */
export interface Plan {
  readonly limb: Unsigned;
  readonly tileBits: number;
  /** Integers per window: its bitmap should stay in a GPU's second-level cache. */
  readonly window: number;
  /** Windows in the largest piece. */
  readonly depth: number;
  /** Candidates per chain. */
  readonly perChain: number;
  /** Items that share the chains or tests. A CPU's items do one chain each, since the first item would take them all. */
  readonly threads: number;
  /** Tests in a round of a search by cells; 0 for a search by chains. A CPU follows chains, which need fewer tests. */
  readonly width: number;
  /** Estimated integers of 288 bits searched per millisecond, for the first pieces. */
  readonly perMs: number;
}

export type PlanOptions = Partial<Plan>;

/** Number shapes whose kernels are cached; bounds memory in a process that searches many sizes. */
export const CACHED_SHAPES = 32;

export const DEFAULT_PRIMES = 900_000;
export const DEFAULT_DEPTH = 4;
/** Places are 31 bits. */
const MAX_INTEGERS = 2 ** 31;
export const MAX_WINDOW = 2 ** 30;

export function planFor({ info }: Pick<Device, 'info'>, options: PlanOptions = {}): Plan {
  const { kind, processor, limits, memoryBytes } = info;
  const isGpu = processor === 'gpu';
  const units = isGpu && kind === 'webgpu' ? UNKNOWN_UNITS : info.units;
  const known = kind === 'webgpu' ? 2 * memoryBytes : memoryBytes; // WebGPU only reports the size of the largest buffer
  const window = options.window ?? (isGpu ? windowWithin(known) : 2 ** 24);
  const depth = Math.max(1, Math.min(options.depth ?? DEFAULT_DEPTH, MAX_DEPTH, Math.floor(MAX_INTEGERS / window)));
  return {
    limb: options.limb ?? (kind === 'native' ? 'u64' : 'u32'),
    tileBits: options.tileBits ?? tileBitsOf(kind, limits.nearBytes),
    window,
    depth,
    perChain: options.perChain ?? (isGpu ? 512 : 2048),
    threads: options.threads ?? (isGpu ? units * GPU_THREADS : 2 ** 31),
    width: options.width ?? (isGpu && options.perChain === undefined ? units * ROUND_TESTS : 0),
    perMs: options.perMs ?? units * (isGpu ? GPU_PER_MS : CPU_PER_MS),
  };
}

/**
 * Streams of an engine for searches, if not the engine's default: the last rounds of a piece leave a GPU half empty, and two
 * others fill it. WebGPU has one queue.
 */
export const searchStreams = (devices: readonly Pick<Device, 'info'>[]): { readonly streams?: number } =>
  devices.some(({ info }) => info.processor === 'gpu' && info.kind !== 'webgpu') ? { streams: 3 } : {};

/** The same for the help of commands. */
export const SEARCH_STREAMS = { streams: '3 on CUDA and OpenCL GPUs, 2 elsewhere' };

/** An H200 reached 3e5 per multiprocessor, a Neoverse N1 core 9,000. */
const GPU_PER_MS = 100_000;
const CPU_PER_MS = 5000;

/**
 * The number of windows in a piece, by the fill of the device's queue: all that are allowed while it runs empty, one if it
 * is full enough. It never waits for more. With a depth of 4 these are the miners' steps, 4, 3, 2 and 1.
 */
export function windowsPerPiece(queued: number, capacity: number, depth: number): number {
  const fill = queued / capacity;
  const share = fill < 0.15 ? 1 : fill < 0.35 ? 3 / 4 : fill < 0.6 ? 1 / 2 : 0;
  return Math.max(1, Math.ceil(share * depth));
}

/**
 * Integers per millisecond, until it is measured. A test takes time in proportion to the third power of the bits; for
 * numbers with few bits the sieve takes longer than the tests.
 */
export const expectedPerMs = ({ perMs }: Pick<Plan, 'perMs'>, bits: number): number =>
  perMs * Math.min(1, (288 / bits) ** 3);

/** The largest useful window with which six pieces leave most of a GPU's memory free. */
function windowWithin(memoryBytes: number): number {
  let window = 2 ** 28;
  while (window > 2 ** 22 && 6 * DEFAULT_DEPTH * window * LIST_BYTES > memoryBytes / 4) window /= 2;
  return window;
}
/** Bytes of the candidate list per integer: 900,000 primes leave 3.4 candidates in a hundred integers. */
const LIST_BYTES = 0.16;

/** WebGPU does not say how many multiprocessors there are. On a small GPU rounds have more tests than needed. */
const UNKNOWN_UNITS = 128;

/** Items per multiprocessor: with more, tests are no faster, and the sieve of another piece finds no registers. */
const GPU_THREADS = 512;

/** Tests per multiprocessor that keep its pipes busy: two warps for each scheduler. */
const ROUND_TESTS = 256;

function tileBitsOf(kind: Device['info']['kind'], nearBytes = 2 ** 15): number {
  if (kind === 'interpreter') return 2 ** 13;
  // WebGPU's 16 KiB also hold the partial sums.
  return nearBytes < 2 ** 15 ? 2 ** 16 : 2 ** 17;
}

/** The primes, divided by the size of a tile: those sieved by strokes, and those larger than a tile. */
export interface PrimeTable {
  /** From 3 on. */
  readonly primes: Uint32Array;
  /** Index of the first prime larger than a tile. */
  readonly firstFar: number;
  /** Pairs: index of the prime, and the offset in its multiples at which the stroke begins. */
  readonly strokes: Uint32Array;
  /** The share of odd numbers that none of the primes divides. */
  readonly density: number;
}

/** The first `count` primes, including 2. The last table is cached: miners search header after header with the same one. */
export function primeTable(count: number, tileBits: number): PrimeTable {
  if (!Number.isInteger(count) || count < MIN_PRIMES || count > MAX_PRIMES) throw wrongCount(count);
  if (last?.count !== count || last.tileBits !== tileBits)
    last = { count, tileBits, table: newPrimeTable(count, tileBits) };
  return last.table;
}

/** Building a table of 900,000 primes blocks the thread that feeds the devices for 65 ms. */
let last: { readonly count: number; readonly tileBits: number; readonly table: PrimeTable } | undefined;

function newPrimeTable(count: number, tileBits: number): PrimeTable {
  const primes = firstPrimes(count).subarray(1);
  const isFar = primes.findIndex((p) => p > tileBits);
  const firstFar = isFar < 0 ? primes.length : isFar;
  const strokes: number[] = [];
  for (let k = MASK_PRIMES.length; k < firstFar; k++) {
    const p = primes[k] as number;
    for (let begin = 0; begin < tileBits; begin += MAX_STROKE * p) strokes.push(k, begin);
  }
  const density = primes.reduce((share, p) => share * (1 - 1 / p), 1);
  return { primes, firstFar, strokes: Uint32Array.from(strokes), density };
}

/** The primes sieved by masks are always used, and one more. */
export const MIN_PRIMES = MASK_PRIMES.length + 2;
export const MAX_PRIMES = 50_000_000;

function wrongCount(count: number): MillraceError {
  return new MillraceError({
    code: 'usage',
    message: `number of primes out of range: expected ${MIN_PRIMES} to ${MAX_PRIMES}, got ${count}`,
    asked: `a sieve with ${count} primes`,
    advice: `give a whole number from ${MIN_PRIMES} to ${MAX_PRIMES}`,
  });
}
