// A device without the engine: two streams, each of which copies in, computes and copies out, so that one copies while the other
// computes. `node examples/device.mjs cuda:0`.

import { items, openDevice, rw, u32 } from 'millrace';

const COUNT = 2 ** 20;

const mixed = items('mixed', { job: { key: u32 }, buffers: { x: rw(u32) } }, ({ job, item, buffers }) => {
  const x = buffers.x.at(item);
  buffers.x.set(item, x.mul(0x9e3779b1).add(job.key).rotl(13).xor(x));
});

const [, , name = 'auto'] = process.argv;
const device = await openDevice(name);
const program = await device.compile(mixed);
const job = program.bind({ key: 26 });
const streams = await Promise.all(
  [0, 1].map(async () => ({
    stream: device.stream(),
    x: await device.alloc(4 * COUNT),
    host: await device.host(4 * COUNT), // page-locked where the device has such memory
  })),
);

let sum = 0;
const expected = (/** @type {number} */ x) => {
  const y = (Math.imul(x, 0x9e3779b1) + 26) | 0;
  return (((y << 13) | (y >>> 19)) ^ x) >>> 0;
};
const rounds = streams.map(async ({ stream, x, host }, round) => {
  const words = new Uint32Array(host.bytes.buffer, host.bytes.byteOffset, COUNT);
  for (let i = 0; i < COUNT; i++) words[i] = round * COUNT + i;
  stream.write(x, words);
  stream.launch({ job, count: COUNT, buffers: { x } });
  stream.read(x, words);
  await stream.mark().done;
  for (const [i, word] of words.entries()) if (word === expected(round * COUNT + i)) sum += 1;
});
await Promise.all(rounds);
console.log(`${device.info.id}: ${sum} of ${2 * COUNT} words are right`);
await device.close();
