// # Look into a kernel
//
// `kernelText` is what a target's compiler gets, `kernelStats` counts operations. `MillraceError` names the line of your
// own file when a kernel is wrong.

import assert from 'node:assert';
import { items, kernelStats, kernelText, MillraceError, rw, u32, u64 } from 'millrace';

const kernel = items('mix', { buffers: { x: rw(u32) } }, ({ item, buffers }) => {
  buffers.x.set(item, buffers.x.at(item).mul(0x9e3779b1).rotl(13));
});
assert.match(kernelText(kernel, { target: 'cuda' }), /__global__/);
assert.match(kernelText(kernel, { target: 'wat' }), /\(module/);
assert.equal(kernelStats(kernel).name, 'mix');

const wrong = items('wrong', { hit: { n: u64 } }, ({ index, emit }) => {
  // @ts-expect-error: a u32 is not a u64; without TypeScript it is an error when the kernel is traced.
  emit({ n: index.lo });
});
assert.throws(
  () => kernelText(wrong, { target: 'c' }),
  (error) => error instanceof MillraceError && error.message.includes('text.ts'),
);
