// Measures how many times slower this machine currently is than an idle core of the class that tests are written for. Time
// limits of tests are multiplied by it, so that no test fails because the machine is busy.

import { createHash } from 'node:crypto';

/** Time of the loop below on an idle Neoverse-N1 at 2.5 GHz. */
const USUAL_MS = 30;
const MAX_SLOWNESS = 20;

export function slowness() {
  const data = Buffer.alloc(1 << 16);
  const begun = performance.now();
  for (let round = 0; round < 600; round++) createHash('sha256').update(data).digest();
  return Math.min(MAX_SLOWNESS, Math.max(1, (performance.now() - begun) / USUAL_MS));
}
