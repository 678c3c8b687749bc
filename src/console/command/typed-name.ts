import { existsSync } from 'node:fs';

/** Returns what to type for this command in the current folder: `./millrace` in a clone. */
export const typedName = (): string =>
  existsSync('scripts/launch.mjs') && existsSync('millrace') ? './millrace' : 'millrace';
