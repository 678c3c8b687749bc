import { MillraceError } from '../../kernel/error.js';
import { Connection, LedgerDamagedError } from './connection.js';

/**
 * The ledger's tables, as steps from one version to the next. A released step is never changed: files of every version
 * exist. Each step changes the tables, which distinguishes a newer format from a damaged version number.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE jobs (
    -- what never changes, and is marked
    id TEXT NOT NULL, key TEXT NOT NULL, generation INTEGER NOT NULL, name TEXT NOT NULL, command TEXT NOT NULL,
    params TEXT NOT NULL, first TEXT NOT NULL, past TEXT NOT NULL, made_ms INTEGER NOT NULL, mark TEXT NOT NULL,
    -- what does
    state TEXT NOT NULL, priority INTEGER NOT NULL DEFAULT 0, elapsed_ms INTEGER NOT NULL DEFAULT 0,
    active_ms INTEGER NOT NULL, call TEXT NOT NULL DEFAULT '{}', devices TEXT NOT NULL DEFAULT '[]',
    owner TEXT, request TEXT, reason TEXT
  ) STRICT;
  CREATE UNIQUE INDEX jobs_by_id ON jobs (id);
  CREATE INDEX jobs_by_key ON jobs (key);
  CREATE TABLE done (
    job TEXT NOT NULL, first TEXT NOT NULL, past TEXT NOT NULL, hits INTEGER NOT NULL, mark TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX done_by_first ON done (job, first);
  CREATE TABLE hits (
    job TEXT NOT NULL, at TEXT NOT NULL, nth INTEGER NOT NULL, fields TEXT NOT NULL, found_ms INTEGER NOT NULL,
    mark TEXT NOT NULL, told INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE UNIQUE INDEX hits_by_index ON hits (job, at, nth);
  CREATE TABLE tuning (
    kernel TEXT NOT NULL, device TEXT NOT NULL, driver TEXT NOT NULL, candidates TEXT NOT NULL, timings TEXT NOT NULL,
    made_ms INTEGER NOT NULL, mark TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX tuning_by_key ON tuning (kernel, device, driver, candidates);
  CREATE TABLE commits (n INTEGER NOT NULL) STRICT;
  INSERT INTO commits VALUES (0);
  `,
];

/** `Mill`, which `file` and SQLite's tools show. A database of another program is not written to. */
export const APPLICATION_ID = 0x4d696c6c;

const MAX_VERSIONS = 1000;

/** Migrates a file to the version of this program, in one transaction. Throws `input-format` if that is impossible. */
export function migrate(connection: Connection, steps: readonly string[] = MIGRATIONS): void {
  const { version, application } = versionOf(connection);
  if (version === steps.length && application === APPLICATION_ID) return;
  const isEmpty = connection.get('SELECT 1 AS one FROM sqlite_schema LIMIT 1') === undefined;
  // These numbers are a few bytes of the file's header. If they make no sense beside our tables, they are damaged.
  const isOurs = connection.get("SELECT 1 AS one FROM sqlite_schema WHERE name = 'done_by_first'") !== undefined;
  const isNonsense = application !== APPLICATION_ID || version <= 0 || version > MAX_VERSIONS;
  const isNewerInHeaderOnly = version > steps.length && schemaOf(connection) === schemaAfter(steps);
  if (isOurs && (isNonsense || isNewerInHeaderOnly)) {
    throw new LedgerDamagedError(`its header says format ${version} of program ${application}`);
  }
  if (application !== APPLICATION_ID && !isEmpty) throw foreignFileError(connection.path);
  if (version > steps.length) throw newerFormatError(connection.path, version, steps.length);
  connection.transact(() => {
    // Another process may have migrated the file while this one waited for the write lock.
    const from = versionOf(connection).version;
    for (const step of steps.slice(from)) connection.exec(step);
    connection.exec(`PRAGMA user_version = ${steps.length}; PRAGMA application_id = ${APPLICATION_ID}`);
  });
}

function versionOf(connection: Connection): { readonly version: number; readonly application: number } {
  const version = Number(connection.get('PRAGMA user_version')?.user_version ?? 0);
  return { version, application: Number(connection.get('PRAGMA application_id')?.application_id ?? 0) };
}

/** Returns the tables and indices of a file, as SQL. */
function schemaOf(connection: Connection): string {
  const rows = connection.all('SELECT CAST(sql AS BLOB) AS sql FROM sqlite_schema ORDER BY name');
  return rows.map(({ sql }) => sql).join('\n');
}

function schemaAfter(steps: readonly string[]): string {
  const empty = new Connection(':memory:', 0);
  try {
    for (const step of steps) empty.exec(step);
    return schemaOf(empty);
  } finally {
    empty.close();
  }
}

const foreignFileError = (path: string): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `${path} is the database of another program`,
    asked: 'the ledger',
    advice: 'give --data-dir another folder',
  });

const newerFormatError = (path: string, version: number, known: number): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `${path} has format ${version}; this version of Millrace reads formats up to ${known}`,
    asked: 'the ledger',
    advice: 'use the newer Millrace that wrote it, or give --data-dir another folder',
  });
