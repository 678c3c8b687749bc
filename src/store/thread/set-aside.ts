import { closeSync, existsSync, fsyncSync, openSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { translateFileErrors } from './connection.js';

/**
 * Returns the name of the ledger in use: the one with the highest number. Version 0.1.0 left a damaged ledger in place
 * and continued in one with a higher number.
 */
export function newestLedger(directory: string): string {
  return ledgersIn(directory).at(-1) ?? LEDGER;
}

/**
 * True if a directory does not exist, or has no ledger and no trace of one: `ledger.seen` of a ledger that was removed, or
 * a damaged one.
 */
export function hasNoLedger(directory: string): boolean {
  try {
    return !readdirSync(directory).some((name) => name.startsWith('ledger'));
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT'; // any other fault is reported when the ledger is opened
  }
}

/**
 * Renames a damaged ledger and its logs to `ledger-damaged-N.db`, and returns the path. The caller holds the directory's
 * exclusive lock. The ledger may still be open in this process: SQLite leaves the logs of a renamed file alone when it
 * closes it, while closing it first would write its log into it.
 */
export function setAside(directory: string): string {
  return translateFileErrors(directory, () => {
    let kept = '';
    // The newest is last: a process that dies in between leaves the newest in use, never an older one.
    for (const name of ledgersIn(directory)) kept = move(directory, name, FILE_SUFFIXES);
    syncFolder(directory);
    return kept;
  });
}

/**
 * Sets aside logs without a ledger, which remain if a process died while setting the ledger aside or the ledger was
 * removed by hand. SQLite would delete them when a new ledger is created.
 */
export function setLogsAside(directory: string, name: string): void {
  if (LOG_SUFFIXES.some((log) => existsSync(join(directory, name + log))))
    translateFileErrors(directory, () => move(directory, name, LOG_SUFFIXES));
}

/** Returns the names of the ledgers that were set aside. */
export const damagedLedgers = (directory: string): string[] =>
  readdirSync(directory).filter((name) => /^ledger-damaged-\d+\.db$/.test(name));

const LEDGER = 'ledger.db';
const LOG_SUFFIXES = ['-wal', '-shm'];
const FILE_SUFFIXES = ['', ...LOG_SUFFIXES];

/** Sorted by number, ascending. */
function ledgersIn(directory: string): string[] {
  const names = existsSync(directory) ? readdirSync(directory).filter((name) => /^ledger(-\d+)?\.db$/.test(name)) : [];
  const numberOf = (name: string): number => Number(/-(\d+)\.db$/.exec(name)?.[1] ?? 1);
  return names.sort((a, b) => numberOf(a) - numberOf(b));
}

function move(directory: string, name: string, parts: readonly string[]): string {
  const from = join(directory, name);
  const to = freePath(directory);
  for (const part of parts) if (existsSync(from + part)) renameSync(from + part, to + part);
  return to;
}

function freePath(directory: string): string {
  for (let number = 1; ; number++) {
    const path = join(directory, `ledger-damaged-${number}.db`);
    if (!FILE_SUFFIXES.some((part) => existsSync(path + part))) return path;
  }
}

/** Syncs a folder: a rename survives a power loss only if the folder is on disk, too. Windows cannot sync a folder. */
function syncFolder(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
