import { expect, test } from 'vitest';
import { RowChecks } from '../column.js';
import type { Page } from './page.js';
import { RowScanner } from './rows.js';
import { RunReader } from './run-reader.js';

const depth = { repetition: 1, definition: 3, listDefinition: 2 } as const;
const checks = new RowChecks('x.parquet', {});
/** The maximum number of entries that a page can state, in runs of one number. */
const MOST = 2 ** 31 - 1;
const run = (value: number): Uint8Array => Uint8Array.from([0xfe, 0xff, 0xff, 0xff, 0x0f, value]);

const pageOf = (repetition: number, definition: number, entries = MOST): Page => ({
  entries,
  repetitionLevels: () => new RunReader(run(repetition), 1),
  definitionLevels: () => new RunReader(run(definition), 2),
  values: { read: () => undefined },
});

test('a run of two billion entries costs as much as one entry', () => {
  const nulls = new RowScanner(depth, checks, 4);
  expect([...nulls.page(pageOf(0, 0))]).toEqual([{ count: 4 * MOST, isZero: true }]);
  expect(nulls.rowsBegun).toBe(MOST);
  const single = new RowScanner(depth, checks, 1);
  expect([...single.page(pageOf(0, 3))]).toEqual([{ count: MOST, isZero: false }]);
  expect(() => [...new RowScanner(depth, checks, 2).page(pageOf(0, 3))]).toThrow(
    /sample 0 has 1 values, the first one 2/,
  );
  const long = new RowScanner(depth, checks, 5);
  expect([...long.page(pageOf(0, 3, 1)), ...long.page(pageOf(1, 3))]).toEqual([
    { count: 1, isZero: false },
    { count: 4, isZero: false },
  ]);
  expect(() => long.end()).toThrow(`sample 0 has ${2 ** 31} values, the first one 5`);
});

test('levels that no column can have throw', () => {
  expect(() => [...new RowScanner(depth, checks, 1).page(pageOf(1, 3))]).toThrow(/a row that has ended/);
  expect(() => [...new RowScanner({ ...depth, definition: 2 }, checks, 1).page(pageOf(0, 3))]).toThrow(/level/);
  expect(() => [...new RowScanner(depth, checks, 1).page(pageOf(2, 3))]).toThrow(/level/);
  expect(() => [...new RowScanner(depth, checks, 1).page(pageOf(0, 1))]).toThrow(/sample 0 has 0 values/);
});
