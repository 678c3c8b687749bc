import type { Device } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Unsigned } from '../../../kernel/index.js';
import { firstPrimes } from './prime-table.js';
import { MASKED, MOST_DEPTH, STROKE } from './sieve-kernels.js';

/** How a device searches. Nothing of it changes what is found. */
export interface Plan {
  readonly limb: Unsigned;
  readonly tileBits: number;
  /** Integers of a window: its bitmap should stay in a GPU's second-level cache. */
  readonly window: number;
  /** Windows of the largest piece. */
  readonly depth: number;
  /** Candidates of a chain. */
  readonly perChain: number;
  /** Items that share the chains; those of a CPU do one each, since whoever is first would take them all. */
  readonly threads: number;
  /** Integers of 288 bits that it should search in a millisecond: a guess, for the first pieces. */
  readonly perMs: number;
}

export type PlanOptions = Partial<Plan>;

/** Shapes of numbers whose kernels are kept: a process that searches sizes of all kinds does not gather them. */
export const SHAPES = 32;

export const DEFAULT_PRIMES = 900_000;
export const DEFAULT_DEPTH = 4;
/** Places are 31 bits. */
const MOST_INTEGERS = 2 ** 31;
export const MOST_WINDOW = 2 ** 30;

export function planFor({ info }: Pick<Device, 'info'>, asked: PlanOptions = {}): Plan {
  const { kind, processor, units, limits, memoryBytes } = info;
  const isGpu = processor === 'gpu';
  const window = asked.window ?? (isGpu ? windowWithin(memoryBytes) : 2 ** 24);
  const depth = Math.max(1, Math.min(asked.depth ?? DEFAULT_DEPTH, MOST_DEPTH, Math.floor(MOST_INTEGERS / window)));
  return {
    limb: asked.limb ?? (kind === 'native' ? 'u64' : 'u32'),
    tileBits: asked.tileBits ?? tileBitsOf(kind, limits.nearBytes),
    window,
    depth,
    perChain: asked.perChain ?? (isGpu ? 512 : 2048),
    threads: asked.threads ?? (isGpu ? units * GPU_THREADS : 2 ** 31),
    perMs: asked.perMs ?? units * (isGpu ? GPU_PER_MS : CPU_PER_MS),
  };
}

/** An H200 has done 1e5 a multiprocessor, a core of a Neoverse N1 9,000. */
const GPU_PER_MS = 50_000;
const CPU_PER_MS = 5000;

/**
 * How many windows a piece takes, by how much is queued on the device: all that it may while that runs empty, one where
 * enough is there. None is waited for. With a depth of 4 these are the miners' steps, 4, 3, 2 and 1.
 */
export function windowsAtOnce(queued: number, capacity: number, depth: number): number {
  const fill = queued / capacity;
  const share = fill < 0.15 ? 1 : fill < 0.35 ? 3 / 4 : fill < 0.6 ? 1 / 2 : 0;
  return Math.max(1, Math.ceil(share * depth));
}

/**
 * Integers per millisecond, before it is measured. A test takes time to the third power of the bits; of numbers with few bits
 * the sieve takes longer than the tests.
 */
export const expectedPerMs = ({ perMs }: Pick<Plan, 'perMs'>, bits: number): number =>
  perMs * Math.min(1, (288 / bits) ** 3);

/** The largest useful window of which pieces leave most of a GPU's memory free: six of them may be there at a time. */
function windowWithin(memoryBytes: number): number {
  let window = 2 ** 28;
  while (window > 2 ** 22 && 6 * DEFAULT_DEPTH * window * LIST_BYTES > memoryBytes / 4) window /= 2;
  return window;
}
/** Of the list of candidates, for each integer: 3.4 in a hundred are left by 900,000 primes. */
const LIST_BYTES = 0.16;

/** Items per multiprocessor: about as many as its registers hold, with 80 of them each. */
const GPU_THREADS = 768;

function tileBitsOf(kind: Device['info']['kind'], nearBytes = 2 ** 15): number {
  if (kind === 'interpreter') return 2 ** 13;
  // WebGPU's 16 KiB are for the sum's partials as well.
  return nearBytes < 2 ** 15 ? 2 ** 16 : 2 ** 17;
}

/** What of the primes depends on a tile's size: which are done by strokes, and which are far. */
export interface PrimeTable {
  /** From 3 on. */
  readonly primes: Uint32Array;
  /** The first that is larger than a tile. */
  readonly firstFar: number;
  /** Pairs: which prime, and where in the run of its multiples a stroke begins. */
  readonly strokes: Uint32Array;
  /** The share of odd numbers that none of them divides. */
  readonly density: number;
}

/** The first `count` primes, 2 among them. The last table is kept: miners search header after header with the same. */
export function primeTable(count: number, tileBits: number): PrimeTable {
  if (!Number.isInteger(count) || count < LEAST_PRIMES || count > MOST_PRIMES) throw wrongCount(count);
  if (last?.count !== count || last.tileBits !== tileBits)
    last = { count, tileBits, table: newPrimeTable(count, tileBits) };
  return last.table;
}

/** 900,000 primes take 65 ms of the thread that feeds the devices. */
let last: { readonly count: number; readonly tileBits: number; readonly table: PrimeTable } | undefined;

function newPrimeTable(count: number, tileBits: number): PrimeTable {
  const primes = firstPrimes(count).subarray(1);
  const isFar = primes.findIndex((p) => p > tileBits);
  const firstFar = isFar < 0 ? primes.length : isFar;
  const strokes: number[] = [];
  for (let k = MASKED.length; k < firstFar; k++) {
    const p = primes[k] as number;
    for (let begin = 0; begin < tileBits; begin += STROKE * p) strokes.push(k, begin);
  }
  const density = primes.reduce((share, p) => share * (1 - 1 / p), 1);
  return { primes, firstFar, strokes: Uint32Array.from(strokes), density };
}

/** Those that are done by masks are always there, and one more. */
export const LEAST_PRIMES = MASKED.length + 2;
export const MOST_PRIMES = 50_000_000;

function wrongCount(count: number): MillraceError {
  return new MillraceError({
    code: 'usage',
    message: `${count} is no number of primes to sieve with`,
    asked: `a sieve with ${count} primes`,
    advice: `give a whole number from ${LEAST_PRIMES} to ${MOST_PRIMES}`,
  });
}
