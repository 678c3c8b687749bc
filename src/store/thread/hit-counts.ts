import type { Connection } from './connection.js';

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
