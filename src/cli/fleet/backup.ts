import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Call } from '../../console/command/action.js';
import { Exit } from '../../console/command/exit.js';
import type { CommandResult } from '../../console/output/output.js';
import { fleetFolder } from '../../fleet/local.js';
import { copyCoordinator, readIdentity } from '../../fleet/replica/index.js';
import { MillraceError } from '../../kernel/error.js';
import { openStore } from '../../store/index.js';

/** Makes a data directory from which the fleet can be served. */
export async function backup({ args, output, options }: Call<{ readonly dataDir: string }>): Promise<CommandResult> {
  const [given = ''] = args;
  const folder = resolve(given);
  const identity = readIdentity(fleetFolder(options.dataDir));
  if (identity === undefined) throw noFleet(options.dataDir);
  if (existsSync(folder) && readdirSync(folder).length > 0) throw notEmpty(folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const store = await openStore(options.dataDir, { warn: output.warn });
  try {
    await copyCoordinator(store, folder);
  } finally {
    await store.close();
  }
  output.line(`${folder} has the fleet ${identity.fleet}, with its keys: keep it as safe as the original`);
  return { exit: Exit.ok, answer: { fleet: identity.fleet, folder } };
}

const noFleet = (dataDir: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: 'no fleet was served from this data directory',
    asked: `a backup of the fleet of ${dataDir}`,
    advice: 'give the --data-dir of `millrace fleet serve`',
  });

const notEmpty = (folder: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `${folder} is not empty`,
    asked: `a backup to ${folder}`,
    advice: 'give a folder that does not exist',
  });
