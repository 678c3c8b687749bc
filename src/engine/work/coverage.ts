import { Intervals } from './intervals.js';
import { between, endOf, firstPiece, MAX_INDICES, minBigint, type Piece, type Range, rangeOf } from './space.js';

/**
 * The state of a job's indices: done, in flight, or waiting. Every index that the job has to try is in exactly one of
 * four places: `todo`, `retry`, covered by a chunk in flight, `done`. So when the first three are empty, all indices
 * are done, even if chunks were cancelled, failed, duplicated or lost with a device. The lowest indices are handed out
 * first, so that ordered results wait as little as possible.
 */
export interface Coverage {
  readonly todo: Intervals;
  /** To be run in smaller chunks, because their hits overflowed a ring. Ascending. */
  readonly retry: readonly Retry[];
  readonly inFlight: ReadonlyMap<number, InFlightChunk>;
  readonly done: Intervals;
  /** Indices from here on are no longer needed: a hit below them was found. */
  readonly end: bigint;
  /** Indices from here on are still to come (`extend`). Undefined if all indices of the job are known. */
  readonly horizon: bigint | undefined;
}

export interface Retry extends Piece {
  /** Maximum items of a chunk. */
  readonly max: number;
}

/** A chunk on a device. */
export interface InFlightChunk extends Piece {
  readonly id: number;
  readonly device: string;
  /** A chunk with the same indices on another device. The first to end counts. */
  readonly duplicateOf: number | undefined;
  /** True if its indices were handed out again because it is overdue. If it still ends, it counts. */
  readonly isAbandoned: boolean;
}

/** Returns the coverage of the ranges, less what is done. `horizon`: more indices will come, from there on. */
export function cover(ranges: Iterable<Range>, done: Intervals = Intervals.none, horizon?: bigint): Coverage {
  let todo = Intervals.of(ranges);
  for (const range of done) todo = todo.remove(range);
  return { todo, retry: [], inFlight: new Map(), done, end: MAX_INDICES, horizon };
}

/** Adds a range above all earlier ones. The rest will come from `horizon` on. Undefined if this was the last. */
export function extend(coverage: Coverage, range: Range, horizon: bigint | undefined): Coverage {
  const { todo, retry, inFlight, done, end } = missingFrom(coverage, range).reduce(putBack, coverage);
  return { todo, retry, inFlight, done, end, horizon };
}

export interface ChunkRequest {
  /** The new chunk's number. Unique. */
  readonly id: number;
  readonly device: string;
  readonly max: number;
  /** Limits the indices to a device's part if the space is partitioned. */
  readonly within?: Range | undefined;
}

export interface Assignment {
  readonly coverage: Coverage;
  readonly chunk: InFlightChunk;
}

/** Hands out the lowest waiting indices. Undefined if all are done or in flight. */
export function take(coverage: Coverage, request: ChunkRequest): Assignment | undefined {
  const { within } = request;
  const retry = coverage.retry.find((piece) => within === undefined || contains(within, piece));
  const waiting = within === undefined ? coverage.todo.first : coverage.todo.within(within).first;
  if (retry && (waiting === undefined || retry.start < waiting.start)) {
    const piece = firstPiece(rangeOf(retry), Math.min(request.max, retry.max));
    const rest = coverage.retry.flatMap((other) => without(other, rangeOf(piece)));
    return assign({ ...coverage, retry: rest }, request, piece, undefined);
  }
  if (waiting === undefined) return undefined;
  const piece = firstPiece(waiting, request.max);
  return assign(withTodo(coverage, coverage.todo.remove(rangeOf(piece))), request, piece, undefined);
}

/** Hands out indices of a chunk in flight to a second device. Undefined if a second device already has all of them. */
export function duplicate(coverage: Coverage, request: ChunkRequest, original: number): Assignment | undefined {
  const [range] = unsharedIndices(coverage, original);
  return range && assign(coverage, request, firstPiece(range, request.max), original);
}

