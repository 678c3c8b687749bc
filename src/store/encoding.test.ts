import fc from 'fast-check';
import { expect, it } from 'vitest';
import { items, table, u32, when } from '../kernel/index.js';
import { canonicalText, checksumOf, decode, encode, indexText, parseIndex } from './encoding.js';
import { jobIdOf, jobKeyOf, programText } from './identity.js';

it('the text of an index sorts in numeric order', () => {
  const index = fc.bigInt(0n, 1n << 128n);
  fc.assert(
    fc.property(index, index, (a, b) => {
      expect(parseIndex(indexText(a))).toBe(a);
      expect(indexText(a) < indexText(b)).toBe(a < b);
    }),
  );
});

it('values are decoded as they were encoded', () => {
  const scalar = fc.oneof(fc.double(), fc.bigInt(), fc.boolean(), fc.string(), fc.integer());
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(scalar, fc.array(scalar))), (values) => {
      expect(decode(encode(values))).toEqual(values);
    }),
  );
  expect(Object.is((decode(encode([-0])) as number[])[0], -0)).toBe(true);
});

it('equal values have equal text, whatever the order of their keys', () => {
  expect(canonicalText({ b: 1n, a: [{ d: 1, c: 2 }] })).toBe(canonicalText({ a: [{ c: 2, d: 1 }], b: 1n }));
  expect(canonicalText({ a: 1 })).not.toBe(canonicalText({ a: 1n }));
  expect(canonicalText({ a: new Uint32Array([1]) })).not.toBe(canonicalText({ a: new Uint32Array([2]) }));
  expect(canonicalText({ a: new Uint32Array([1]) })).not.toBe(canonicalText({ a: new Uint8Array([1, 0, 0, 0]) }));
});

it('checksums of different rows, tables and columns differ', () => {
  const checksums = [
    checksumOf('done', ['a', 1]),
    checksumOf('done', ['a', 2]),
    checksumOf('done', ['a1', '']),
    checksumOf('hits', ['a', 1]),
  ];
  expect(new Set(checksums).size).toBe(checksums.length);
});

/** A kernel that can differ in one place. */
const kernel = (every: number, values: readonly number[] = [1, 2, 3, 4]) =>
  items('marked', { job: { first: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
    const found = table(u32, values).at(index.lo.and(3)).add(job.first);
    when(index.lo.rem(every).eq(found), () => emit({ n: index.lo }));
  });

it('a kernel is identified by its program, not by its source location', () => {
  const first = programText(kernel(100));
  expect(programText(kernel(100))).toBe(first);
  expect(programText(kernel(101))).not.toBe(first);
  expect(programText(kernel(100, [1, 2, 3, 5]))).not.toBe(first);
});

it('a job is identified by its command, parameters, kernel and space', () => {
  const job = { command: 'run', params: { a: 1 }, kernel: 'text', space: { start: 0n, length: 10n } };
  const others = [
    { ...job, command: 'mine' },
    { ...job, params: { a: 2 } },
    { ...job, kernel: 'texts' },
    { ...job, space: { start: 1n, length: 10n } },
    { ...job, space: { start: 0n, length: 11n } },
  ];
  expect(jobKeyOf({ ...job })).toBe(jobKeyOf(job));
  expect(new Set([job, ...others].map(jobKeyOf)).size).toBe(6);
  expect(jobIdOf(jobKeyOf(job), 0)).toMatch(/^[0-9a-f]{12}$/);
  expect(jobIdOf(jobKeyOf(job), 0)).not.toBe(jobIdOf(jobKeyOf(job), 1));
});
