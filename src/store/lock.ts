import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, onDisk, Unavailable } from './connection.js';

/**
 * Locks between processes that die with their holder. Node has no file locks of its own, SQLite has: an exclusive
 * transaction on an empty database holds the operating system's lock on that file for as long as it is open, and the
 * system lets go of it when the process ends, `kill -9` included. So there is nothing stale to detect, and no process id
 * to mistake for another's. The file stays empty; nobody but SQLite may open it (closing any descriptor of a file drops
 * a process's locks on it).
 */
export class Lock {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Undefined where somebody else, in this process or another, has it in a way that excludes this one. */
  static take(directory: string, name: string, kind: 'shared' | 'exclusive', waitMs = 0): Lock | undefined {
    const folder = join(directory, LOCKS);
    onDisk(folder, () => mkdirSync(folder, { recursive: true, mode: 0o700 }));
    const connection = new Connection(join(folder, name), waitMs);
    try {
      // A shared one is a read transaction: it begins with the first read.
      connection.exec(kind === 'exclusive' ? 'BEGIN EXCLUSIVE' : 'BEGIN; SELECT count(*) FROM sqlite_schema');
      return new Lock(connection);
    } catch (error) {
      connection.close();
      if (error instanceof Unavailable) return undefined;
      throw error;
    }
  }

  release(): void {
    this.#connection.exec('ROLLBACK');
    this.#connection.close();
  }
}

export const LOCKS = 'locks';