/** Returns the indices of a chunk in flight that are not done, not on another device and not handed out again. */
export function unsharedIndices(coverage: Coverage, id: number): Range[] {
  const chunk = coverage.inFlight.get(id);
  return chunk && !chunk.isAbandoned ? uncovered(coverage, chunk) : [];
}

export interface FinishResult {
  readonly coverage: Coverage;
  /** Ranges not counted before: only hits in them are new. */
  readonly newRanges: readonly Range[];
  /** Chunks in flight that are no longer needed: to be cancelled. */
  readonly obsolete: readonly number[];
}

/** Records a complete chunk whose results are right. */
export function finish(coverage: Coverage, id: number): FinishResult {
  const chunk = coverage.inFlight.get(id);
  if (chunk === undefined) return { coverage, newRanges: [], obsolete: [] };
  const range = rangeOf(chunk);
  const newRanges = [...coverage.done.missing(range)];
  const { todo, retry, inFlight, done, end, horizon } = coverage;
  const after: Coverage = {
    todo: todo.remove(range),
    retry: retry.flatMap((piece) => without(piece, range)),
    inFlight: omit(inFlight, id),
    done: done.add(range),
    end,
    horizon,
  };
  return { coverage: after, newRanges, obsolete: obsoleteIn(after) };
}

/**
 * Returns a chunk that failed, was cancelled or gave wrong results. Its indices wait again, unless another chunk has
 * them.
 */
export function giveBack(coverage: Coverage, id: number): Coverage {
  const chunk = coverage.inFlight.get(id);
  if (chunk === undefined) return coverage;
  const after = { ...coverage, inFlight: omit(coverage.inFlight, id) };
  return chunk.isAbandoned ? after : uncovered(after, chunk).reduce(putBack, after);
}

/** Returns a chunk whose hits overflowed its ring. It is run again in chunks of at most `max` items. */
export function queueRetry(coverage: Coverage, id: number, max: number): Coverage {
  const chunk = coverage.inFlight.get(id);
  if (chunk === undefined) return coverage;
  const after = { ...coverage, inFlight: omit(coverage.inFlight, id) };
  if (chunk.isAbandoned) return after;
  const again = uncovered(after, chunk).map(({ start, length }): Retry => ({ start, count: Number(length), max }));
  return { ...after, retry: [...after.retry, ...again].sort((a, b) => (a.start < b.start ? -1 : 1)) };
}

/** Hands out an overdue chunk's indices again. The chunk still counts if it ends first. */
export function abandon(coverage: Coverage, id: number): Coverage {
  const chunk = coverage.inFlight.get(id);
  if (chunk === undefined || chunk.isAbandoned) return coverage;
  const after = { ...coverage, inFlight: new Map(coverage.inFlight).set(id, { ...chunk, isAbandoned: true }) };
  return uncovered(after, chunk).reduce(putBack, after);
}

/** Drops the indices from `end` on: they are no longer needed. */
export function dropFrom(coverage: Coverage, end: bigint): Pick<FinishResult, 'coverage' | 'obsolete'> {
  if (end >= coverage.end) return { coverage, obsolete: [] };
  const beyond = between(end, MAX_INDICES);
  const after: Coverage = {
    ...coverage,
    todo: coverage.todo.remove(beyond),
    retry: coverage.retry.flatMap((piece) => without(piece, beyond)),
    end,
  };
  return { coverage: after, obsolete: obsoleteIn(after) };
}

/** Lets indices that are done be handed out once more. They are in none of the four places until `extend` adds them. */
export function forget({ todo, retry, inFlight, done, end, horizon }: Coverage, range: Range): Coverage {
  return { todo, retry, inFlight, done: done.remove(range), end, horizon };
}

/** True if no index waits. Chunks may still be in flight. */
export const isHandedOut = ({ todo, retry }: Coverage): boolean => todo.isEmpty && retry.length === 0;

