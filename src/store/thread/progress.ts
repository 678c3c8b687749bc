import { partitionPoint } from '../../engine/work/bisect.js';
import { Intervals } from '../../engine/work/intervals.js';
import { between, endOf, type Range } from '../../engine/work/space.js';
import { indexText, parseIndex } from '../encoding.js';
import { type Connection, LedgerDamagedError } from './connection.js';
import { type DoneRow, doneRow, type HitRow, insertSql, isIntact, selectSql, valuesOf, withChecksum } from './rows.js';

/** A job's progress in the file: merged ranges, and hits. */

/** A hit as it is sent between threads: its values are already text. */
export interface StoredHit {
  readonly index: bigint;
  readonly nth: number;
  /** Encoded by `encode`. */
  readonly fields: string;
  /** Default: now. */
  readonly foundMs?: number;
}

export interface DoneRange {
  readonly start: bigint;
  readonly end: bigint;
  /** The number of hits in the range. */
  readonly hits: number;
}

export interface JobProgress {
  readonly done: readonly DoneRange[];
  readonly hits: readonly (StoredHit & { readonly isNotified: boolean; readonly foundMs: number })[];
}

/** Reads and checks a job's progress. Throws `LedgerDamagedError` if a row does not match its checksum or hits are missing. */
export function readProgress(connection: Connection, job: string): JobProgress {
  const done = readRanges(connection, job);
  const rows = connection.all(selectSql('hits', 'WHERE job = ? ORDER BY at, nth'), job) as unknown as HitRow[];
  const hits = rows.map((row) => hitOf(row, job));
  const indices = hits.map(({ index }) => index);
  for (const { start, end, hits: found } of done) {
    if (countWithin(indices, start, end) < found) throw new LedgerDamagedError(`hits of job ${job} are missing`);
  }
  return { done, hits };
}

/**
 * Counts the hits of jobs. Counting a million takes 50 ms, so after the first time only rows are counted that were added
 * since. Hits are only ever removed together, with their job or when it starts again.
 */
export class HitCounts {
  readonly #known = new Map<string, KnownCount>();

  of(connection: Connection, job: string): number {
    const known = this.#known.get(job);
    const isThere = known && connection.get('SELECT 1 AS one FROM hits WHERE rowid = ? AND job = ?', known.last, job);
    const count = isThere ? countAfter(connection, job, known) : countAll(connection, job);
    if (count.hits > 0) this.#known.set(job, count);
    else this.#known.delete(job);
    return count.hits;
  }
}

interface KnownCount {
  readonly hits: number;
  /** The highest row number among them. */
  readonly last: number;
}

function countAll(connection: Connection, job: string): KnownCount {
  const row = connection.get('SELECT count(*) AS n, max(rowid) AS last FROM hits WHERE job = ?', job);
  return { hits: Number(row?.n ?? 0), last: Number(row?.last ?? 0) };
}

/** By row numbers: the index by job would lead over all rows again. */
function countAfter(connection: Connection, job: string, { hits, last }: KnownCount): KnownCount {
  const added = 'SELECT count(*) AS n, max(rowid) AS last FROM hits NOT INDEXED WHERE rowid > ? AND job = ?';
  const row = connection.get(added, last, job);
  return { hits: hits + Number(row?.n ?? 0), last: Number(row?.last ?? last) };
}

/** Which hits to read: `count` of them from the `from`th, of those whose index or values contain `search`. */
export interface HitQuery {
  readonly from: number;
  readonly count: number;
  readonly search?: string;
}

export interface HitPage {
  /** Hits that match. */
  readonly total: number;
  /** Ascending by index. */
  readonly hits: JobProgress['hits'];
}

/**
 * Reads and checks some of a job's hits. Rows near the end are read from the end: SQLite steps over all before them. It
 * reads in the order of the index only by the table's own columns: `at` alone is the cast that `selectSql` names so, by which
 * it would sort all hits, in 0.2 s for a million.
 */
export function readHits(
  connection: Connection,
  job: string,
  { from, count, search = '' }: HitQuery,
  counts = new HitCounts(),
): HitPage {
  // An index is stored with leading zeros, which do not count as a match.
  const matches = "AND (instr(ltrim(at, '0'), ?) > 0 OR instr(lower(fields), lower(?)) > 0)";
  const condition = `WHERE job = ? ${search === '' ? '' : matches}`;
  const values = search === '' ? [job] : [job, search, search];
  const total =
    search === ''
      ? counts.of(connection, job)
      : Number(connection.get(`SELECT count(*) AS n FROM hits ${condition}`, ...values)?.n ?? 0);
  const shown = Math.max(0, Math.min(count, total - from));
  const isNearEnd = from > total / 2;
  const order = isNearEnd ? 'hits.at DESC, hits.nth DESC' : 'hits.at, hits.nth';
  const page = selectSql('hits', `${condition} ORDER BY ${order} LIMIT ? OFFSET ?`);
  const before = isNearEnd ? total - from - shown : from;
  const rows = connection.all(page, ...values, shown, before) as unknown as HitRow[];
  if (isNearEnd) rows.reverse();
  return { total, hits: rows.map((row) => hitOf(row, job)) };
}

function hitOf(row: HitRow, job: string): JobProgress['hits'][number] {
  if (!isIntact('hits', row)) throw new LedgerDamagedError(`a hit of job ${job} does not match its checksum`);
  const { at, nth, fields, told, found_ms: foundMs } = row;
  return { index: parseIndex(at), nth, fields, isNotified: told === 1, foundMs };
}

