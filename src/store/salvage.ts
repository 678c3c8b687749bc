import { closeSync, existsSync, fsyncSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Intervals } from '../engine/intervals.js';
import { between, greatest } from '../engine/space.js';
import { Connection, onDisk } from './connection.js';
import { type Cells, PAGE_BYTES, rowsInDatabase, rowsInLog } from './pages.js';
import { doneRow, type HitRow, insertion, isWhole, type Rows, TABLES, type TableName, valuesOf } from './rows.js';
import { migrate } from './schema.js';
import { indexOf } from './text.js';

/**
 * Makes a new ledger from what a damaged one still holds. Every row that is found anywhere in the file or its log and
 * whose mark is right is taken: what it says was true when it was written, and stays true. A range counts as done only
 * if all its hits were found as well; else it is scanned again. The damaged files stay where they are.
 */
export function salvage(directory: string, damaged: string, log: Uint8Array | undefined): Salvaged {
  const found = collect(readOrNothing(join(directory, damaged)), log ?? new Uint8Array());
  const { done, dropped } = believable(found.done, found.hits);
  const file = nextName(damaged);
  const fresh = join(directory, `${file}.new`);
  for (const part of [fresh, `${fresh}-journal`]) rmSync(part, { force: true });
  const connection = new Connection(fresh, 0);
  // One file, without a log: it is renamed when it is whole.
  connection.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL`);
  migrate(connection);
  connection.transact(() => {
    const put = <T extends TableName>(table: T, rows: Iterable<Rows[T]>): void => {
      for (const row of rows) connection.run(insertion(table), ...valuesOf(table, row));
    };
    put('jobs', found.jobs.values());
    put('done', done);
    put('hits', found.hits.values());
    put('tuning', found.tuning.values());
  });
  connection.close();
  onDisk(join(directory, file), () => {
    renameSync(fresh, join(directory, file));
    syncFolder(directory);
  });
  return { file, jobs: found.jobs.size, hits: found.hits.size, ranges: done.length, dropped };
}

export interface Salvaged {
  /** The new ledger. */
  readonly file: string;
  readonly jobs: number;
  readonly hits: number;
  readonly ranges: number;
  /** Ranges some of whose hits are lost: they are scanned again. */
  readonly dropped: number;
}

/** The ledger in use is the one with the highest number: files are never renamed while somebody may have them open. */
export function newestLedger(directory: string): string {
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => LEDGER.test(name)) : [];
  return names.sort((a, b) => numberOf(b) - numberOf(a))[0] ?? 'ledger.db';
}

const LEDGER = /^ledger(-\d+)?\.db$/;
const numberOf = (name: string): number => Number(/-(\d+)\.db$/.exec(name)?.[1] ?? 1);
const nextName = (name: string): string => `ledger-${numberOf(name) + 1}.db`;

type Found = { readonly [T in TableName]: Map<string, Rows[T]> };

function collect(file: Uint8Array, log: Uint8Array): Found {
  const found: Found = { jobs: new Map(), done: new Map(), hits: new Map(), tuning: new Map() };
  // The log's rows come last: what changes in a row is newer there.
  for (const cells of rowsInDatabase(file)) take(found, cells);
  for (const cells of rowsInLog(log, file)) take(found, cells);
  return found;
}

function take(found: Found, cells: Cells): void {
  for (const table of Object.keys(TABLES) as TableName[]) takeAs(found, table, cells);
}

function takeAs<T extends TableName>(found: Found, table: T, cells: Cells): void {
  const { columns, unique } = TABLES[table];
  if (cells.length !== columns.length) return;
  const row = Object.fromEntries(columns.map((column, at) => [column, cells[at]])) as unknown as Rows[T];
  if (!isWhole(table, row)) return;
  const rows: Map<string, Rows[T]> = found[table];
  rows.set(unique.map((column) => row[column]).join('\0'), row);
}

/** The ranges all of whose hits are there, merged where they overlap: copies of different ages are among them. */
function believable(done: Found['done'], hits: Found['hits']): { done: Rows['done'][]; dropped: number } {
  const indices = new Map<string, bigint[]>();
  for (const { job, at } of hits.values()) indices.set(job, [...(indices.get(job) ?? []), indexOf(at)]);
  for (const list of indices.values()) list.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const covered = new Map<string, Intervals>();
  const refused: Rows['done'][] = [];
  for (const row of done.values()) {
    const [first, past] = [indexOf(row.first), indexOf(row.past)];
    if (countWithin(indices.get(row.job) ?? [], first, past) < row.hits) refused.push(row);
    else covered.set(row.job, (covered.get(row.job) ?? Intervals.none).add(between(first, past)));
  }
  const rows = [...covered].flatMap(([job, ranges]) =>
    [...ranges].map(({ start, length }) => {
      const past = start + length;
      return doneRow(job, start, past, countWithin(indices.get(job) ?? [], start, past));
    }),
  );
  const lost = refused.filter(
    ({ job, first, past }) =>
      !(covered.get(job) ?? Intervals.none).has(between(indexOf(first), greatest(indexOf(past), indexOf(first)))),
  );
  return { done: rows, dropped: lost.length };
}

/** How many of the ascending indices lie in the range. */
export function countWithin(indices: readonly bigint[], first: bigint, past: bigint): number {
  return below(indices, past) - below(indices, first);
}

function below(indices: readonly bigint[], bound: bigint): number {
  let low = 0;
  let high = indices.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((indices[middle] ?? bound) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

export const hitIndices = (rows: Iterable<HitRow>): bigint[] =>
  [...rows].map(({ at }) => indexOf(at)).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));

function readOrNothing(path: string): Uint8Array {
  return existsSync(path) ? readFileSync(path) : new Uint8Array();
}

/** A renamed file is there after a power loss only if its folder was written, too. Windows has no such call. */
function syncFolder(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
