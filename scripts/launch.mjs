// Runs the command of this clone, first installing and building what is missing. The command is imported, not spawned:
// one process, so that signals and the exit code are its own.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt, ensureInstalled, orExit, root } from './prepare.mjs';

orExit(() => {
  ensureInstalled();
  ensureBuilt();
});
const main = join(root, 'dist', 'cli', 'main.js');
process.argv[1] = main;
await import(pathToFileURL(main).href);
