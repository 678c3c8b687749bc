import { partitionPoint } from '../../engine/work/bisect.js';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, type Range } from '../../engine/work/space.js';
import { indexOf, indexText } from '../encoding.js';
import { type Connection, Damaged } from './connection.js';
import { type DoneRow, doneRow, type HitRow, insertion, isWhole, marked, selection, valuesOf } from './rows.js';

/** A job's progress in the file: merged ranges, and hits. */

/** A hit as it is sent between threads: its values are already text. */
export interface StoredHit {
  readonly index: bigint;
  readonly nth: number;
  /** Encoded by `spell`. */
  readonly fields: string;
  /** Default: now. */
  readonly foundMs?: number;
}

export interface DoneRange {
  readonly start: bigint;
  readonly past: bigint;
  /** The number of hits in the range. */
  readonly hits: number;
}

export interface Progress {
  readonly done: readonly DoneRange[];
  readonly hits: readonly (StoredHit & { readonly told: boolean; readonly foundMs: number })[];
}

/** Reads and checks a job's progress. Throws `Damaged` if a row does not match its checksum or hits are missing. */
export function readProgress(connection: Connection, job: string): Progress {
  const done = readRanges(connection, job);
  const hits = connection.all(selection('hits', 'WHERE job = ? ORDER BY at, nth'), job) as unknown as HitRow[];
  for (const row of hits) if (!isWhole('hits', row)) throw new Damaged(`a hit of job ${job} is not as it was written`);
  const indices = hits.map(({ at }) => indexOf(at));
  for (const { start, past, hits: found } of done) {
    if (countWithin(indices, start, past) < found) throw new Damaged(`hits of job ${job} are missing`);
  }
  return {
    done,
    hits: hits.map(({ at, nth, fields, told, found_ms }) => ({
      index: indexOf(at),
      nth,
      fields,
      told: told === 1,
      foundMs: found_ms,
    })),
  };
}

/** Reads and checks a job's ranges, but not their hits. */
export function readRanges(connection: Connection, job: string): DoneRange[] {
  const rows = connection.all(selection('done', 'WHERE job = ? ORDER BY first'), job) as unknown as DoneRow[];
  let end = -1n;
  return rows.map((row) => {
    if (!isWhole('done', row)) throw new Damaged(`a range of job ${job} is not as it was written`);
    const [start, past] = [indexOf(row.first), indexOf(row.past)];
    if (start < end || past <= start) throw new Damaged(`ranges of job ${job} overlap`);
    end = past;
    return { start, past, hits: row.hits };
  });
}

export const intervalsOf = (done: readonly DoneRange[]): Intervals =>
  Intervals.of(done.map(({ start, past }) => between(start, past)));

/** Inserts hits. Must run inside a transaction. A hit that is already stored stays unchanged. */
export function addHits(connection: Connection, job: string, hits: readonly StoredHit[], nowMs: number): void {
  for (const { index, nth, fields, foundMs = nowMs } of hits) {
    const row = marked('hits', { job, at: indexText(index), nth, fields, found_ms: foundMs, told: 0 });
    connection.run(insertion('hits'), ...valuesOf('hits', row));
  }
}

/** Inserts a range, merged with adjacent ranges. Must run inside a transaction. */
export function addRange(connection: Connection, job: string, { start, past, hits }: DoneRange): void {
  const below = doneRowWhere(connection, job, 'first < ? ORDER BY first DESC LIMIT 1', past);
  if (below && indexOf(below.past) > start) {
    throw new Error(`job ${job}: indices ${start} to ${past} would count twice`);
  }
  const above = doneRowWhere(connection, job, 'first = ?', past);
  let merged: DoneRange = { start, past, hits };
  if (below && indexOf(below.past) === start) {
    remove(connection, below);
    merged = { start: indexOf(below.first), past: merged.past, hits: merged.hits + below.hits };
  }
  if (above) {
    remove(connection, above);
    merged = { start: merged.start, past: indexOf(above.past), hits: merged.hits + above.hits };
  }
  const row = doneRow(job, merged.start, merged.past, merged.hits);
  connection.run(insertion('done'), ...valuesOf('done', row));
}

/**
 * Adds many ranges at once, each merged with the ranges it touches. Returns the number of new indices. `found` holds the
 * indices of all hits, ascending. Must run inside a transaction.
 */
export function writeRanges(
  connection: Connection,
  job: string,
  before: readonly DoneRange[],
  ranges: Iterable<Range>,
  found: readonly bigint[],
): bigint {
  const known = new Map(before.map(({ start, past }) => [start, past]));
  const covered = intervalsOf(before);
  let all = covered;
  for (const range of ranges) all = all.add(range);
  for (const range of all) {
    const { start } = range;
    const past = endOf(range);
    if (known.get(start) === past) continue;
    if (!covered.within(range).isEmpty) {
      const within = 'DELETE FROM done WHERE job = ? AND first >= ? AND first < ?';
      connection.run(within, job, indexText(start), indexText(past));
    }
    const row = doneRow(job, start, past, countWithin(found, start, past));
    connection.run(insertion('done'), ...valuesOf('done', row));
  }
  return all.total - covered.total;
}

/** Throws `Damaged` if the row does not match its checksum. */
function doneRowWhere(connection: Connection, job: string, condition: string, index: bigint): DoneRow | undefined {
  const query = selection('done', `WHERE job = ? AND ${condition}`);
  const row = connection.get(query, job, indexText(index)) as DoneRow | undefined;
  if (row && !isWhole('done', row)) throw new Damaged(`a range of job ${job} is not as it was written`);
  return row;
}

/** Throws `Damaged` if the index does not lead to the row. */
function remove(connection: Connection, { job, first }: DoneRow): void {
  const removed = connection.run('DELETE FROM done WHERE job = ? AND first = ?', job, first);
  if (removed !== 1) throw new Damaged(`a range of job ${job} is in its table ${removed} times by the index`);
}

/** Counts the ascending indices that lie in the range. */
function countWithin(indices: readonly bigint[], start: bigint, past: bigint): number {
  const below = (bound: bigint) => partitionPoint(indices.length, (at) => (indices[at] ?? bound) < bound);
  return below(past) - below(start);
}
