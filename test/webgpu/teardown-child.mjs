// Opens a webgpu device and ends while a promise of Dawn is pending:
//   node teardown-child.mjs WAY DELAY_MS
import { openDevice } from '../../dist/device/registry.js';
import { items, read, rw } from '../../dist/kernel/index.js';

const [, , way, delay] = process.argv;
const later = (/** @type {() => void} */ action) => setTimeout(action, Number(delay));

/** Takes a compiler some hundred milliseconds. */
const long = items('long', { buffers: { x: read('u32'), out: rw('u32') } }, ({ item, buffers }) => {
  let a = buffers.x.at(item);
  for (let i = 0; i < 120; i++)
    a = a
      .xor(a.shr(3))
      .mul(2 * i + 1)
      .add(buffers.x.at(a.and(63)));
  buffers.out.set(item, a);
});

if (way === 'opening') later(() => process.exit(7));
if (way === 'opening-throws')
  later(() => {
    throw new Error('thrown on purpose');
  });
const device = await openDevice('webgpu');
if (way === 'compiling') later(() => process.exit(7));
const compiled = device.compile(long).then(
  () => 'compiled',
  ({ code }) => code,
);
if (way === 'closing') {
  await new Promise((resolve) => setTimeout(resolve, Number(delay)));
  await device.close();
  process.exitCode = ['compiled', 'device-closed'].includes(await compiled) ? 5 : 6;
}
if (way === 'allocating') {
  later(() => process.exit(7));
  for (;;) (await device.alloc(2 ** 20)).free();
}
