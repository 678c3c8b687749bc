import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstLine, MillraceError } from '../kernel/error.js';
import { formatInvite, type Invite, isInvite, parseInvite } from './nats/index.js';

/** The fleet that is served from a data directory: its folder, and the invite for programs on the same machine. */
export const fleetFolder = (dataDir: string): string => join(dataDir, 'fleet');

const invitePath = (dataDir: string): string => join(fleetFolder(dataDir), 'invite');

/** Stores the invite while the fleet is served. */
export function saveInvite(dataDir: string, invite: Invite): void {
  writeFileSync(invitePath(dataDir), `${formatInvite(invite)}\n`, { mode: 0o600 });
}

export function removeInvite(dataDir: string): void {
  rmSync(invitePath(dataDir), { force: true });
}

/**
 * Returns the invite that was given: its line, a file that holds it, or `-` for standard input. Without one, that of the fleet
 * served from the data directory.
 */
export function inviteFor(given: string | boolean | undefined, dataDir: string): Invite {
  if (typeof given === 'string') return parseInvite(isInvite(given) ? given : readInvite(given));
  if (existsSync(invitePath(dataDir))) return parseInvite(readFileSync(invitePath(dataDir), 'utf8'));
  throw new MillraceError({
    code: 'usage',
    message: 'no fleet is served from this machine',
    asked: `a fleet of ${dataDir}`,
    advice: 'start one with `millrace fleet serve`, or give the invite of another',
  });
}

function readInvite(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (cause) {
    throw new MillraceError({
      code: 'usage',
      message: `${file === '-' ? 'standard input' : file} cannot be read: ${firstLine(cause)}`,
      asked: `the invite ${file}`,
      advice: 'give a file with the line that `millrace fleet invite` prints, or the line itself',
      cause,
    });
  }
}
