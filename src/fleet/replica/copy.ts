import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from '../../store/index.js';
import { fleetFolder } from '../local.js';

/**
 * Copies what a coordinator needs to a new data directory, also while the fleet is served. The state goes first: what it says
 * is committed is in the ledger, which goes last. A coordinator that starts from the copy gets the rest from the log.
 */
export async function copyCoordinator(store: Store, folder: string): Promise<void> {
  const [from, to] = [fleetFolder(store.directory), fleetFolder(folder)];
  mkdirSync(to, { recursive: true, mode: 0o700 });
  // Attachments of a job are there before the job is.
  for (const name of ['state.jsonl', 'fleet.json', 'keys.json', 'users.json', 'tls', 'jobs', 'parts'])
    if (existsSync(join(from, name))) cpSync(join(from, name), join(to, name), { recursive: true });
  await store.backup(folder);
}
