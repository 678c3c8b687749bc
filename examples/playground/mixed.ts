// Words in a buffer, changed in place

import { items, rw, u32 } from 'millrace';

const mixed = items('mixed', { job: { key: u32 }, buffers: { x: rw(u32) } }, ({ job, item, buffers }) => {
  const x = buffers.x.at(item);
  buffers.x.set(item, x.mul(0x9e3779b1).add(job.key).rotl(13).xor(x));
});

const x = Uint32Array.from({ length: 512 }, (_, at) => at);
export default { kernel: mixed, job: { key: 26 }, space: x.length, buffers: { x } };
