// Opens a simulated device, starts work and ends in the given way:
//   node child.mjs WAY [asynchronous]
import { GpuDevice, openLink } from '../../dist/device/gpu/host/device.js';
import { addressOf } from '../../dist/device/native/libc.js';
import { items, rw } from '../../dist/kernel/index.js';

class ScriptedDevice extends GpuDevice {
  target = /** @type {const} */ ('opencl');
  nearLimit = undefined;
  workgroup() {
    return 64;
  }
  async build() {
    return { cached: false };
  }
}

const [, , way, mode] = process.argv;
const asynchronous = mode === 'asynchronous';
const worker = new URL(asynchronous ? 'worker-async.mjs' : 'worker.mjs', import.meta.url);
const link = await openLink({ device: 'scripted', worker, startData: { asynchronous }, options: {} });
const device = new ScriptedDevice(link, asynchronous ? undefined : addressOf);
const kernel = items('step', { buffers: { x: rw('u32') } }, ({ item, buffers }) => buffers.x.set(item, item));
const job = (await device.compile(kernel)).bind({});
const x = await device.alloc(64);

// The count is the time of the launch in microseconds.
const finite = way === 'natural' || way === 'forgotten' || way === 'idle';
const stream = device.stream();
stream.launch({ job, count: finite ? 30_000 : 2 ** 31, buffers: { x } });
stream.write(x, new Uint8Array(64));
process.stdout.write('ready\n');
if (way === 'idle') await stream.mark().done; // and close nothing
if (way === 'natural') {
  // Work in flight keeps the process alive.
  stream.mark().done.then(() => process.stdout.write('done\n'));
}
if (way === 'exit') setTimeout(() => process.exit(7), 5);
if (way === 'throw') {
  stream.mark();
  setTimeout(() => {
    throw new Error('thrown on purpose');
  }, 5);
}
if (way === 'close') {
  const mark = stream.mark();
  await device.close();
  process.exitCode = await mark.done.then(
    () => 6,
    () => 5,
  );
}
if (way === 'exit-in-close') {
  stream.mark();
  void device.close();
  setTimeout(() => process.exit(7), 1);
}
