import { expect, test } from 'vitest';
import { RunReader } from './run-reader.js';

const numbersIn = (bytes: readonly number[], width: number, count: number): number[] => {
  const runs = new RunReader(Uint8Array.from(bytes), width);
  const numbers: number[] = [];
  while (numbers.length < count) {
    runs.peek(count - numbers.length);
    numbers.push(...Array.from({ length: runs.count }, () => runs.value));
    runs.skip(runs.count);
  }
  return numbers;
};
const gathered = (bytes: readonly number[], width: number, count: number, values: number): number[] => {
  const into = new Float64Array(count);
  const table = Float64Array.from({ length: values }, (_, i) => i);
  const runs = new RunReader(Uint8Array.from(bytes), width);
  for (let at = 0; at < count; at += 3) runs.lookUp(table, into, at, Math.min(3, count - at));
  return [...into];
};

test('reads the example of the format: 0 to 7 in three bits', () => {
  const bytes = [3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
  expect(numbersIn(bytes, 3, 8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(gathered(bytes, 3, 8, 8)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
});

test('reads runs of one number, alone and mixed with packed ones', () => {
  expect(numbersIn([2 * 5, 1, 3, 0b1111_0000, 2 * 2, 0], 1, 15)).toEqual([1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
  expect(gathered([2 * 3, 0x34, 0x12], 13, 3, 8192)).toEqual([0x1234, 0x1234, 0x1234]);
  expect(numbersIn([2 * 200, 0], 0, 0)).toEqual([]);
  expect(numbersIn([0xff, 0xff, 0xff, 0x0f, 0], 0, 4)).toEqual([0, 0, 0, 0]);
});

test.each([1, 2, 7, 8, 13, 17, 25, 26, 31, 32])('reads numbers of %i bits at any bit offset', (width) => {
  const numbers = Array.from({ length: 24 }, (_, i) => (2654435761 * (i + 1)) % 2 ** width);
  let bits = 0n;
  for (const one of numbers.toReversed()) bits = (bits << BigInt(width)) | BigInt(one);
  const bytes = Array.from({ length: 3 * width }, (_, i) => Number((bits >> BigInt(8 * i)) & 255n));
  expect(numbersIn([2 * 3 + 1, ...bytes], width, 24)).toEqual(numbers);
  if (width <= 17) expect(gathered([2 * 3 + 1, ...bytes], width, 24, 2 ** width)).toEqual(numbers);
});

test('throws if the data ends too soon or a value is not in the dictionary', () => {
  expect(() => numbersIn([], 1, 1)).toThrow(/ends within/);
  expect(() => numbersIn([2 * 3], 1, 1)).toThrow(/ends within/);
  expect(() => numbersIn([2 * 3, 1], 1, 4)).toThrow(/ends within/);
  expect(() => numbersIn([2 * 2 + 1, 0xff], 1, 16)).toThrow(/ends within/);
  expect(() => numbersIn([0, 0, 0, 0], 1, 1)).toThrow(/ends within/);
  expect(() => numbersIn([0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 1, 1)).toThrow(/more than/);
  expect(() => gathered([2 * 3, 4], 3, 3, 4)).toThrow(/value 4 of a dictionary of 4/);
  expect(() => gathered([3, 0b1000_1000, 0b1100_0110, 0b1111_1010], 3, 8, 7)).toThrow(/value 7/);
  expect(() => new RunReader(new Uint8Array(0), 33)).toThrow(/33 bits/);
});
