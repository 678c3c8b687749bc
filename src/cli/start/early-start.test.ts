import { expect, test } from 'vitest';
import { expectedGpu } from './early-start.js';

test.each([
  ['block solve IN OUT --device cuda', {}, 0],
  ['block solve IN OUT --device=cuda:1', {}, 1],
  ['block solve IN OUT --device native,cuda:2', {}, 2],
  ['block solve IN OUT --device native', {}, undefined],
  ['block solve IN OUT', {}, 0],
  ['block solve IN OUT', { MILLRACE_DEVICE: 'cuda:3' }, 3],
  ['block solve IN OUT --device auto', { MILLRACE_DEVICE: 'cuda:3' }, 0],
  ['block solve --help --device cuda', {}, undefined],
  ['block verify IN OUT --device cuda', {}, undefined],
  ['encode FILE --device cuda', {}, 0],
  ['encode FILE', {}, undefined],
  ['words ?d?d --device cuda:1', {}, 1],
  ['run kernel.ts --device cuda', {}, undefined],
  ['words ?d?d', {}, undefined],
  ['', {}, undefined],
])('`millrace %s` with %j opens GPU %s', (line, environment, expected) => {
  expect(expectedGpu(line.split(' '), environment, () => true)).toBe(expected);
});

test('`auto` opens no GPU without a driver', () => {
  expect(expectedGpu(['block', 'solve', 'IN', 'OUT'], {}, () => false)).toBeUndefined();
});
