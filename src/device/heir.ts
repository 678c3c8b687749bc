import { spawn } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { Socket } from 'node:net';

/**
 * Open files of this process get an heir: a shell that holds them too, waits for this process to be gone, and ends then.
 * So whatever the system does when the last holder of such a file ends, nobody waits for it who waits for this process.
 * Where a process is not shown its files, or there is no shell, they end with it as ever.
 */
export function leaveToHeir(isMeant: (path: string) => boolean): void {
  const files = openFiles().filter(({ path }) => isMeant(path));
  if (files.length === 0) return;
  // It reads a pipe into which nothing is ever written: that ends with the process that has the other end.
  const heir = spawn('/bin/sh', ['-c', 'read end'], {
    stdio: ['pipe', 'ignore', 'ignore', ...files.map(({ number }) => number)],
    cwd: '/',
    env: {},
    detached: true,
  });
  heir.on('error', () => undefined);
  heir.unref();
  if (heir.stdin instanceof Socket) heir.stdin.unref();
}

interface OpenFile {
  readonly number: number;
  readonly path: string;
}

function openFiles(): readonly OpenFile[] {
  try {
    return readdirSync(OPEN_FILES).flatMap((number) => {
      const path = pathOf(number);
      return path === undefined ? [] : [{ number: Number(number), path }];
    });
  } catch {
    return [];
  }
}
const OPEN_FILES = '/proc/self/fd';

/** Undefined for what was closed since the list was made: the list itself, at least. */
function pathOf(number: string): string | undefined {
  try {
    return readlinkSync(`${OPEN_FILES}/${number}`);
  } catch {
    return undefined;
  }
}
