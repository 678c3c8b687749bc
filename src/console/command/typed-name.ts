import { existsSync } from 'node:fs';

/** Returns what to type for this command in the current folder: `./millrace` in a clone, `npx millrace` where npx ran it. */
export function typedName(): string {
  if (existsSync('scripts/launch.mjs') && existsSync('millrace')) return './millrace';
  return process.env.npm_command === 'exec' ? 'npx millrace' : 'millrace';
}
