// Opens and closes a device many times: memory, open files and mappings must not grow.
//   npm run build && node test/cycles.mjs DEVICE [CYCLES] [THREADS]
// The first 20 cycles are not counted. Exits with 1 if the process has grown. Linux only.
import { openDevice } from '../dist/device/registry.js';
import { isFlat, processSize } from './process-size.mjs';

const WARM = 20;
const [name = 'native', cycles = '400', threads = '16'] = process.argv.slice(2);

/** @param {number} times */
async function run(times) {
  for (let i = 0; i < times; i++) {
    const device = await openDevice(name, { threads: Number(threads) });
    const stream = device.stream();
    const [buffer, host] = [await device.alloc(2 ** 21), await device.host(2 ** 16)];
    const plain = new Uint8Array(2 ** 21).fill(i);
    stream.write(buffer, plain); // starts the helpers on a device where they copy
    stream.read(buffer, host.bytes);
    await stream.mark().done;
    if (host.bytes[1] !== (i & 255)) throw new Error(`cycle ${i}: ${host.bytes[1]} came back`);
    host.free();
    await device.close();
  }
  return processSize();
}

const before = await run(WARM);
const after = await run(Number(cycles));
console.log(`${name}: opened and closed ${cycles} times`);
process.exitCode = isFlat(before, after) ? 0 : 1;
