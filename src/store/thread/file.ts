import { closeSync, existsSync, openSync, readFileSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { MillraceError } from '../../kernel/error.js';
import { Connection, LedgerDamagedError, LedgerUnavailableError, SqlError, translateFileErrors } from './connection.js';
import { createPrivateFolder } from './folder.js';
import { allJobs } from './jobs.js';
import { Lock } from './lock.js';
import { readProgress } from './progress.js';
import { migrate } from './schema.js';
import { damagedLedgers, newestLedger, setAside, setLogsAside } from './set-aside.js';
import { checkTunings } from './tuning.js';

/**
 * The ledger's file. A damaged file is set aside and a new one is created; nothing is read from the damaged one. Every
 * process that uses the ledger holds a shared lock. Only a process that holds the lock exclusively checks the file or
 * sets it aside.
 */
export class LedgerFile {
  readonly directory: string;
  readonly connection: Connection;
  /** Messages for the user: damage, and what was done about it. */
  readonly notices: readonly string[];
  readonly #inode: bigint;
  readonly #lock: Lock;
  readonly #commitCountFile: number;
  #isOpen = true;

  private constructor({ directory, connection, notices, inode }: OpenedFile, lock: Lock) {
    this.#commitCountFile = openCommitCount(directory);
    this.directory = directory;
    this.connection = connection;
    this.notices = notices;
    this.#inode = inode;
    this.#lock = lock;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * `maintain` runs while no other process has the ledger open. `damagedFile` is a file in which damage was found after it was
   * opened; it is set aside unless another process has already done so.
   */
  static open(directory: string, maintain: (connection: Connection) => void, damagedFile?: DamagedFile): LedgerFile {
    createPrivateFolder(directory);
    const exclusiveLock = Lock.take(directory, STORE_LOCK, 'exclusive');
    if (!exclusiveLock) return LedgerFile.#openShared(directory, damagedFile);
    let opened: OpenedFile;
    try {
      opened = openExclusive(directory, maintain, damagedFile);
    } finally {
      exclusiveLock.release();
    }
    return LedgerFile.#downgradeLock(opened) ?? LedgerFile.open(directory, maintain);
  }

  /** Returns undefined if another process has held the exclusive lock since and has set the file aside. */
  static #downgradeLock(opened: OpenedFile): LedgerFile | undefined {
    const { directory, inode, connection } = opened;
    let lock: Lock | undefined;
    let file: LedgerFile | undefined;
    try {
      lock = Lock.take(directory, STORE_LOCK, 'shared', MAX_CHECK_MS);
      if (lock && inodeOf(join(directory, newestLedger(directory))) === inode) file = new LedgerFile(opened, lock);
      return file;
    } finally {
      if (!file) {
        connection.close();
        lock?.release();
      }
    }
  }

  /** Opens a ledger that another process has open: that process has checked it. */
  static #openShared(directory: string, suspect: DamagedFile | undefined): LedgerFile {
    const lock = Lock.take(directory, STORE_LOCK, 'shared', MAX_CHECK_MS);
    const path = join(directory, newestLedger(directory));
    if (!lock)
      throw new LedgerUnavailableError(`${path} is being checked by another process`, 'wait for it', undefined);
    let connection: Connection | undefined;
    let file: LedgerFile | undefined;
    try {
      if (suspect && inodeOf(path) === suspect.inode) throw suspect.damage;
      connection = new Connection(path, BUSY_MS);
      configure(connection);
      migrate(connection);
      file = new LedgerFile({ directory, connection, notices: [], inode: connectedInode(connection) }, lock);
      return file;
    } catch (error) {
      throw error instanceof LedgerDamagedError ? damagedInUseError(path, error) : error;
    } finally {
      if (!file) {
        connection?.close();
        lock.release();
      }
    }
  }

  /** Runs one transaction, which is durable on return, and records its number in `ledger.seen`. */
  commit<T>(action: () => T): T {
    let count = 0;
    const result = this.connection.transact(() => {
      const made = action();
      count = Number(this.connection.get('UPDATE commits SET n = n + 1 RETURNING CAST(n AS INTEGER) AS n')?.n ?? 0);
      return made;
    });
    this.#writeCommitCount(String(count));
    return result;
  }

  /** Writes a copy, which is on disk on return. The path must not exist. */
  copyTo(path: string): void {
    this.connection.run('VACUUM INTO ?', path);
  }

  /** Records damage that this process cannot act on now: the next process that has the ledger alone checks all of it. */
  recordDamage(): void {
    this.#writeCommitCount(DAMAGE_MARK);
  }

  #writeCommitCount(text: string): void {
    try {
      writeSync(this.#commitCountFile, text.padStart(COMMIT_COUNT_CHARACTERS), 0);
    } catch {
      // A full disk. The commit has happened; a count that is behind only detects less.
    }
  }

  close(): void {
    if (!this.#isOpen) return;
    try {
      // Leaves one complete file for users who copy it. Refused while other processes read, which does no harm.
      this.connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.#release();
    }
  }

  /** Closes a file in which damage was found. */
  closeDamaged(damage: LedgerDamagedError): DamagedFile {
    if (this.#isOpen) this.#release();
    return { damage, inode: this.#inode };
  }

  #release(): void {
    this.#isOpen = false;
    this.connection.close();
    closeSync(this.#commitCountFile);
    this.#lock.release();
  }
}

/** A file, by its inode, in which damage was found. */
export interface DamagedFile {
  readonly damage: LedgerDamagedError;
  readonly inode: bigint;
}

interface OpenedFile {
  readonly directory: string;
  readonly connection: Connection;
  readonly inode: bigint;
  readonly notices: readonly string[];
}

const STORE_LOCK = 'store';
/** A check reads the file once. */
const MAX_CHECK_MS = 60_000;
/** How long a write waits for writes of other processes: each takes some milliseconds. */
const BUSY_MS = 5000;
const PAGE_BYTES = 4096;
/** Up to this size every row is checked when the ledger is opened, in 0.1 s. Beyond it, a row is checked when it is read. */
const MAX_FULL_CHECK_BYTES = 4 * 2 ** 20;

function openExclusive(
  directory: string,
  maintain: (connection: Connection) => void,
  damagedFile: DamagedFile | undefined,
): OpenedFile {
  const name = newestLedger(directory);
  const path = join(directory, name);
  const commitCount = readCommitCount(directory);
  const inode = inodeOf(path);
  if (inode === undefined || statSync(path).size === 0)
    return createLedger(directory, name, missingNotices(directory, path, commitCount));
  let connection: Connection | undefined;
  let isGood = false;
  try {
    if (damagedFile?.inode === inode) throw damagedFile.damage;
    checkHeader(path);
    connection = new Connection(path, BUSY_MS);
    const notices = checkFile(connection, path, commitCount);
    maintain(connection);
    if (notices.length > 0 || commitCount === undefined) resetCommitCount(directory);
    isGood = true;
    return { directory, connection, inode, notices };
  } catch (error) {
    if (!(error instanceof LedgerDamagedError)) throw error;
    const movedTo = setAside(directory);
    return createLedger(directory, newestLedger(directory), [setAsideNotice(path, error, movedTo)]);
  } finally {
    if (!isGood) connection?.close();
  }
}

/** Throws `LedgerDamagedError` unless the file is sound. Returns notices for the user. */
function checkFile(connection: Connection, path: string, commitCount: number | undefined): string[] {
  try {
    configure(connection);
    migrate(connection);
    checkContents(connection, commitCount === undefined || statSync(path).size < MAX_FULL_CHECK_BYTES);
    const lost = (commitCount ?? 0) - Number(connection.get('SELECT CAST(n AS INTEGER) AS n FROM commits')?.n ?? 0);
    return lost > 0 ? [lostNotice(path, lost)] : [];
  } catch (error) {
    // A sound ledger accepts each of these statements. "unsupported file format" and "no such column" have no specific
    // code.
    throw error instanceof SqlError ? new LedgerDamagedError(error.reason, error) : error;
  }
}

/** Creates a new ledger. */
function createLedger(directory: string, name: string, notices: readonly string[]): OpenedFile {
  setLogsAside(directory, name);
  const connection = new Connection(join(directory, name), BUSY_MS);
  try {
    configure(connection);
    migrate(connection);
    resetCommitCount(directory);
    return { directory, connection, inode: connectedInode(connection), notices };
  } catch (error) {
    connection.close();
    throw error;
  }
}

function configure(connection: Connection): void {
  // FULL: each commit waits until the log is on disk. NORMAL would lose acknowledged hits in a power failure.
  connection.exec(
    `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON`,
  );
}

/**
 * Throws `LedgerDamagedError` if the header has a later write format: SQLite would open the file read-only and fail at the first
 * write.
 */
function checkHeader(path: string): void {
  // Runs before SQLite opens the file: closing a descriptor drops all locks that the process has on the file.
  const file = translateFileErrors(path, () => openSync(path, 'r'));
  try {
    const version = Buffer.alloc(1);
    readSync(file, version, 0, 1, WRITE_VERSION_AT);
    if ((version[0] ?? 0) > WAL_VERSION) throw new LedgerDamagedError(`its header says format ${version[0]} of SQLite`);
  } finally {
    closeSync(file);
  }
}

const WRITE_VERSION_AT = 18;
const WAL_VERSION = 2;

/** Throws `LedgerDamagedError` if the file's structure is broken or a row does not match its checksum. */
function checkContents(connection: Connection, isThorough: boolean): void {
  // The full check compares indices with tables as well.
  const pragma = isThorough ? 'integrity_check' : 'quick_check';
  const row = connection.get(`SELECT CAST(${pragma} AS BLOB) AS verdict FROM pragma_${pragma}(1)`);
  const verdict = String(row?.verdict ?? '');
  if (verdict !== 'ok') throw new LedgerDamagedError(verdict);
  if (!isThorough) return;
  allJobs(connection);
  const jobs = connection.all('SELECT CAST(job AS BLOB) AS job FROM done UNION SELECT CAST(job AS BLOB) FROM hits');
  for (const { job } of jobs) readProgress(connection, String(job));
  checkTunings(connection);
}

/** Identifies a file: a renamed file keeps its inode. Undefined if the file does not exist. */
const inodeOf = (path: string): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;

function connectedInode({ path }: Connection): bigint {
  const inode = inodeOf(path);
  if (inode !== undefined) return inode;
  throw new LedgerUnavailableError(`${path} was removed while it was opened`, 'run the command again', undefined);
}

/**
 * The file that holds the number of the last acknowledged commit. It is written after each commit and never synced: after
 * a crash it may be behind the ledger, and is ahead of it only if the ledger has lost commits. SQLite takes a log that
 * was cut short for one whose writer died, and would report nothing.
 */
const COMMIT_COUNT_FILE = 'ledger.seen';
const COMMIT_COUNT_CHARACTERS = 20;
const DAMAGE_MARK = 'suspect';

function openCommitCount(directory: string): number {
  const path = join(directory, COMMIT_COUNT_FILE);
  return translateFileErrors(path, () => openSync(path, existsSync(path) ? 'r+' : 'w+', 0o600));
}

/** Undefined if damage is recorded, or if the count cannot be read. */
function readCommitCount(directory: string): number | undefined {
  const path = join(directory, COMMIT_COUNT_FILE);
  const count = existsSync(path) ? Number(translateFileErrors(path, () => readFileSync(path, 'latin1')).trim()) : 0;
  return Number.isSafeInteger(count) ? count : undefined;
}

function resetCommitCount(directory: string): void {
  const path = join(directory, COMMIT_COUNT_FILE);
  translateFileErrors(path, () => closeSync(openSync(path, 'w', 0o600)));
}

const setAsideNotice = (path: string, { message }: LedgerDamagedError, movedTo: string): string =>
  `the ledger ${path} is damaged (${printable(message)}). It was set aside as ${movedTo}, and a new one was created: ` +
  'its jobs restart from the beginning, its hits are only in the old file. ' +
  `\`sqlite3 ${movedTo} .recover\` may read them`;

const lostNotice = (path: string, lost: number): string =>
  `the last ${lost} writes to the ledger ${path} are missing: its log was cut short. Their work is repeated`;

function missingNotices(directory: string, path: string, commitCount: number | undefined): string[] {
  if (commitCount === 0) return [];
  const kept = damagedLedgers(directory);
  const aside = kept.length > 0 ? ` (damaged ledgers that were set aside: ${kept.join(', ')})` : '';
  return [`the ledger ${path} is missing: a new one was created${aside}`];
}

/** Reasons quote names from the file, which may contain any bytes. */
const printable = (text: string): string => text.replace(/[^ -~]+/g, ' ').slice(0, 200);

function damagedInUseError(path: string, damage: LedgerDamagedError): MillraceError {
  return new MillraceError({
    code: 'io',
    message: `${path} is damaged (${printable(damage.message)}), and another process is using it`,
    asked: 'the ledger',
    advice:
      'end the other processes (`millrace jobs list` shows them), then run this again: it sets the damaged ledger aside',
    cause: damage,
  });
}
