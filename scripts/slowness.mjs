// How many times slower this machine is just now than an idle core of the class that tests are written for. Limits of time
// in tests are multiplied by it, so that a busy machine does not fail a test.

import { createHash } from 'node:crypto';

/** What the loop below takes on an idle Neoverse-N1 at 2.5 GHz, in milliseconds. */
const USUAL_MS = 30;
const MOST = 20;

export function slowness() {
  const data = Buffer.alloc(1 << 16);
  const begun = performance.now();
  for (let round = 0; round < 600; round++) createHash('sha256').update(data).digest();
  return Math.min(MOST, Math.max(1, (performance.now() - begun) / USUAL_MS));
}
