// # Drive a device yourself
//
// Every device has the same contract: compile a kernel, allocate buffers, queue commands on a stream, wait for a mark.

import assert from 'node:assert';
import { items, openDevice, rw, u32 } from 'millrace';

const device = await openDevice('wasm');
const kernel = items('add', { job: { by: u32 }, buffers: { x: rw(u32) } }, ({ job, item, buffers }) => {
  buffers.x.set(item, buffers.x.at(item).add(job.by));
});
const program = await device.compile(kernel);
const x = await device.alloc(4 * 4);
const bytes = new Uint8Array(Uint32Array.of(1, 2, 3, 4).buffer);
const stream = device.stream();
stream.write(x, bytes);
stream.launch({ job: program.bind({ by: 10 }), count: 4, buffers: { x } });
stream.read(x, bytes);
await stream.mark().done;
assert.deepEqual(new Uint32Array(bytes.buffer), Uint32Array.of(11, 12, 13, 14));
await device.close();
