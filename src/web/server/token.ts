import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newToken } from './guard.js';

/**
 * Returns the token of a data directory, which only its user can read. It stays the same, so that an open page finds the
 * server again after a restart. Without a writable directory the token is new each time.
 */
export function storedToken(directory: string): string {
  const path = join(directory, TOKEN_FILE);
  if (!existsSync(directory)) return newToken();
  const token = newToken();
  try {
    writeFileSync(path, `${token}\n`, { mode: 0o600, flag: 'wx' });
    return token;
  } catch {
    // It exists already, or the directory cannot be written.
  }
  try {
    const kept = readFileSync(path, 'utf8').trim();
    return /^[\w-]{43}$/.test(kept) ? kept : token;
  } catch {
    return token;
  }
}

export const TOKEN_FILE = 'dashboard-token';
