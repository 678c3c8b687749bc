import type { Engine } from '../../../engine/index.js';
import type { ScanOptions } from '../../mining/source.js';
import type { GapFlowOptions, PieceWork } from '../job/flow.js';
import { type Gap, type GapRequest, type GapSearchOptions, searchGaps } from '../job/search.js';
import type { GapVerifier } from '../job/verifier.js';
import type { PlantedGaps } from '../job/verifier-tasks.js';
import { type PlanOptions, planFor } from '../kernel/plan.js';
import { bitsOf } from '../kernel/reference.js';
import { type HashedHeader, headerAt, headerCount, minGapToSearch, type Share, shareOf, type Work } from './work.js';

/** How works are searched. */
export interface GapScan {
  readonly engine: Engine;
  readonly verifier: GapVerifier;
  /** Known gaps for canaries, so that new work need not wait for them. Default: found in each header's first numbers. */
  readonly plant?: NonNullable<GapSearchOptions['plant']>;
  readonly shift: number;
  /** Plan options, as on the command line. */
  readonly plan?: PlanOptions & { readonly primes?: number };
  readonly onPlan?: NonNullable<GapFlowOptions['onPlan']>;
  /** See `GapFlowOptions`. */
  readonly traced?: boolean;
  /** Called with the cost of each piece; `start` is its header's first number. */
  readonly onPiece?: (start: bigint, work: PieceWork) => void;
  /** Called with each gap that is long enough, even if its difficulty is too low. */
  readonly onCandidate?: (share: Share) => void;
}

/**
 * Mines a work on all devices of an engine, one header after the other. A header's 2^shift numbers are one search, of
 * which devices take disjoint pieces. Yields proofs as they are found; both ends and all numbers between are tested on the
 * CPU. Ends with the signal, or after the last header.
 */
export async function* scanWork(scan: GapScan, work: Work, options: ScanOptions): AsyncGenerator<Share> {
  const { signal, firstSegment = 0n, onProgress, onStart, onSegment, onSpace } = options;
  const all = headerCount(work);
  let tried = 0n;
  let isStarted = false;
  const hooks: ScanHooks = {
    signal,
    onSubmit: () => {
      if (!isStarted) onStart?.();
      isStarted = true;
    },
    // Counted as soon as it is done: before its canary, the work may be over.
    onDone: (count) => {
      tried += BigInt(count);
      onProgress?.(tried);
    },
  };
  for (let n = 0n; n < all && !signal.aborted; n++) {
    onSegment?.(n + 1n);
    const header = headerAt(work, (firstSegment + n) % all);
    onSpace?.({ start: 0n, length: numbersOf(scan) });
    if (header) yield* searchHeader(scan, work, header, hooks);
  }
}

interface ScanHooks {
  readonly signal: AbortSignal;
  /** Called when a piece is submitted to a device. */
  readonly onSubmit: () => void;
  /** Called when a piece is done, with its number of integers. */
  readonly onDone: (integers: number) => void;
}

async function* searchHeader(scan: GapScan, work: Work, header: HashedHeader, hooks: ScanHooks): AsyncGenerator<Share> {
  const { engine, verifier, plant, shift, plan, onPlan, traced = false, onPiece, onCandidate } = scan;
  const { signal, onSubmit, onDone } = hooks;
  const start = header.hash << BigInt(shift);
  const minGap = minGapToSearch(start, work.target);
  const request: GapRequest = {
    start,
    length: numbersOf(scan),
    minGap,
    ...plan,
    ...smallWindow(scan, start, minGap),
    onSubmit,
    traced,
    ...(onPlan && { onPlan }),
    onPiece: (done) => {
      onDone(done.piece.count);
      onPiece?.(start, done);
    },
  };
  yield* yieldAsFound<Share>(signal, async (emit, stop) => {
    const onGap = (gap: Gap): Promise<void> | undefined => {
      const share = shareOf(work, header, shift, gap);
      if (share === undefined) return undefined;
      onCandidate?.(share);
      return share.difficulty >= work.target ? emit(share) : undefined;
    };
    const gaps = searchGaps(request, { engine, verifier, signal: stop, onGap, ...(plant && { plant }) });
    for await (const _ of gaps) {
      // Reported by `onGap`.
    }
  });
}

/** A search numbers its integers in 128 bits; no device reaches the end of 2^64. */
const MAX_SEARCH_BITS = 64;

/** The numbers of a header. */
const numbersOf = ({ shift }: GapScan): bigint => 1n << BigInt(Math.min(shift, MAX_SEARCH_BITS));

/**
 * Yields the values that `run` passes to `emit`. `emit` waits until its value is taken. `run` is stopped when the caller
 * stops iterating.
 */
async function* yieldAsFound<One>(
  signal: AbortSignal,
  run: (emit: (one: One) => Promise<void>, stop: AbortSignal) => Promise<void>,
): AsyncGenerator<One> {
  const found: { readonly one: One; readonly taken: () => void }[] = [];
  let wake: (() => void) | undefined;
  let isOver = false;
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  // After the end no value is taken, so `emit` must not wait.
  const emit = (one: One): Promise<void> =>
    new Promise((taken) => {
      if (stop.signal.aborted) return taken();
      found.push({ one, taken });
      wake?.();
    });
  const running = run(emit, stop.signal).finally(() => {
    isOver = true;
    wake?.();
  });
  running.catch(() => undefined); // thrown below
  try {
    while (!isOver || found.length > 0) {
      const next = found.shift();
      if (next) {
        next.taken();
        yield next.one;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    await running;
  } catch (error) {
    // An abort is not a failure.
    if (!signal.aborted) throw error;
  } finally {
    abort();
    for (const { taken } of found) taken();
    signal.removeEventListener('abort', abort);
    await running.catch(() => undefined);
  }
}

/**
 * Finds the canary's gaps once, for the first header: the numbers of all headers have 256 + shift bits. Finding them takes
 * 20 to 40 ms at 288 bits, which would be most of the delay of new work.
 */
export function plantOnce(verifier: GapVerifier): NonNullable<GapSearchOptions['plant']> {
  let known: Promise<PlantedGaps> | undefined;
  return async (numbers, maxIntegers) => {
    const before = await known?.catch(() => undefined);
    const isUsable =
      before !== undefined &&
      before.minGap <= numbers.minGap &&
      before.count <= maxIntegers &&
      bitsOf(before.start) === bitsOf(numbers.start);
    if (isUsable) return before;
    known = verifier.call('plantGaps', numbers, maxIntegers);
    return known;
  };
}

/** All gaps of a window are checked before one is reported: if they are frequent, the window is smaller than usual. */
function smallWindow({ engine, plan }: GapScan, start: bigint, minGap: number): { readonly window?: number } {
  const usual = Math.min(...engine.devices.map((device) => planFor(device, plan).window));
  const enough = Math.ceil(GAPS_PER_WINDOW / chanceOf(bitsOf(start), minGap) / 64) * 64;
  return enough < usual ? { window: enough } : {};
}
const GAPS_PER_WINDOW = 16;

/** The probability that a number of `bits` bits is prime and begins a gap of at least `minGap`. */
function chanceOf(bits: number, minGap: number): number {
  const logarithm = bits * Math.LN2;
  return Math.exp(-minGap / logarithm) / logarithm;
}
