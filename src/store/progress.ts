import { Intervals } from '../engine/intervals.js';
import { between } from '../engine/space.js';
import { type Connection, Damaged } from './connection.js';
import { type DoneRow, doneRow, type HitRow, insertion, isWhole, marked, selection, valuesOf } from './rows.js';
import { countWithin, hitIndices } from './salvage.js';
import { indexOf, indexText } from './text.js';

/** What a job has done, in the file: ranges, merged, and hits. */

/** A hit as it travels between threads: its values are text already. */
export interface StoredHit {
  readonly index: bigint;
  readonly nth: number;
  /** As `spell` writes them. */
  readonly fields: string;
  /** Default: now. */
  readonly foundMs?: number;
}

export interface DoneRange {
  readonly start: bigint;
  readonly past: bigint;
  /** How many hits lie in it. */
  readonly hits: number;
}

export interface Progress {
  readonly done: readonly DoneRange[];
  readonly hits: readonly (StoredHit & { readonly told: boolean; readonly foundMs: number })[];
}

/** All of it, checked. Throws `Damaged` where anything is not as it was written. */
export function readProgress(connection: Connection, job: string): Progress {
  const done = readRanges(connection, job);
  const hits = connection.all(selection('hits', 'WHERE job = ? ORDER BY at, nth'), job) as unknown as HitRow[];
  for (const row of hits) if (!isWhole('hits', row)) throw new Damaged(`a hit of job ${job} is not as it was written`);
  const indices = hitIndices(hits);
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

/** What is done, checked but for its hits. */
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

/** Inside a transaction. A hit that is there already stays as it is. */
export function addHits(connection: Connection, job: string, hits: readonly StoredHit[], nowMs: number): void {
  for (const { index, nth, fields, foundMs = nowMs } of hits) {
    const row = marked('hits', { job, at: indexText(index), nth, fields, found_ms: foundMs, told: 0 });
    connection.run(insertion('hits'), ...valuesOf('hits', row));
  }
}

/** Inside a transaction. The range becomes one with those that touch it, within what a loss of hits may cost. */
export function addRange(connection: Connection, job: string, { start, past, hits }: DoneRange): void {
  const below = connection.get(
    selection('done', 'WHERE job = ? AND first < ? ORDER BY first DESC LIMIT 1'),
    job,
    indexText(past),
  ) as DoneRow | undefined;
  if (below && indexOf(below.past) > start) {
    throw new Error(`job ${job}: indices ${start} to ${past} would count twice`);
  }
  const above = connection.get(selection('done', 'WHERE job = ? AND first = ?'), job, indexText(past)) as
    | DoneRow
    | undefined;
  let merged: DoneRange = { start, past, hits };
  if (below && indexOf(below.past) === start && below.hits + merged.hits <= MOST_MERGED_HITS) {
    remove(connection, below);
    merged = { start: indexOf(below.first), past: merged.past, hits: merged.hits + below.hits };
  }
  if (above && above.hits + merged.hits <= MOST_MERGED_HITS) {
    remove(connection, above);
    merged = { start: merged.start, past: indexOf(above.past), hits: merged.hits + above.hits };
  }
  const row = doneRow(job, merged.start, merged.past, merged.hits);
  connection.run(insertion('done'), ...valuesOf('done', row));
}

/** A range with more hits stays by itself: where a damaged file has lost a hit, its whole range is scanned again. */
export const MOST_MERGED_HITS = 1024;

function remove(connection: Connection, { job, first }: DoneRow): void {
  connection.run('DELETE FROM done WHERE job = ? AND first = ?', job, first);
}
