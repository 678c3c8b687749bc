// Opens the OpenCL device, starts work and ends in the given way:
//   node teardown-child.mjs WAY DELAY_MS
// "opening" ends while the device is being opened. Prints "ready" once work is in flight; the parent sends signals.
import { open, start } from '../../dist/device/opencl/device.js';
import { cell, items, loop, rw } from '../../dist/kernel/index.js';

const [, , way, delay] = process.argv;
if (way === 'opening') setTimeout(() => process.exit(7), Number(delay));
// Odd delays use the CPU as if it were a GPU: with staging, copied epochs and page-locked memory of the driver.
const forceCopies = Number(delay) % 2 === 1;
const device = await (forceCopies ? start({ number: 0, forceCopies }, 32 * 1024, {}) : open('opencl'));

/** Runs a chain of 1,000 steps per item, stored so that no compiler removes it. Each `salt` gives a different source. */
const spinning = (/** @type {number} */ salt) =>
  items('spin', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
    const chain = cell('u32', item);
    loop(1000, () => chain.set(chain.mul(5).add(salt)));
    buffers.x.set(item.and(3), chain);
  });
const spin = await device.compile(spinning(1));

// Three streams: one with a launch that never ends, one with many small commands, one with transfers. "natural" and
// "forgotten" end without a close, so their work is finite.
const finite = way === 'natural' || way === 'forgotten';
const [long, small, moving] = [device.stream(), device.stream(), device.stream()];
const [x, y, buffer] = [await device.alloc(64), await device.alloc(64), await device.alloc(2 ** 22)];
const host = new Uint8Array(2 ** 22);
const { bytes: pinned } = await device.host(2 ** 22);
const job = spin.bind({});
long.launch({ job, count: finite ? 5000 : 2 ** 32, buffers: { x } });
for (let i = 0; i < 400; i++) small.launch({ job, count: 3, buffers: { x: y } });
for (let i = 0; i < (finite ? 4 : 200); i++) {
  moving.write(buffer, host);
  moving.fill(buffer, i);
  moving.read(buffer, pinned);
  moving.read(buffer, host);
}
small.wait(moving.mark());
const marks = way === 'forgotten' ? [] : [long.mark(), small.mark()];
// A compiler that runs in another process must not delay the end.
if (way?.startsWith('compiling')) device.compile(spinning(2 + (process.pid % 1000))).catch(() => undefined);
process.stdout.write('ready\n');

await new Promise((resolve) => setTimeout(resolve, Number(delay)));
if (way === 'exit' || way === 'compiling-exit') process.exit(7);
if (way === 'throw') throw new Error('thrown on purpose');
if (way === 'natural') for (const mark of marks) await mark.done;
if (way === 'close' || way === 'compiling-close') {
  await device.close();
  const outcomes = await Promise.allSettled(marks.map((mark) => mark.done));
  process.exitCode = outcomes[0]?.status === 'rejected' ? 5 : 6;
}
if (way === 'exit-in-close') {
  void device.close();
  setTimeout(() => process.exit(7), 1);
}
