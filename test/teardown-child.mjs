// Opens a device, puts work in flight and ends in the given way:
//   node teardown-child.mjs DEVICE WAY DELAY_MS
// "opening" ends while the device is being opened. It prints "ready" once work is in flight; signals come from outside.
import { openDevice } from '../dist/device/registry.js';
import { cell, items, loop, rw } from '../dist/kernel/index.js';

const [, , name = '', way, delay] = process.argv;
if (way === 'opening') setTimeout(() => process.exit(7), Number(delay));
const device = await openDevice(name, { threads: 2 });

/** A chain of 1,000 steps per item, stored so that no compiler can remove it. */
const kernel = items('spin', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
  const chain = cell('u32', item);
  loop(1000, () => chain.set(chain.mul(5).add(1)));
  buffers.x.set(item.and(3), chain);
});
const spin = await device.compile(kernel, { lanes: 1 });

// Three streams: one with a launch that never ends, one with many small commands (more than the board holds), one that
// moves memory. "natural" and "forgotten" end by themselves: there all work is finite and nothing is closed.
const finite = way === 'natural' || way === 'forgotten';
const [long, small, moving] = [device.stream(), device.stream(), device.stream()];
const [x, y, buffer] = [await device.alloc(64), await device.alloc(64), await device.alloc(2 ** 22)];
const host = new Uint8Array(2 ** 22);
const job = spin.bind({});
long.launch({ job, count: finite ? 5000 : 2 ** 32, buffers: { x } });
for (let i = 0; i < 400; i++) small.launch({ job, count: 3, buffers: { x: y } });
for (let i = 0; i < (finite ? 4 : 200); i++) {
  moving.write(buffer, host);
  moving.fill(buffer, i);
  moving.read(buffer, host);
}
small.wait(moving.mark());
const marks = way === 'forgotten' ? [] : [long.mark(), small.mark()];
process.stdout.write('ready\n');

await new Promise((resolve) => setTimeout(resolve, Number(delay)));
if (way === 'exit') process.exit(7);
if (way === 'throw') throw new Error('thrown on purpose');
if (way === 'natural') for (const mark of marks) await mark.done;
if (way === 'close') {
  await device.close();
  const outcomes = await Promise.allSettled(marks.map((mark) => mark.done));
  process.exitCode = outcomes[0]?.status === 'rejected' ? 5 : 6;
}
if (way === 'exit-in-close') {
  void device.close();
  setTimeout(() => process.exit(7), 1);
}
