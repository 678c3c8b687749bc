import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The folder of a data directory that has the sockets of running processes. */
export const LIVE_FOLDER = 'live';

/** The system limits the path of a socket to 108 bytes, some systems to 104. */
const MAX_PATH = 90;

/** Calls `use` with a path of the folder that is short enough for sockets: if need be, a link that exists meanwhile. */
export async function withShortPath<T>(folder: string, use: (short: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(folder) <= MAX_PATH) return use(folder);
  const temporary = mkdtempSync(join(tmpdir(), 'millrace-'));
  const link = join(temporary, 'live');
  try {
    symlinkSync(resolve(folder), link);
    return await use(link);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
