import { createRequire } from 'node:module';
import type Database from 'libsql';
import { whyNotInstalled } from '../../device/packages.js';
import { MillraceError } from '../../kernel/error.js';

/** A row as SQLite returns it. */
export type Row = Readonly<Record<string, string | number | null>>;
type SqlValue = string | number | null;

/**
 * A connection to a SQLite file, with errors translated. Every method blocks, for milliseconds when a disk sync is
 * needed, so it runs in the store's thread (worker.ts).
 */
export class Connection {
  readonly path: string;
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Statement>();

  /** `busyMs` is how long to wait for another process that is writing. */
  constructor(path: string, busyMs: number) {
    this.path = path;
    this.#database = translateSqlErrors(path, () => new (loadLibrary())(path, { timeout: busyMs }));
  }

  exec(sql: string): void {
    translateSqlErrors(this.path, () => this.#database.exec(sql));
  }

  run(sql: string, ...values: SqlValue[]): number {
    return translateSqlErrors(this.path, () => this.#prepared(sql).run(...values).changes);
  }

  get(sql: string, ...values: SqlValue[]): Row | undefined {
    const row = translateSqlErrors(this.path, () => this.#prepared(sql).get(...values));
    return row === undefined ? undefined : decodeRow(row);
  }

  all(sql: string, ...values: SqlValue[]): Row[] {
    return translateSqlErrors(this.path, () => this.#prepared(sql).all(...values)).map(decodeRow);
  }

  /** Runs an action as one atomic transaction, durable on return. */
  transact<T>(action: () => T): T {
    this.exec('BEGIN IMMEDIATE');
    try {
      const result = action();
      this.exec('COMMIT');
      return result;
    } catch (error) {
      // On a full disk SQLite rolls back by itself.
      if (this.#database.inTransaction) this.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  #prepared(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql) as unknown as Statement;
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

interface Statement {
  run(...values: SqlValue[]): { readonly changes: number };
  get(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

/**
 * Text is read as bytes (`selectSql`, rows.ts): a Buffer from `get`, an ArrayBuffer from `all`. Bytes that are not UTF-8
 * become text that matches no checksum.
 */
function decodeRow(row: unknown): Row {
  const cells = Object.entries(row as object).filter(([name]) => name !== '_metadata');
  const text = ([name, cell]: [string, unknown]) => [name, isBytes(cell) ? UTF8.decode(cell) : cell];
  return Object.fromEntries(cells.map(text)) as Row;
}

const isBytes = (cell: unknown): cell is Uint8Array | ArrayBuffer => typeof cell === 'object' && cell !== null;

const UTF8 = new TextDecoder();

/** The file's content is not what was written. */
export class LedgerDamagedError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'Damaged';
  }
}

/** SQLite rejected a statement for a reason that no other class covers. */
export class SqlError extends MillraceError {
  readonly reason: string;

  constructor(path: string, reason: string, cause: unknown) {
    super({ code: 'io', message: `${path}: ${reason}`, asked: 'the ledger', cause });
    this.reason = reason;
  }
}

/** Another process is writing, or the disk is full: a retry may succeed. */
export class LedgerUnavailableError extends Error {
  /** Advice for the user. */
  readonly advice: string;

  constructor(message: string, advice: string, cause: unknown) {
    super(message, { cause });
    this.name = 'Unavailable';
    this.advice = advice;
  }
}

function translateSqlErrors<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw translatedError(path, error);
  }
}

function translatedError(path: string, error: unknown): unknown {
  const { code = '', message } = error as { code?: string; message: string };
  if (!code.startsWith('SQLITE_')) return error;
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return new LedgerDamagedError(message, error);
  if (/^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(code)) {
    return new LedgerUnavailableError(
      `${path} is in use by another process`,
      'wait for it, or see `millrace jobs list`',
      error,
    );
  }
  if (/^SQLITE_(FULL|IOERR|NOMEM)/.test(code)) {
    return new LedgerUnavailableError(`cannot write ${path}: ${message}`, FULL_DISK_ADVICE, error);
  }
  if (/^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(code)) return unwritableError(path, message, error);
  return new SqlError(path, `${message} (${code})`, error);
}

/** Runs an action of `node:fs` on a path and translates its errors. */
export function translateFileErrors<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (/^(ENOSPC|EDQUOT|EIO)$/.test(code))
      throw new LedgerUnavailableError(`cannot write ${path}: ${message}`, FULL_DISK_ADVICE, error);
    throw code === '' ? error : unwritableError(path, message, error);
  }
}

const FULL_DISK_ADVICE = 'free some space on that disk';

const unwritableError = (path: string, reason: string, cause: unknown): MillraceError =>
  new MillraceError({
    code: 'io',
    message: `cannot write ${path}: ${reason}`,
    asked: 'the ledger, which stores progress and hits',
    advice: 'give --data-dir a writable folder, or use --no-ledger to store nothing',
    cause,
  });

/** Loaded only in the thread that uses it: 10 MB of native code. */
function loadLibrary(): typeof Database {
  if (whyNotInstalled('libsql') === undefined) return createRequire(import.meta.url)('libsql') as typeof Database;
  throw new MillraceError({
    code: 'io',
    message: 'the package libsql is not installed',
    asked: 'the ledger, which stores progress and hits',
    advice: 'npm install libsql, or use --no-ledger to store nothing',
  });
}
