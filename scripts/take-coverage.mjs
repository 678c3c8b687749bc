// For `npm run coverage`: vitest ends its workers before Node writes V8's counts, so they are written after each file.
// At the end vitest sends SIGTERM. An orderly exit then writes the counts of threads that still run.

import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

if (!process.listeners('SIGTERM').some(isOurs)) process.on('SIGTERM', exitIfAlone);
afterAll(() => takeCoverage());

/** A command under test has its own handler while it runs. */
function exitIfAlone() {
  if (process.listeners('SIGTERM').every(isOurs)) process.exit();
}

/**
 * Files that share a process each load this module again.
 * @param {{ name: string }} handler
 */
function isOurs({ name }) {
  return name === 'exitIfAlone';
}
