import { Intervals } from './intervals.js';
import { between, endOf, firstPiece, least, MOST_INDICES, type Piece, type Range, rangeOf } from './space.js';

/**
 * Which indices of a job are done, which are on a device, which wait. Every index that the job has to try is in exactly
 * one of four places: `todo`, `retry`, covered by a chunk in flight, `done`; so when nothing is left in the first three,
 * all are done, whatever was cancelled, failed, given to two devices or lost with one. The lowest indices are handed out
 * first, so that answers in order wait for as little as possible.
 */
export interface Coverage {
  readonly todo: Intervals;
  /** To be tried in smaller chunks than usual: their hits overflowed a ring. Ascending. */
  readonly retry: readonly Retry[];
  readonly flight: ReadonlyMap<number, Flight>;
  readonly done: Intervals;
  /** Indices from here on no longer matter: a hit below them was found. */
  readonly end: bigint;
  /** Indices from here on are yet to come (`extend`); undefined when all that the job has to try is known. */
  readonly horizon: bigint | undefined;
}

export interface Retry extends Piece {
  /** Items of a chunk at most. */
  readonly most: number;
}

/** A chunk on a device. */
export interface Flight extends Piece {
  readonly id: number;
  readonly device: string;
  /** Another chunk that is on these indices, on another device: the first to end counts. */
  readonly twin: number | undefined;
  /** It is given up for lost, and its indices were handed out again; should it end after all, it counts. */
  readonly abandoned: boolean;
}

/** All of the ranges, less what is done already. `horizon`: more will come, from that index on. */
export function cover(ranges: Iterable<Range>, done: Intervals = Intervals.none, horizon?: bigint): Coverage {
  let todo = Intervals.of(ranges);
  for (const range of done) todo = todo.remove(range);
  return { todo, retry: [], flight: new Map(), done, end: MOST_INDICES, horizon };
}

/** More to do, above all before it; the rest is to come from `horizon` on, undefined when this was the last. */
export function extend(coverage: Coverage, range: Range, horizon: bigint | undefined): Coverage {
  const { todo, retry, flight, done, end } = missingFrom(coverage, range).reduce(putBack, coverage);
  return { todo, retry, flight, done, end, horizon };
}

export interface Ask {
  /** The new chunk's number: no two chunks have the same. */
  readonly id: number;
  readonly device: string;
  readonly most: number;
  /** Only from here: a device's part where the space was partitioned beforehand. */
  readonly within?: Range | undefined;
}

export interface Taken {
  readonly coverage: Coverage;
  readonly flight: Flight;
}

/** Hands out the lowest indices that nobody has; undefined when all are done or in flight. */
export function take(coverage: Coverage, ask: Ask): Taken | undefined {
  const { within } = ask;
  const retry = coverage.retry.find((piece) => within === undefined || contains(within, piece));
  const waiting = within === undefined ? coverage.todo.first : coverage.todo.within(within).first;
  if (retry && (waiting === undefined || retry.start < waiting.start)) {
    const piece = firstPiece(rangeOf(retry), Math.min(ask.most, retry.most));
    const rest = coverage.retry.flatMap((other) => without(other, rangeOf(piece)));
    return launch({ ...coverage, retry: rest }, ask, piece, undefined);
  }
  if (waiting === undefined) return undefined;
  const piece = firstPiece(waiting, ask.most);
  return launch(withTodo(coverage, coverage.todo.remove(rangeOf(piece))), ask, piece, undefined);
}

/** Hands out indices of a chunk in flight once more, those that no second device has yet; undefined when there are none. */
export function duplicate(coverage: Coverage, ask: Ask, twin: number): Taken | undefined {
  const [range] = soleIndices(coverage, twin);
  return range && launch(coverage, ask, firstPiece(range, ask.most), twin);
}

/** The indices of a chunk in flight that are neither done nor on another device, nor handed out again already. */
export function soleIndices(coverage: Coverage, id: number): Range[] {
  const flight = coverage.flight.get(id);
  return flight && !flight.abandoned ? uncovered(coverage, flight) : [];
}

export interface Finished {
  readonly coverage: Coverage;
  /** What had not been counted before: only hits in here are new. */
  readonly fresh: readonly Range[];
  /** Chunks in flight that nobody needs any longer: to be cancelled. */
  readonly obsolete: readonly number[];
}

/** A chunk is complete and its results are right. */
export function finish(coverage: Coverage, id: number): Finished {
  const chunk = coverage.flight.get(id);
  if (chunk === undefined) return { coverage, fresh: [], obsolete: [] };
  const range = rangeOf(chunk);
  const fresh = [...coverage.done.missing(range)];
  const { todo, retry, flight, done, end, horizon } = coverage;
  const after: Coverage = {
    todo: todo.remove(range),
    retry: retry.flatMap((piece) => without(piece, range)),
    flight: omit(flight, id),
    done: done.add(range),
    end,
    horizon,
  };
  return { coverage: after, fresh, obsolete: obsoleteIn(after) };
}

/** A chunk failed, was cancelled, or gave wrong results: nothing of it counts, and what nobody else has waits again. */
export function giveBack(coverage: Coverage, id: number): Coverage {
  const chunk = coverage.flight.get(id);
  if (chunk === undefined) return coverage;
  const after = { ...coverage, flight: omit(coverage.flight, id) };
  return chunk.abandoned ? after : uncovered(after, chunk).reduce(putBack, after);
}

