// For `npm run coverage`: vitest ends its workers before Node would write what V8 counted, so it is written after each file.
// At the end vitest sends SIGTERM. An orderly exit then writes the counts of threads that are still there.

import { takeCoverage } from 'node:v8';
import { afterAll } from 'vitest';

if (process.listenerCount('SIGTERM', exitIfAlone) === 0) process.on('SIGTERM', exitIfAlone);
afterAll(() => takeCoverage());

/** A command under test has its own handler while it runs. */
function exitIfAlone() {
  if (process.listenerCount('SIGTERM') === 1) process.exit();
}
