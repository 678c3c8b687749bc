import { expect, test } from 'vitest';
import { announceClosed, CLOSED_WORDS, ClosedPrograms } from './closed-programs.js';

const AT = 3;
const memory = (): Int32Array => new Int32Array(new SharedArrayBuffer(4 * (AT + CLOSED_WORDS)));
const programs = (...numbers: number[]): Map<number, string> => new Map(numbers.map((number) => [number, 'instance']));

test('each worker drops the programs closed since its last check', () => {
  const words = memory();
  announceClosed(words, AT, 7);
  const [first, second] = [0, 1].map(() => new ClosedPrograms(words.subarray(AT)));
  const [own, other] = [programs(7, 8, 9), programs(8, 9)];
  expect(first!.dropFrom(own)).toBe(0); // before it started
  announceClosed(words, AT, 8);
  announceClosed(words, AT, 5);
  expect(first!.dropFrom(own)).toBe(1);
  expect([...own.keys()]).toEqual([7, 9]);
  expect(first!.dropFrom(own)).toBe(0);
  announceClosed(words, AT, 9);
  expect(first!.dropFrom(own)).toBe(1);
  expect(second!.dropFrom(other)).toBe(2);
});

test('a worker that checks too late to know which drops all of them, also if the count wraps', () => {
  const words = memory();
  words[AT] = -3; // 2^32 - 3 unloaded so far
  const closed = new ClosedPrograms(words.subarray(AT));
  const own = programs(1, 2, 1000);
  for (let number = 1; number < 64; number++) announceClosed(words, AT, number);
  expect(closed.dropFrom(own)).toBe(2);
  expect([...own.keys()]).toEqual([1000]);
  for (let number = 1; number <= 64; number++) announceClosed(words, AT, number);
  expect(closed.dropFrom(own)).toBe(1);
  expect(own.size).toBe(0);
});
