// # Find prime gaps
//
// `searchGaps` yields pairs of consecutive primes that are far apart; each is checked by bigint arithmetic. `gapMerit` is a
// gap's length over the mean gap at its place.

import assert from 'node:assert';
import { Engine, type Gap, gapMerit, openDevice, searchGaps } from 'millrace';

const device = await openDevice('wasm');
const engine = new Engine([device]);
const found: Gap[] = [];
for await (const gap of searchGaps({ start: 370_000n, length: 10_000n, minGap: 100, primes: 50 }, { engine })) {
  found.push(gap);
}
await engine.close();
await device.close();
// The first gap of 112 begins at 370,261.
assert.deepEqual(
  found.map(({ start, end }) => [start, end]),
  [[370_261n, 370_373n]],
);
assert(Number(gapMerit(370_261n, 370_373n)) / 2 ** 48 > 8.7); // in units of 2^−48
