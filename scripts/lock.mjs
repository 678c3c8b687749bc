// A lock between processes that needs only a directory. The directory holds one file whose name is its owner, and it is
// made elsewhere and renamed into place: renaming onto a directory that is not empty fails, so taking the lock is one
// atomic step. To break a dead owner's lock, a process removes the file of that name, which only one process can do.

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** No install or build takes this long: a lock this old is stale, even if its process id is in use again. */
const STALE_MS = 15 * 60_000;
const POLL_MS = 100;

/**
 * Runs `work` while this process alone holds the lock directory `path`.
 * @template T
 * @param {string} path
 * @param {(text: string) => void} say called once if another process holds the lock
 * @param {() => T} work
 * @returns {T}
 */
export function withLock(path, say, work) {
  const me = owner(process.pid);
  const mine = `${path}.${process.pid}`;
  let waiting = false;
  while (!take(path, mine, me)) {
    const holder = holderOf(path);
    if (holder !== undefined && isStale(path, holder)) {
      attempt(() => unlinkSync(join(path, holder)));
      attempt(() => rmdirSync(path));
      continue;
    }
    if (holder !== undefined && !waiting) {
      say(`waiting for process ${holder.split('-')[0]}, which is installing or building`);
      waiting = true;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
  try {
    return work();
  } finally {
    attempt(() => unlinkSync(join(path, me)));
    attempt(() => rmdirSync(path));
  }
}

/**
 * @param {string} path
 * @param {string} mine
 * @param {string} me
 */
function take(path, mine, me) {
  rmSync(mine, { recursive: true, force: true });
  mkdirSync(mine);
  writeFileSync(join(mine, me), '');
  try {
    renameSync(mine, path);
    return true;
  } catch (error) {
    rmSync(mine, { recursive: true, force: true });
    const code = /** @type {NodeJS.ErrnoException} */ (error).code ?? '';
    // Windows reports EPERM or EACCES for a target that exists.
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EACCES'].includes(code) && holderOf(path) !== undefined) return false;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') return false;
    throw error;
  }
}

/** @param {string} path */
function holderOf(path) {
  try {
    return readdirSync(path)[0];
  } catch {
    return undefined;
  }
}

/**
 * @param {string} path
 * @param {string} holder
 */
function isStale(path, holder) {
  const pid = Number(holder.split('-')[0]);
  try {
    if (Date.now() - statSync(join(path, holder)).mtimeMs > STALE_MS) return true;
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process is alive and is another user's. ENOENT: the lock was released meanwhile.
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH';
  }
  return owner(pid) !== holder;
}

/**
 * Identifies a process by its id and, if /proc has it, its start time: a restarted container reuses ids at once.
 * @param {number} pid
 */
function owner(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets and may contain spaces; the start time is the 20th after it.
    return `${pid}-${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return `${pid}`;
  }
}

/** @param {() => void} step */
function attempt(step) {
  try {
    step();
  } catch {
    // Another process was faster; the loop checks again.
  }
}
