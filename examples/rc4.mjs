// The last two bytes of a 40-bit RC4 key, found from the first eight bytes of its key stream: the kernel is in
// `playground/rc4.mjs`. `node examples/rc4.mjs cuda:0` runs on another device.

import { search } from 'millrace';
import task from './playground/rc4.mjs';

const [, , devices = 'auto'] = process.argv;
const { kernel, job } = task;

for await (const { last } of search(kernel, { devices, space: 2 ** 16, job })) {
  console.log(`key ${Buffer.from([...job.start, last >> 8, last & 255]).toString('hex')}`);
}
