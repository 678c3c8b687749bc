import type { Engine } from '../../../engine/index.js';
import type { ScanOptions } from '../../mining/source.js';
import type { GapFlowOptions, PieceWork } from '../job/flow.js';
import type { Referee } from '../job/referee.js';
import type { PlantedGaps } from '../job/rulings.js';
import { type Gap, type GapRequest, type Running, searchGaps } from '../job/search.js';
import { type PlanOptions, planFor } from '../kernel/plan.js';
import { bitsOf } from '../kernel/reference.js';
import { leastGapFor, type Share, type Turn, turnOf, turnsOf, type Work, weigh } from './work.js';

/** How works are searched. */
export interface GapScan {
  readonly engine: Engine;
  readonly referee: Referee;
  /** Where devices are tried; new work does not wait until others are found. Default: in each header's first numbers. */
  readonly plant?: NonNullable<Running['plant']>;
  readonly shift: number;
  /** What a search is asked for beside, as on the command line. */
  readonly plan?: PlanOptions & { readonly primes?: number };
  readonly onPlan?: NonNullable<GapFlowOptions['onPlan']>;
  /** See `GapFlowOptions`. */
  readonly traced?: boolean;
  /** What each piece took; `start` is where its header's numbers begin. */
  readonly onPiece?: (start: bigint, work: PieceWork) => void;
  /** Each gap that is long enough, whether it is good enough or not. */
  readonly onCandidate?: (share: Share) => void;
}

/**
 * Mines a work on all devices of an engine, a header after the other: what one gives, 2^shift numbers, is one search, of
 * which every device takes other pieces. Proofs are told as they are found, both ends and all between tested on the CPU. It
 * ends with the signal, or after the last header.
 */
export async function* scanWork(scan: GapScan, work: Work, options: ScanOptions): AsyncGenerator<Share> {
  const { signal, firstTurn = 0n, onProgress, onStart, onTurn } = options;
  const all = turnsOf(work);
  let tried = 0n;
  let isStarted = false;
  const hearers: Hearers = {
    signal,
    onSubmit: () => {
      if (!isStarted) onStart?.();
      isStarted = true;
    },
    // Counted as soon as it is done: until it is audited, the work may be over.
    onDone: (count) => {
      tried += BigInt(count);
      onProgress?.(tried);
    },
  };
  for (let n = 0n; n < all && !signal.aborted; n++) {
    onTurn?.(n + 1n);
    const turn = turnOf(work, (firstTurn + n) % all);
    if (turn) yield* searchTurn(scan, work, turn, hearers);
  }
}

interface Hearers {
  readonly signal: AbortSignal;
  /** A piece is on its way to a device. */
  readonly onSubmit: () => void;
  /** A piece of so many integers is done. */
  readonly onDone: (integers: number) => void;
}

async function* searchTurn(scan: GapScan, work: Work, turn: Turn, hearers: Hearers): AsyncGenerator<Share> {
  const { engine, referee, plant, shift, plan, onPlan, traced = false, onPiece, onCandidate } = scan;
  const { signal, onSubmit, onDone } = hearers;
  const start = turn.hash << BigInt(shift);
  const leastGap = leastGapFor(start, work.target);
  const request: GapRequest = {
    start,
    length: 1n << BigInt(Math.min(shift, MOST_SEARCHED)),
    leastGap,
    ...plan,
    ...smallWindow(scan, start, leastGap),
    onSubmit,
    traced,
    ...(onPlan && { onPlan }),
    onPiece: (done) => {
      onDone(done.piece.count);
      onPiece?.(start, done);
    },
  };
  yield* asFound<Share>(signal, async (tell, stop) => {
    const onGap = (gap: Gap): Promise<void> | undefined => {
      const share = weigh(work, turn, shift, gap);
      if (share === undefined) return undefined;
      onCandidate?.(share);
      return share.difficulty >= work.target ? tell(share) : undefined;
    };
    const gaps = searchGaps(request, { engine, referee, signal: stop, onGap, ...(plant && { plant }) });
    for await (const _ of gaps) {
      // Told already.
    }
  });
}

/** A search numbers its integers in 128 bits; no device comes to the end of 2^64. */
const MOST_SEARCHED = 64;

/**
 * What something tells while it runs, for whoever iterates. It waits while nobody takes what it has told, and is stopped when
 * nobody asks any more.
 */
async function* asFound<One>(
  signal: AbortSignal,
  run: (tell: (one: One) => Promise<void>, stop: AbortSignal) => Promise<void>,
): AsyncGenerator<One> {
  const found: { readonly one: One; readonly taken: () => void }[] = [];
  let wake: () => void = () => undefined;
  let isOver = false;
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  // Once it is over nobody takes anything: what is told then must not wait for it.
  const tell = (one: One): Promise<void> =>
    new Promise((taken) => {
      if (stop.signal.aborted) return taken();
      found.push({ one, taken });
      wake();
    });
  const running = run(tell, stop.signal).finally(() => {
    isOver = true;
    wake();
  });
  running.catch(() => undefined); // told below
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
    // That it was told to stop is no failure.
    if (!signal.aborted) throw error;
  } finally {
    abort();
    for (const { taken } of found) taken();
    signal.removeEventListener('abort', abort);
    await running.catch(() => undefined);
  }
}

/**
 * Gaps that are found once, of the first header: all have 256 + shift bits. They take 20 to 40 ms at 288 bits, which
 * is most of what new work would wait for.
 */
export function plantOnce(referee: Referee): NonNullable<Running['plant']> {
  let known: Promise<PlantedGaps> | undefined;
  return async (numbers, most) => {
    const before = await known?.catch(() => undefined);
    const isUsable =
      before !== undefined &&
      before.leastGap <= numbers.leastGap &&
      before.count <= most &&
      bitsOf(before.start) === bitsOf(numbers.start);
    if (isUsable) return before;
    known = referee.ask('plantGaps', numbers, most);
    return known;
  };
}

/** All gaps of a window are checked before one is told: where they are frequent, it is smaller than suits a device. */
function smallWindow({ engine, plan }: GapScan, start: bigint, leastGap: number): { readonly window?: number } {
  const usual = Math.min(...engine.devices.map((device) => planFor(device, plan).window));
  const enough = Math.ceil(GAPS_AT_ONCE / chanceOf(bitsOf(start), leastGap) / 64) * 64;
  return enough < usual ? { window: enough } : {};
}
const GAPS_AT_ONCE = 16;

/** How likely a number of so many bits is to begin such a gap: it is prime, and so few primes are followed by one. */
function chanceOf(bits: number, leastGap: number): number {
  const logarithm = bits * Math.LN2;
  return Math.exp(-leastGap / logarithm) / logarithm;
}