/** Reads and checks a job's ranges, but not their hits. */
export function readRanges(connection: Connection, job: string): DoneRange[] {
  const rows = connection.all(selectSql('done', 'WHERE job = ? ORDER BY done.first'), job) as unknown as DoneRow[];
  let previousEnd = -1n;
  return rows.map((row) => {
    if (!isIntact('done', row)) throw new LedgerDamagedError(`a range of job ${job} does not match its checksum`);
    const [start, end] = [parseIndex(row.first), parseIndex(row.past)];
    if (start < previousEnd || end <= start) throw new LedgerDamagedError(`ranges of job ${job} overlap`);
    previousEnd = end;
    return { start, end, hits: row.hits };
  });
}

export const intervalsOf = (done: readonly DoneRange[]): Intervals =>
  Intervals.of(done.map(({ start, end }) => between(start, end)));

/** Inserts hits. Must run inside a transaction. A hit that is already stored stays unchanged. */
export function addHits(connection: Connection, job: string, hits: readonly StoredHit[], nowMs: number): void {
  for (const { index, nth, fields, foundMs = nowMs } of hits) {
    const row = withChecksum('hits', { job, at: indexText(index), nth, fields, found_ms: foundMs, told: 0 });
    connection.run(insertSql('hits'), ...valuesOf('hits', row));
  }
}

/** Inserts a range, merged with adjacent ranges. Must run inside a transaction. */
export function addRange(connection: Connection, job: string, { start, end, hits }: DoneRange): void {
  const below = lastBefore(connection, job, end);
  if (below && parseIndex(below.past) > start) {
    throw new Error(`job ${job}: indices ${start} to ${end} would count twice`);
  }
  const above = doneRowWhere(connection, job, 'first = ?', end);
  let merged: DoneRange = { start, end, hits };
  if (below && parseIndex(below.past) === start) {
    removeRange(connection, below);
    merged = { start: parseIndex(below.first), end: merged.end, hits: merged.hits + below.hits };
  }
  if (above) {
    removeRange(connection, above);
    merged = { start: merged.start, end: parseIndex(above.past), hits: merged.hits + above.hits };
  }
  const row = doneRow(job, merged.start, merged.end, merged.hits);
  connection.run(insertSql('done'), ...valuesOf('done', row));
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
  const known = new Map(before.map(({ start, end }) => [start, end]));
  const covered = intervalsOf(before);
  let all = covered;
  for (const range of ranges) all = all.add(range);
  for (const range of all) {
    const { start } = range;
    const end = endOf(range);
    if (known.get(start) === end) continue;
    if (!covered.within(range).isEmpty) {
      const within = 'DELETE FROM done WHERE job = ? AND first >= ? AND first < ?';
      connection.run(within, job, indexText(start), indexText(end));
    }
    const row = doneRow(job, start, end, countWithin(found, start, end));
    connection.run(insertSql('done'), ...valuesOf('done', row));
  }
  return all.total - covered.total;
}

/**
 * Takes ranges out of those that are done. Their hits stay: they were verified. Returns the number of indices that were done.
 * Must run inside a transaction.
 */
export function cutRanges(connection: Connection, job: string, ranges: Iterable<Range>): bigint {
  let cut = 0n;
  for (const range of ranges) {
    const [start, end] = [range.start, endOf(range)];
    // From the end on: the row that lies across the start is the last one.
    while (start < end) {
      const row = lastBefore(connection, job, end);
      if (row === undefined || parseIndex(row.past) <= start) break;
      const [first, past] = [parseIndex(row.first), parseIndex(row.past)];
      if (countHits(connection, job, first, past) < row.hits)
        throw new LedgerDamagedError(`hits of job ${job} are missing`);
      removeRange(connection, row);
      const above = past > end ? between(end, past) : undefined;
      const below = first < start ? between(first, start) : undefined;
      for (const rest of [above, below]) {
        if (rest === undefined) continue;
        const hits = countHits(connection, job, rest.start, endOf(rest));
        connection.run(insertSql('done'), ...valuesOf('done', doneRow(job, rest.start, endOf(rest), hits)));
      }
      cut += past - first - (above?.length ?? 0n) - (below?.length ?? 0n);
    }
  }
  return cut;
}

function countHits(connection: Connection, job: string, start: bigint, end: bigint): number {
  const query = 'SELECT count(*) AS n FROM hits WHERE job = ? AND at >= ? AND at < ?';
  return Number(connection.get(query, job, indexText(start), indexText(end))?.n ?? 0);
}

/** Returns the last range that begins before an index. */
const lastBefore = (connection: Connection, job: string, index: bigint): DoneRow | undefined =>
  doneRowWhere(connection, job, 'first < ? ORDER BY done.first DESC LIMIT 1', index);

/** Throws `LedgerDamagedError` if the row does not match its checksum. */
function doneRowWhere(connection: Connection, job: string, condition: string, index: bigint): DoneRow | undefined {
  const query = selectSql('done', `WHERE job = ? AND ${condition}`);
  const row = connection.get(query, job, indexText(index)) as DoneRow | undefined;
  if (row && !isIntact('done', row)) throw new LedgerDamagedError(`a range of job ${job} does not match its checksum`);
  return row;
}

/** Throws `LedgerDamagedError` if the index does not lead to the row. */
function removeRange(connection: Connection, { job, first }: DoneRow): void {
  const removed = connection.run('DELETE FROM done WHERE job = ? AND first = ?', job, first);
  if (removed !== 1) throw new LedgerDamagedError(`the index finds a range of job ${job} ${removed} times`);
}

/** Counts the ascending indices that lie in the range. */
function countWithin(indices: readonly bigint[], start: bigint, end: bigint): number {
  const below = (bound: bigint) => partitionPoint(indices.length, (at) => (indices[at] ?? bound) < bound);
  return below(end) - below(start);
}
