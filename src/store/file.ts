import { closeSync, existsSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { MillraceError } from '../kernel/error.js';
import { Connection, Damaged, onDisk, Unavailable } from './connection.js';
import { allJobs } from './jobs.js';
import { Lock } from './lock.js';
import { PAGE_BYTES } from './pages.js';
import { readProgress } from './progress.js';
import { newestLedger, salvage } from './salvage.js';
import { migrate } from './schema.js';

/**
 * The ledger's file, opened, checked and, where it is damaged, made anew from what it still holds. Every process that
 * uses it shares a lock; one that has it alone may check the whole of it and repair it.
 */
export class LedgerFile {
  readonly directory: string;
  readonly name: string;
  readonly connection: Connection;
  /** What people should know: damage, and what became of it. */
  readonly notices: readonly string[];
  /** Whether nobody else had it open when it was opened. */
  readonly wasAlone: boolean;
  readonly #lock: Lock;
  readonly #witness: number;

  private constructor(opened: Opened, lock: Lock) {
    this.directory = opened.directory;
    this.name = opened.name;
    this.connection = opened.connection;
    this.notices = opened.notices;
    this.wasAlone = opened.isAlone;
    this.#lock = lock;
    this.#witness = openWitness(opened.directory);
  }

  /** `repair`: something was found to be wrong that opening does not see. `alone`: what to do while nobody else is here. */
  static open(directory: string, alone: (connection: Connection) => void, repair?: Damaged): LedgerFile {
    onDisk(directory, () => mkdirSync(directory, { recursive: true, mode: 0o700 }));
    const sole = Lock.take(directory, STORE, 'exclusive');
    if (!sole) return LedgerFile.#openBeside(directory, repair);
    let opened: Opened;
    try {
      opened = openAlone(directory, repair);
      alone(opened.connection);
    } finally {
      sole.release();
    }
    const lock = Lock.take(directory, STORE, 'shared', REPAIR_MS);
    // Between the two locks somebody else may have had it alone.
    if (lock && newestLedger(directory) === opened.name) return new LedgerFile(opened, lock);
    lock?.release();
    opened.connection.close();
    return LedgerFile.open(directory, alone);
  }

  /** Whoever was here first has checked it. */
  static #openBeside(directory: string, repair: Damaged | undefined): LedgerFile {
    const lock = Lock.take(directory, STORE, 'shared', REPAIR_MS);
    const name = newestLedger(directory);
    const path = join(directory, name);
    if (!lock) throw new Unavailable(`${path} is being repaired by another process`, 'wait for it', undefined);
    try {
      if (repair) throw repair;
      const connection = connect(path);
      migrate(connection);
      return new LedgerFile({ directory, name, connection, notices: [], isAlone: false }, lock);
    } catch (error) {
      lock.release();
      throw error instanceof Damaged ? damagedInUse(path, error) : error;
    }
  }

  /** One transaction: durable when it returns, and known to have happened. */
  commit<T>(action: () => T): T {
    let count = 0;
    const result = this.connection.transact(() => {
      const made = action();
      count = Number(this.connection.get('UPDATE commits SET n = n + 1 RETURNING CAST(n AS INTEGER) AS n')?.n ?? 0);
      return made;
    });
    this.#note(count);
    return result;
  }

  #note(count: number): void {
    try {
      writeSync(this.#witness, String(count).padStart(COUNT_DIGITS), 0);
    } catch {
      // A full disk: the commit has happened, and a witness that is behind only sees less.
    }
  }

  close(): void {
    try {
      // Tidy for those who copy the file; refused where others are reading, which does no harm.
      this.connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } finally {
      this.connection.close();
      closeSync(this.#witness);
      this.#lock.release();
    }
  }
}

const STORE = 'store';
/** A repair reads the file once and writes it once. */
const REPAIR_MS = 60_000;
/** How long a write waits for those of other processes: each takes some milliseconds. */
const BUSY_MS = 5000;

interface Opened {
  readonly directory: string;
  readonly name: string;
  readonly connection: Connection;
  readonly notices: string[];
  readonly isAlone: boolean;
}

function openAlone(directory: string, repair: Damaged | undefined): Opened {
  const name = newestLedger(directory);
  const path = join(directory, name);
  const isNew = !existsSync(path);
  // Read before SQLite opens it: it drops what is not whole, and says nothing.
  const log = existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`) : undefined;
  try {
    if (repair) throw repair;
    const connection = connect(path);
    migrate(connection);
    check(connection);
    const lost = isNew ? 0 : seen(directory) - commitsIn(connection);
    if (lost > 0) {
      connection.close();
      throw new Damaged(`the last ${lost} of its writes are missing`);
    }
    const notices = isNew && seen(directory) > 0 ? [`${path} was here and is gone: a new one is begun`] : [];
    if (isNew) forget(directory);
    return { directory, name, connection, notices, isAlone: true };
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    const { file, jobs, hits, ranges, dropped } = salvage(directory, name, log);
    forget(directory);
    const connection = connect(join(directory, file));
    const kept = `${jobs} jobs, ${hits} hits and ${ranges} ranges were kept in ${file}`;
    const again = `${dropped > 0 ? `${dropped} ranges with missing hits, and ` : ''}whatever else it had is scanned again`;
    const notice = `the ledger ${path} is damaged (${error.message}): ${kept}; ${again}`;
    return { directory, name: file, connection, notices: [notice], isAlone: true };
  }
}

function connect(path: string): Connection {
  const connection = new Connection(path, BUSY_MS);
  // FULL: each commit waits until the disk has the log. NORMAL would lose acknowledged hits with the power.
  connection.exec(
    `PRAGMA page_size = ${PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON`,
  );
  return connection;
}

/** Throws `Damaged` where the file's own structure, or a row of it, is broken. */
function check(connection: Connection): void {
  // The full check compares indices with tables as well, and rows with their marks: 0.1 s at this size. Beyond it, rows
  // are checked by those who read them.
  const isSmall = statSync(connection.path).size < 4 * 2 ** 20;
  const pragma = isSmall ? 'integrity_check' : 'quick_check';
  try {
    const told = connection.get(`SELECT CAST(${pragma} AS BLOB) AS verdict FROM pragma_${pragma}(1)`);
    const verdict = String(told?.verdict ?? '');
    if (verdict !== 'ok') throw new Damaged(verdict.replaceAll('\n', ' '));
    if (!isSmall) return;
    allJobs(connection);
    const jobs = connection.all('SELECT CAST(job AS BLOB) AS job FROM done UNION SELECT CAST(job AS BLOB) FROM hits');
    for (const { job } of jobs) readProgress(connection, String(job));
  } catch (error) {
    connection.close();
    throw error;
  }
}

const commitsIn = (connection: Connection): number =>
  Number(connection.get('SELECT CAST(n AS INTEGER) AS n FROM commits')?.n ?? 0);

/**
 * The number of the last commit that was acknowledged, in a file of its own that is written after each and never made
 * durable: after a crash it may be behind the ledger, ahead of it only if the ledger has lost something. SQLite takes
 * a log that was cut short for one whose writer died, and would say nothing.
 */
const WITNESS = 'ledger.seen';
const COUNT_DIGITS = 20;

function openWitness(directory: string): number {
  const path = join(directory, WITNESS);
  return onDisk(path, () => openSync(path, existsSync(path) ? 'r+' : 'w+', 0o600));
}

function seen(directory: string): number {
  const path = join(directory, WITNESS);
  const count = existsSync(path) ? Number(readFileSync(path, 'latin1').trim()) : 0;
  return Number.isSafeInteger(count) ? count : 0;
}

function forget(directory: string): void {
  const path = join(directory, WITNESS);
  onDisk(path, () => closeSync(openSync(path, 'w', 0o600)));
}

function damagedInUse(path: string, damage: Damaged): MillraceError {
  return new MillraceError({
    code: 'io',
    message: `${path} is damaged (${damage.message}), and another process is using it`,
    asked: 'the ledger',
    advice: 'end the others (`millrace jobs list` shows them), then run this again: what is whole will be kept',
    cause: damage,
  });
}
