import { expect, test } from 'vitest';
import { lowerGpu } from '../abi/lower-gpu.js';
import { rw } from '../language/buffers.js';
import { items } from '../language/items.js';
import { u32 } from '../language/types.js';
import { checkProgram } from './check.js';

const kernel = items('doubled', { buffers: { out: rw(u32) } }, ({ item, buffers }) =>
  buffers.out.set(item, item.mul(2)),
);

test('finds a value used before it is computed', () => {
  const program = kernel.trace();
  expect(() => checkProgram(program)).not.toThrow();
  const reversed = { ...program, body: program.body.toReversed() };
  expect(() => checkProgram(reversed)).toThrow(expect.objectContaining({ code: 'kernel-invalid' }));
});

test('only CUDA supports the queue harness', () => {
  const refused = expect.objectContaining({ code: 'device-capability' });
  expect(() => lowerGpu(kernel, { target: 'wgsl', harness: 'queue' })).toThrow(refused);
  expect(() => lowerGpu(kernel, { target: 'cuda', harness: 'queue', checked: true })).toThrow(refused);
});
