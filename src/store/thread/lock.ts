import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, LedgerUnavailableError } from './connection.js';
import { createPrivateFolder } from './folder.js';

/**
 * A lock between processes that is released when its holder dies. Node has no file locks, SQLite has: an exclusive
 * transaction on an empty database holds the operating system's lock on that file for as long as it is open, and the
 * system releases it when the process ends, `kill -9` included. So no stale locks have to be detected, and a process id
 * cannot be mistaken for another's. The file stays empty. Only SQLite may open it: closing any descriptor of a file drops
 * a process's locks on it.
 */
export class Lock {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Returns undefined if a conflicting holder, in this process or another, keeps the lock for longer than `waitMs`. */
  static take(directory: string, name: string, kind: 'shared' | 'exclusive', waitMs = 0): Lock | undefined {
    const folder = join(directory, LOCKS);
    createPrivateFolder(folder);
    const connection = new Connection(join(folder, name), waitMs);
    try {
      // A shared lock is a read transaction, which begins with the first read.
      connection.exec(kind === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT count(*) FROM sqlite_schema');
      return new Lock(connection);
    } catch (error) {
      connection.close();
      if (error instanceof LedgerUnavailableError) return undefined;
      throw error;
    }
  }

  /**
   * Takes a lock that is only ever held exclusively. Returns undefined at once if another holder has claimed it. Probes
   * (`isClaimed`) share the lock for some microseconds; a claim waits for them.
   */
  static claim(directory: string, name: string): Lock | undefined {
    const end = performance.now() + PROBES_MS;
    do {
      if (Lock.isClaimed(directory, name)) return undefined;
      // SQLite admits no new probe while this waits.
      const lock = Lock.take(directory, name, 'exclusive', ATTEMPT_MS);
      if (lock) return lock;
    } while (performance.now() < end);
    return undefined;
  }

  /** True if a holder has claimed the lock. Any number of probes run at the same time without seeing each other. */
  static isClaimed(directory: string, name: string): boolean {
    if (!existsSync(join(directory, LOCKS, name))) return false;
    const probe = Lock.take(directory, name, 'shared');
    probe?.release();
    return probe === undefined;
  }

  release(): void {
    try {
      this.#connection.exec('ROLLBACK');
    } finally {
      this.#connection.close();
    }
  }
}

export const LOCKS = 'locks';

/** Time for one attempt of a claim; between attempts it checks whether another claim has succeeded. */
const ATTEMPT_MS = 50;
/** A process that is stopped in the middle of a probe delays claims for this long. */
const PROBES_MS = 5000;