/** A chunk's hits overflowed its ring: it is tried again in chunks of at most `most` items. */
export function tryAgain(coverage: Coverage, id: number, most: number): Coverage {
  const chunk = coverage.flight.get(id);
  if (chunk === undefined) return coverage;
  const after = { ...coverage, flight: omit(coverage.flight, id) };
  if (chunk.abandoned) return after;
  const again = uncovered(after, chunk).map(({ start, length }): Retry => ({ start, count: Number(length), most }));
  return { ...after, retry: [...after.retry, ...again].sort((a, b) => (a.start < b.start ? -1 : 1)) };
}

/** A chunk is overdue: others may have its indices, though it still counts should it end first. */
export function abandon(coverage: Coverage, id: number): Coverage {
  const chunk = coverage.flight.get(id);
  if (chunk === undefined || chunk.abandoned) return coverage;
  const after = { ...coverage, flight: new Map(coverage.flight).set(id, { ...chunk, abandoned: true }) };
  return uncovered(after, chunk).reduce(putBack, after);
}

/** Indices from `end` on no longer matter. */
export function limit(coverage: Coverage, end: bigint): Pick<Finished, 'coverage' | 'obsolete'> {
  if (end >= coverage.end) return { coverage, obsolete: [] };
  const beyond = between(end, MOST_INDICES);
  const after: Coverage = {
    ...coverage,
    todo: coverage.todo.remove(beyond),
    retry: coverage.retry.flatMap((piece) => without(piece, beyond)),
    end,
  };
  return { coverage: after, obsolete: obsoleteIn(after) };
}

/** Nothing is left to hand out; chunks may still be in flight. */
export const isHandedOut = ({ todo, retry }: Coverage): boolean => todo.isEmpty && retry.length === 0;

/** Everything that matters is done. */
export const isComplete = (coverage: Coverage): boolean => frontierOf(coverage) === undefined;

/** The smallest index that matters and is not done: all below it are. Undefined when everything is done. */
export function frontierOf(coverage: Coverage): bigint | undefined {
  const { todo, retry, flight, done, horizon, end } = coverage;
  let lowest: bigint | undefined;
  const see = (start: bigint | undefined): void => {
    if (start !== undefined && (lowest === undefined || start < lowest)) lowest = start;
  };
  for (const start of [todo.first?.start, retry[0]?.start, horizon]) if (start !== undefined && start < end) see(start);
  for (const chunk of flight.values()) {
    if (!chunk.abandoned && !isObsolete(coverage, chunk)) see(done.firstMissing(chunk.start));
  }
  return lowest;
}

/** Indices that wait to be handed out. */
export function waitingIn(coverage: Coverage): bigint {
  return coverage.retry.reduce((sum, { count }) => sum + BigInt(count), coverage.todo.total);
}

function launch(coverage: Coverage, { id, device }: Ask, { start, count }: Piece, twin: number | undefined): Taken {
  const { todo, retry, done, end, horizon } = coverage;
  const flight: Flight = { id, device, start, count, twin, abandoned: false };
  const flying = new Map(coverage.flight).set(id, flight);
  return { coverage: { todo, retry, flight: flying, done, end, horizon }, flight };
}

function obsoleteIn(coverage: Coverage): number[] {
  return [...coverage.flight.values()].filter((chunk) => isObsolete(coverage, chunk)).map(({ id }) => id);
}

const isObsolete = (coverage: Coverage, chunk: Piece): boolean =>
  coverage.done.has(between(chunk.start, least(endOf(rangeOf(chunk)), coverage.end)));

/** The part of a chunk that matters and is neither done nor with another chunk in flight. */
function uncovered(coverage: Coverage, chunk: Flight): Range[] {
  let needed = Intervals.of(coverage.done.missing(between(chunk.start, least(endOf(rangeOf(chunk)), coverage.end))));
  for (const other of coverage.flight.values()) {
    if (other.id !== chunk.id && !other.abandoned) needed = needed.remove(rangeOf(other));
  }
  return [...needed];
}

/** The part of a range that is in none of the four places. */
function missingFrom(coverage: Coverage, { start, length }: Range): Range[] {
  let needed = Intervals.of(coverage.done.missing(between(start, least(start + length, coverage.end))));
  for (const range of coverage.todo.within({ start, length })) needed = needed.remove(range);
  for (const piece of coverage.retry) needed = needed.remove(rangeOf(piece));
  for (const chunk of coverage.flight.values()) if (!chunk.abandoned) needed = needed.remove(rangeOf(chunk));
  return [...needed];
}

const putBack = (coverage: Coverage, range: Range): Coverage => withTodo(coverage, coverage.todo.add(range));

/** Field by field, here and wherever each chunk comes by: an object made by spreading takes ten times as long. */
const withTodo = ({ retry, flight, done, end, horizon }: Coverage, todo: Intervals): Coverage => ({
  todo,
  retry,
  flight,
  done,
  end,
  horizon,
});

function without({ start, count, most }: Retry, range: Range): Retry[] {
  const rest = Intervals.none.add(rangeOf({ start, count })).remove(range);
  return [...rest].map((part) => ({ start: part.start, count: Number(part.length), most }));
}

const contains = (range: Range, { start }: Piece): boolean => start >= range.start && start < endOf(range);

function omit(flight: ReadonlyMap<number, Flight>, id: number): ReadonlyMap<number, Flight> {
  const rest = new Map(flight);
  rest.delete(id);
  return rest;
}
