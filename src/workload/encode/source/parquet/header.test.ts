import { expect, test } from 'vitest';
import { pageHeaderAt } from './header.js';

const header = (...bytes: number[]) => pageHeaderAt(Uint8Array.from(bytes), 0);
/** Type 0, 300 bytes compressed to 200; then 100 values in plain encoding, levels in runs. */
const start = [0x15, 0, 0x15, 0xd8, 4, 0x15, 0x90, 3];
const own = [0x2c, 0x15, 0xc8, 1, 0x15, 0, 0x15, 6, 0x15, 6];

test('reads the header of a version 1 page in the compact protocol', () => {
  const expected = { kind: 'data', decompressedBytes: 300, bytes: 200, entries: 100, encoding: 0, levels: [3, 3] };
  expect(header(...start, ...own, 0, 0, 99)).toMatchObject({ ...expected, end: start.length + own.length + 2 });
  // Skips statistics and fields of later versions: lists, maps, strings and numbers.
  const statistics = [0x1c, 0x18, 2, 65, 66, 0x16, 8, 0];
  const later = [0x69, 0x25, 2, 4, 0x1b, 1, 0x58, 2, 1, 65, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x11, 0x12];
  expect(header(...start, ...own, ...statistics, 0, ...later, 0)).toMatchObject(expected);
});

test('a version 2 page is compressed unless its header says otherwise', () => {
  const second = [0x5c, 0x15, 20, 0x15, 2, 0x15, 4, 0x15, 16, 0x15, 8, 0x15, 6];
  const begin = [0x15, 6, ...start.slice(2)];
  const expected = { kind: 'data-2', entries: 10, encoding: 8, definitionBytes: 4, repetitionBytes: 3 };
  expect(header(...begin, ...second, 0, 0)).toMatchObject({ ...expected, isCompressed: true });
  expect(header(...begin, ...second, 0x12, 0, 0)).toMatchObject({ ...expected, isCompressed: false });
});

test('an invalid or truncated header throws', () => {
  const whole = [...start, ...own, 0, 0];
  for (let left = 0; left < whole.length; left++) expect(() => header(...whole.slice(0, left))).toThrow();
  expect(() => header(...start, 0)).toThrow(/the part for its kind/);
  expect(() => header(0x15, 0, 0x15, 1, 0x15, 2, ...own, 0, 0)).toThrow(/size/);
  expect(() => header(...new Array(100).fill(0x1c))).toThrow(/nested too deeply/);
  expect(() => header(...new Array(100).fill(0x19))).toThrow();
  expect(() => header(0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 2)).toThrow(/cut short/);
  expect(() => header(0x18, 0xff, 0xff, 0xff, 0xff, 0x7f, 1)).toThrow(/cut short/);
  expect(() => header(0x15, ...new Array(20).fill(0xff))).toThrow(/64 bits/);
});
