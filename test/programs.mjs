// Compiles and drops different kernels on one device: memory, open files and mappings must not grow with their number.
//   npm run build && node test/programs.mjs DEVICE [COUNT] [close|drop]
// The first 200 kernels are not counted: drivers' pools and heaps grow with them. COUNT (300) more follow. Exits with 1 if
// the process has grown by more than a fraction of what the kernels took when none was unloaded. Linux only.
import { openDevice } from '../dist/device/registry.js';
import { items, rw, u32 } from '../dist/kernel/index.js';
import { isFlat, processSize } from './process-size.mjs';

const WARM = 200;

const [name = 'native', count = '300', way = 'close'] = process.argv.slice(2);
const device = await openDevice(name);
const stream = device.stream();
const x = await device.alloc(256);

/** @param {number} i */
async function makeAndDrop(i) {
  const kernel = items(`k${i}`, { buffers: { x: rw(u32) } }, ({ item, buffers }) => {
    buffers.x.set(item, item.mul(2 * i + 1).xor(i));
  });
  const program = await device.compile(kernel);
  const into = new Uint32Array(64);
  stream.launch({ job: program.bind({}), count: 64, buffers: { x } });
  stream.read(x, into);
  const { done } = stream.mark();
  if (way === 'close') program.close(); // with its launch in flight
  await done;
  const wrong = into.findIndex((value, item) => value !== (Math.imul(item, 2 * i + 1) ^ i) >>> 0);
  if (wrong >= 0) throw new Error(`kernel ${i}: item ${wrong} is ${into[wrong]}`);
}

/** @param {number} from @param {number} to */
async function run(from, to) {
  for (let i = from; i < to; i++) await makeAndDrop(i);
  return processSize();
}

const before = await run(0, WARM);
const after = await run(WARM, WARM + Number(count));
console.log(`${device.info.id} (${device.info.name}), ${way}: ${count} kernels`);
process.exitCode = isFlat(before, after) ? 0 : 1;
stream.close();
x.free();
await device.close();
