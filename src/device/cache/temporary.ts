import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasFileLocks, lockFile } from '../native/libc.js';

/** A file under a temporary name until it is complete and renamed to its target. */
export interface TemporaryFile {
  readonly path: string;
  readonly file: FileHandle;
  /** Syncs the file to disk and renames it to the target. Readers see the old file or the complete new one. */
  commit(): Promise<void>;
  discard(): Promise<void>;
}

/**
 * Creates a temporary file beside `target`. It is locked while this process has it open, so the next call for the same
 * target can tell which files belong to dead processes, and removes those.
 */
export async function temporaryFile(target: string): Promise<TemporaryFile> {
  const nextName = temporaryNames(target);
  for (;;) {
    const path = nextName();
    const file = await open(path, 'wx');
    if (!lockCreated(path, file.fd)) {
      await file.close();
      continue;
    }
    removedAtExit.add(path);
    return {
      path,
      file,
      commit: async () => {
        await file.sync();
        await rename(path, target);
        removedAtExit.delete(path);
        await file.close();
      },
      discard: async () => {
        await rm(path, { force: true });
        removedAtExit.delete(path);
        await file.close();
      },
    };
  }
}

/** Replaces a small file atomically, readable by its owner only. */
export function replaceFileSync(target: string, text: string): void {
  const nextName = temporaryNames(target);
  for (;;) {
    const path = nextName();
    const file = openSync(path, 'wx', 0o600);
    try {
      if (!lockCreated(path, file)) continue;
      writeSync(file, text);
      renameSync(path, target);
      return;
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    } finally {
      closeSync(file);
    }
  }
}

/** Removes the target's temporary files left by dead processes. The returned function gives a new name on each call. */
function temporaryNames(target: string): () => string {
  const folder = dirname(target);
  const prefix = `.${basename(target).slice(0, MAX_NAME_LENGTH)}.`;
  removeAbandoned(folder, prefix, '.tmp');
  return () => join(folder, `${prefix}${randomName()}.tmp`);
}

/** Characters of the target's name in that of a temporary file: file names have at most 255 bytes. */
const MAX_NAME_LENGTH = 50;

/** A folder with a temporary name. */
export interface TemporaryFolder {
  readonly path: string;
  /** Gives up the folder after it was renamed. */
  release(): void;
  remove(): void;
}

/** Creates a folder in `parent`. Removes folders with this prefix whose processes are dead. */
export function temporaryFolder(parent: string, prefix: string): TemporaryFolder {
  removeAbandoned(parent, prefix, '');
  for (;;) {
    const path = join(parent, `${prefix}${randomName()}`);
    mkdirSync(path, { mode: 0o700 });
    const folder = openIfExists(path);
    if (folder === undefined) continue;
    if (!lockCreated(path, folder)) {
      closeSync(folder);
      continue;
    }
    removedAtExit.add(path);
    let isHeld = true;
    const release = (): void => {
      if (isHeld) closeSync(folder);
      isHeld = false;
      removedAtExit.delete(path);
    };
    return {
      path,
      release,
      remove: () => {
        rmSync(path, { recursive: true, force: true });
        release();
      },
    };
  }
}

/** Opens the folder. Undefined if another process considered it abandoned and removed it. */
function openIfExists(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Paths removed when the process exits normally. If it is killed, the next process removes them. */
const removedAtExit = new Set<string>();
process.on('exit', () => {
  for (const path of removedAtExit) rmSync(path, { recursive: true, force: true });
});

/** Locks a file or folder just created. False if another process considered it abandoned before it was locked. */
function lockCreated(path: string, file: number): boolean {
  if (lockFile(file) === 'held elsewhere') return false;
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.ino === fstatSync(file).ino;
}

/** The process id is only for human readers. What cannot be locked is named so that no process removes it. */
const randomName = (): string => `${process.pid}-${randomBytes(6).toString('hex')}${hasFileLocks() ? '' : '-unlocked'}`;
const RANDOM_NAME = /^\d+-[0-9a-f]{12}$/;

/** Removes what no process has locked. Keeps what belongs to another user or cannot be locked. */
function removeAbandoned(folder: string, prefix: string, suffix: string): void {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return; // a folder that cannot be listed can still be written to
  }
  for (const name of names) {
    const hasForm = name.startsWith(prefix) && name.endsWith(suffix);
    const random = name.slice(prefix.length, name.length - suffix.length);
    if (hasForm && RANDOM_NAME.test(random)) removeIfAbandoned(join(folder, name));
  }
}

function removeIfAbandoned(path: string): void {
  let file: number | undefined;
  try {
    const isFolder = lstatSync(path).isDirectory();
    file = openSync(path, (isFolder ? constants.O_RDONLY : constants.O_RDWR) | constants.O_NOFOLLOW);
    if (fstatSync(file).uid !== process.getuid?.()) return;
    if (lockFile(file) === 'taken') rmSync(path, { recursive: true, force: true });
  } catch {
    // Another process removed it first, or it cannot be removed. Neither affects the new file.
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
