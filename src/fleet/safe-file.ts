import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';

/** Writes a private file that is there whole or not at all, even if power fails. */
export function writeSafely(path: string, bytes: Uint8Array | string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}
