// # Test what happens when a device fails
//
// `virtualDevices` makes several devices from one. Each has its own speed and its own faults: it lies, hangs or disappears
// after a number of launches. The work is really done.

import assert from 'node:assert';
import { Engine, items, openDevice, search, u32, virtualDevices, when } from 'millrace';

const kernel = items('sevens', { hit: { n: u32 } }, ({ index, emit }) => {
  when(index.lo.rem(7).eq(0), () => emit({ n: index.lo }));
});
const device = await openDevice('interpreter');
const engine = new Engine(virtualDevices(device, [{ speed: 1e6 }, { speed: 1e6, liesAt: 2 }]));
let hits = 0;
const verify = ({ index, n }: { index: bigint; n: number }): boolean => BigInt(n) === index && n % 7 === 0;
for await (const _ of search(kernel, { engine, space: 10_000, verify })) hits++;
assert.equal(hits, 1429); // none is missing, none is wrong
await engine.close();
await device.close();
