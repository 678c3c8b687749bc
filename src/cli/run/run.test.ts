import { describe, expect, it } from 'vitest';
import type { Field } from '../../kernel/index.js';
import { columnsOf } from './columns.js';
import { parseSpace } from './space.js';
import { addParam, jobValues, type Params, parseUntyped, parseWholeNumber } from './values.js';

const params = (...texts: string[]): Params =>
  texts.reduce<Params>((before, text) => addParam(text, before), new Map());

describe('whole numbers', () => {
  it.each([
    ['0', 0n],
    ['1_000_000', 1_000_000n],
    ['2^40', 1n << 40n],
    ['10^3', 1000n],
    ['1e12', 1_000_000_000_000n],
    ['1.5e3', 1500n],
    ['0xFfff', 65_535n],
    ['-7', -7n],
    ['340282366920938463463374607431768211456', 1n << 128n],
  ])('%s', (text, value) => expect(parseWholeNumber(text)).toBe(value));

  it.each(['', ' ', '1.5', '1.55e1', '1e-3', '0x', '2^', '^2', '2^x', 'ten', '1 2', '2^-1', '--1'])(
    'reject %j',
    (text) => expect(parseWholeNumber(text)).toBeUndefined(),
  );
});

describe('a space', () => {
  it.each([
    ['2^128', { start: 0n, length: 1n << 128n }],
    ['1', { start: 0n, length: 1n }],
    ['2^40:2^41', { start: 1n << 40n, length: 1n << 40n }],
    ['5:0x10', { start: 5n, length: 11n }],
  ])('%s', (text, range) => expect(parseSpace(text)).toEqual(range));

  it.each(['0', '2^129', '7:7', '8:7', ':7', '7:', '1:2:3', '-5', '-5:5', '1.5'])('rejects %j', (text) =>
    expect(() => parseSpace(text)).toThrow('2^40'),
  );
});

describe('parameters', () => {
  const fields: Field[] = [
    { name: 'count', type: 'u32', length: 1, array: false },
    { name: 'shift', type: 'i32', length: 1, array: false },
    { name: 'limit', type: 'u64', length: 1, array: false },
    { name: 'scale', type: 'f32', length: 1, array: false },
    { name: 'on', type: 'bool', length: 1, array: false },
    { name: 'hash', type: 'u32', length: 3, array: true },
    { name: 'wide', type: 'u64', length: 2, array: true },
  ];

  it('have the declared types', () => {
    const given = params('count=0xff', 'shift=-3', 'limit=2^63', 'scale=-1.5e-3', 'on=true', 'hash=1, 2,0x3');
    expect(jobValues(fields, given)).toEqual({
      count: 255,
      shift: -3,
      limit: 1n << 63n,
      scale: -0.0015,
      on: true,
      hash: [1, 2, 3],
    });
    expect(jobValues(fields, params('hash=0x000000010000000200000003', `wide=0x${'0'.repeat(31)}9`))).toEqual({
      hash: [1, 2, 3],
      wide: [0n, 9n],
    });
  });

  it.each([
    ['count=-1', 'from 0 to 4294967295'],
    ['count=4294967296', 'from 0 to 4294967295'],
    ['count=', 'from 0 to 4294967295'],
    ['shift=2^31', 'from -2147483648 to 2147483647'],
    ['limit=2^64', 'from 0 to 18446744073709551615'],
    ['scale=0x10', 'give a number'],
    ['on=yes', 'true or false'],
    ['hash=1,2', 'give 3 values'],
    ['hash=0x00000001', 'give 3 values'],
    ['hash=1,2,x', 'from 0 to'],
  ])('%s is refused', (text, advice) => expect(() => jobValues(fields, params(text))).toThrow(advice));

  it('have a name and a value, each name once', () => {
    expect(params('a=b=c').get('a')).toBe('b=c');
    for (const text of ['a', '=1', '']) expect(() => params(text)).toThrow('name=value');
    expect(() => params('a=1', 'a=2')).toThrow('twice');
  });

  it('have a type guessed from the text if none is declared', () => {
    expect(['7', '-7', '0x10', '2^60', '1.5', 'true', 'abc', '1,x'].map(parseUntyped)).toEqual([
      ...[7, -7, 16, 1n << 60n, 1.5, true, 'abc'],
      [1, 'x'],
    ]);
  });
});

it('hits are printed in aligned columns', () => {
  const columns = columnsOf({ start: 0n, length: 100_000n }, [
    { name: 'n', type: 'u32', length: 1, array: false },
    { name: 'digest', type: 'u32', length: 2, array: true },
    { name: 'at', type: 'f64', length: 2, array: true },
  ]);
  const hit = (index: bigint, n: number) => ({ index, n, digest: [1, 0xabcdef01], at: [0.5, 2] });
  expect([columns.heading, columns.line(hit(3n, 4_000_000_000)), columns.line(hit(99_999n, 7))]).toEqual([
    'index           n            digest  at',
    '    3  4000000000  00000001abcdef01  0.5,2',
    '99999           7  00000001abcdef01  0.5,2',
  ]);
});
