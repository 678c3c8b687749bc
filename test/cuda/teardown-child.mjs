// Opens the CUDA device, keeps it busy and ends in the given way after the given time:
//   node teardown-child.mjs WAY DELAY_MS
// Prints "ready" before it opens anything; the parent sends signals.
import { openDevice } from '../../dist/device/registry.js';
import { cell, items, loop, rw } from '../../dist/kernel/index.js';

const [, , way = '', delay = '0'] = process.argv;
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

process.stdout.write('ready\n');
if (way === 'exit') setTimeout(() => process.exit(7), Number(delay));
if (way === 'throw') {
  setTimeout(() => {
    throw new Error('thrown on purpose');
  }, Number(delay));
}

const kernel = (/** @type {string} */ name) =>
  items(name, { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
    const chain = cell('u32', item);
    loop(1000, () => chain.set(chain.mul(5).add(1)));
    buffers.x.set(item.and(3), chain);
  });

const device = await openDevice('cuda:0', { completion: Number(delay) % 2 === 0 ? 'poll' : 'callback' });
const spin = await device.compile(kernel(`spin-${process.pid}`));
const [long, small, moving] = [device.stream(), device.stream(), device.stream()];
const [x, y, buffer] = [await device.alloc(64), await device.alloc(64), await device.alloc(2 ** 22)];
const pinned = await device.host(2 ** 22);
const plain = new Uint8Array(2 ** 22);
const job = spin.bind({});

/** Starts launches, transfers of both kinds of memory and waits, all in flight at once. */
function load() {
  long.launch({ job, count: 2 ** 32, buffers: { x } });
  for (let i = 0; i < 50; i++) small.launch({ job, count: 3, buffers: { x: y } });
  for (let i = 0; i < 4; i++) {
    moving.write(buffer, pinned.bytes);
    moving.fill(buffer, i);
    moving.read(buffer, plain);
    moving.write(buffer, plain);
  }
  small.wait(moving.mark());
  return [long.mark(), small.mark()];
}

if (way === 'natural' || way === 'forgotten') {
  const marks = load();
  if (way !== 'forgotten') for (const mark of marks) await mark.done;
} else {
  const until = Date.now() + Number(delay);
  const marks = load();
  // Work is always in flight when a signal or a timer arrives.
  for (let k = 0; way !== 'close' || Date.now() < until; k++) {
    if (k < 20) marks.push(...load());
    await sleep(1);
  }
  await device.close();
  const outcomes = await Promise.allSettled(marks.map((mark) => mark.done));
  const right = outcomes.every((one) => one.status === 'fulfilled' || one.reason.code === 'device-closed');
  process.exitCode = right ? 5 : 6;
}
