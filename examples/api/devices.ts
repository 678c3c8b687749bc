// # Choose devices
//
// `devices` of a job is a name such as `auto`, `cuda:0,cpu` or `wasm`, or devices that you have opened. An `Engine` keeps
// devices fed for several jobs at the same time.

import assert from 'node:assert';
import { Engine, items, listDevices, openDevice, openDevices, search, u32, when } from 'millrace';

const { devices } = await listDevices();
assert(devices.some(({ id }) => id === 'wasm'));

const kernel = items('multiples', { job: { of: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.of).eq(0), () => emit({ n: index.lo }));
});
const opened = [await openDevice('wasm'), ...(await openDevices('interpreter'))];
const engine = new Engine(opened);
const count = async (of: number) => {
  let hits = 0;
  for await (const _ of search(kernel, { engine, space: 1001, job: { of } })) hits++;
  return hits;
};
assert.deepEqual(await Promise.all([count(10), count(7)]), [101, 143]);
await engine.close();
for (const device of opened) await device.close();
