import { checksumOf, indexText } from '../encoding.js';

/** Rows of the ledger as they are written, and the checks of rows that were read. */

export interface JobRow {
  readonly id: string;
  readonly key: string;
  readonly generation: number;
  readonly name: string;
  readonly command: string;
  /** Encoded by `encode`. */
  readonly params: string;
  readonly first: string;
  readonly past: string;
  readonly made_ms: number;
  readonly mark: string;
  readonly state: string;
  readonly priority: number;
  readonly elapsed_ms: number;
  readonly active_ms: number;
  readonly call: string;
  readonly devices: string;
  readonly owner: string | null;
  readonly request: string | null;
  readonly reason: string | null;
}

export interface DoneRow {
  readonly job: string;
  readonly first: string;
  readonly past: string;
  /** The number of hits in the range. The range is rejected if some of them are missing. */
  readonly hits: number;
  readonly mark: string;
}

export interface HitRow {
  readonly job: string;
  readonly at: string;
  /** Numbers the hits of one index. */
  readonly nth: number;
  readonly fields: string;
  readonly found_ms: number;
  readonly mark: string;
  /** 1 if the command of `--on-hit` has run for this hit. */
  readonly told: number;
}

export interface TuningRow {
  readonly kernel: string;
  readonly device: string;
  readonly driver: string;
  readonly candidates: string;
  readonly timings: string;
  readonly made_ms: number;
  readonly mark: string;
}

export interface Rows {
  readonly jobs: JobRow;
  readonly done: DoneRow;
  readonly hits: HitRow;
  readonly tuning: TuningRow;
}
export type TableName = keyof Rows;

/** Columns in the order of the file, and those that the checksum covers. */
const TABLES: { readonly [T in TableName]: Table<Rows[T]> } = {
  jobs: {
    columns: [
      ...(['id', 'key', 'generation', 'name', 'command', 'params', 'first', 'past', 'made_ms', 'mark'] as const),
      ...(['state', 'priority', 'elapsed_ms', 'active_ms', 'call', 'devices', 'owner', 'request', 'reason'] as const),
    ],
    checksumColumns: ['id', 'key', 'generation', 'name', 'command', 'params', 'first', 'past', 'made_ms'],
  },
  done: {
    columns: ['job', 'first', 'past', 'hits', 'mark'],
    checksumColumns: ['job', 'first', 'past', 'hits'],
  },
  hits: {
    columns: ['job', 'at', 'nth', 'fields', 'found_ms', 'mark', 'told'],
    checksumColumns: ['job', 'at', 'nth', 'fields', 'found_ms'],
  },
  tuning: {
    columns: ['kernel', 'device', 'driver', 'candidates', 'timings', 'made_ms', 'mark'],
    checksumColumns: ['kernel', 'device', 'driver', 'candidates', 'timings', 'made_ms'],
  },
};

export interface Table<R> {
  readonly columns: readonly (keyof R & string)[];
  readonly checksumColumns: readonly (keyof R & string)[];
}

/** Returns the row with its checksum. */
export function withChecksum<T extends TableName>(table: T, row: Omit<Rows[T], 'mark'>): Rows[T] {
  return { ...row, mark: checksumFor(table, row as Rows[T]) } as Rows[T];
}

/** True if a row matches its checksum. */
export const isIntact = <T extends TableName>(table: T, row: Rows[T]): boolean => row.mark === checksumFor(table, row);

function checksumFor<T extends TableName>(table: T, row: Rows[T]): string {
  const { checksumColumns: columns } = TABLES[table];
  return checksumOf(
    table,
    columns.map((column) => row[column] as string | number),
  );
}

/** Columns that hold numbers. */
const NUMBER_COLUMNS = new Set([
  ...['generation', 'made_ms', 'priority', 'elapsed_ms', 'active_ms', 'hits', 'nth', 'found_ms', 'told'],
]);

/**
 * `SELECT` of all columns. Text is read as bytes and numbers are cast to integers, because the library ends the process
 * on text that is not UTF-8, which a damaged file may contain. Column names come from this program, not from the file.
 */
export function selectSql(table: TableName, rest: string): string {
  const columns: readonly string[] = TABLES[table].columns;
  const read = columns.map(
    (column) => `CAST(${column} AS ${NUMBER_COLUMNS.has(column) ? 'INTEGER' : 'BLOB'}) AS ${column}`,
  );
  return `SELECT ${read.join(', ')} FROM ${table} ${rest}`;
}

/** `INSERT` of all columns, in table order. */
export function insertSql(table: TableName): string {
  const { columns } = TABLES[table];
  return `INSERT OR IGNORE INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`;
}

export function valuesOf<T extends TableName>(table: T, row: Rows[T]): (string | number | null)[] {
  return TABLES[table].columns.map((column) => row[column] as string | number | null);
}

export function doneRow(job: string, first: bigint, end: bigint, hits: number): DoneRow {
  return withChecksum('done', { job, first: indexText(first), past: indexText(end), hits });
}
