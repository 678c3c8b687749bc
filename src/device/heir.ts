import { readdirSync, readlinkSync } from 'node:fs';
import { startHolding } from './native/libc.js';

/**
 * Open files of this process get an heir: a shell that holds them too, waits for this process to be gone, and ends then.
 * So whatever the system does when the last holder of such a file ends, nobody waits for it who waits for this process.
 * False where there is nothing to inherit, or nobody who could: then they end with this process as ever.
 */
export function leaveToHeir(isMeant: (path: string) => boolean): boolean {
  const files = openFiles().filter((number) => isMeant(pathOf(number) ?? ''));
  // Nothing is ever written into what it reads: that ends with this process. Nor does it keep a folder in use.
  return files.length > 0 && startHolding(['/bin/sh', '-c', 'cd /; read end'], files);
}

/** By their numbers; none where the system does not show a process its files (Linux does). */
function openFiles(): readonly number[] {
  try {
    return readdirSync(OPEN_FILES).map(Number);
  } catch {
    return [];
  }
}
const OPEN_FILES = '/proc/self/fd';

/** Undefined for what was closed since the list was made: the list itself, at least. */
function pathOf(number: number): string | undefined {
  try {
    return readlinkSync(`${OPEN_FILES}/${number}`);
  } catch {
    return undefined;
  }
}
