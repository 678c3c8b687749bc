import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MillraceError } from '../kernel/error.js';
import { formatInvite, type Invite, parseInvite } from './nats/index.js';

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

/** Returns the invite that was given, or that of the fleet served from the data directory. */
export function inviteFor(given: string | boolean | undefined, dataDir: string): Invite {
  if (typeof given === 'string') return parseInvite(given);
  if (existsSync(invitePath(dataDir))) return parseInvite(readFileSync(invitePath(dataDir), 'utf8'));
  throw new MillraceError({
    code: 'usage',
    message: 'no fleet is served from this machine',
    asked: `a fleet of ${dataDir}`,
    advice: 'start one with `millrace fleet serve`, or give the invite of another',
  });
}