/** True if all needed indices are done. */
export const isComplete = (coverage: Coverage): boolean => frontierOf(coverage) === undefined;

/** Returns the smallest needed index that is not done. Undefined if all are done. */
export function frontierOf(coverage: Coverage): bigint | undefined {
  const { todo, retry, inFlight, done, horizon, end } = coverage;
  let lowest: bigint | undefined;
  const consider = (start: bigint | undefined): void => {
    if (start !== undefined && (lowest === undefined || start < lowest)) lowest = start;
  };
  for (const start of [todo.first?.start, retry[0]?.start, horizon])
    if (start !== undefined && start < end) consider(start);
  for (const chunk of inFlight.values()) {
    if (!chunk.isAbandoned && !isObsolete(coverage, chunk)) consider(done.firstMissing(chunk.start));
  }
  return lowest;
}

/** Returns the number of indices that wait to be handed out. */
export function waitingCount(coverage: Coverage): bigint {
  return coverage.retry.reduce((sum, { count }) => sum + BigInt(count), coverage.todo.total);
}

function assign(
  coverage: Coverage,
  { id, device }: ChunkRequest,
  { start, count }: Piece,
  duplicateOf: number | undefined,
): Assignment {
  const { todo, retry, done, end, horizon } = coverage;
  const chunk: InFlightChunk = { id, device, start, count, duplicateOf, isAbandoned: false };
  const inFlight = new Map(coverage.inFlight).set(id, chunk);
  return { coverage: { todo, retry, inFlight, done, end, horizon }, chunk };
}

function obsoleteIn(coverage: Coverage): number[] {
  return [...coverage.inFlight.values()].filter((chunk) => isObsolete(coverage, chunk)).map(({ id }) => id);
}

const isObsolete = (coverage: Coverage, chunk: Piece): boolean =>
  coverage.done.has(between(chunk.start, minBigint(endOf(rangeOf(chunk)), coverage.end)));

/** Returns the needed part of a chunk that is not done and not in another chunk in flight. */
function uncovered(coverage: Coverage, chunk: InFlightChunk): Range[] {
  let needed = Intervals.of(
    coverage.done.missing(between(chunk.start, minBigint(endOf(rangeOf(chunk)), coverage.end))),
  );
  for (const other of coverage.inFlight.values()) {
    if (other.id !== chunk.id && !other.isAbandoned) needed = needed.remove(rangeOf(other));
  }
  return [...needed];
}

/** Returns the part of a range that is in none of the four places. */
function missingFrom(coverage: Coverage, { start, length }: Range): Range[] {
  let needed = Intervals.of(coverage.done.missing(between(start, minBigint(start + length, coverage.end))));
  for (const range of coverage.todo.within({ start, length })) needed = needed.remove(range);
  for (const piece of coverage.retry) needed = needed.remove(rangeOf(piece));
  for (const chunk of coverage.inFlight.values()) if (!chunk.isAbandoned) needed = needed.remove(rangeOf(chunk));
  return [...needed];
}

const putBack = (coverage: Coverage, range: Range): Coverage => withTodo(coverage, coverage.todo.add(range));

/** Built field by field, as everywhere on the path of each chunk: spreading takes ten times as long. */
const withTodo = ({ retry, inFlight, done, end, horizon }: Coverage, todo: Intervals): Coverage => ({
  todo,
  retry,
  inFlight,
  done,
  end,
  horizon,
});

function without({ start, count, max }: Retry, range: Range): Retry[] {
  const rest = Intervals.none.add(rangeOf({ start, count })).remove(range);
  return [...rest].map((part) => ({ start: part.start, count: Number(part.length), max }));
}

const contains = (range: Range, { start }: Piece): boolean => start >= range.start && start < endOf(range);

function omit(chunks: ReadonlyMap<number, InFlightChunk>, id: number): ReadonlyMap<number, InFlightChunk> {
  const rest = new Map(chunks);
  rest.delete(id);
  return rest;
}
