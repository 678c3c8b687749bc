import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Block } from '../kernel/reference.js';
import { formatOutput, parseInput, parseOutput } from './file.js';

const data = new URL('../../../../test/data/block/', import.meta.url);
const files = ['course', 'mainnet', 'synthetic'].flatMap((folder) =>
  readdirSync(new URL(folder, data)).map((name) => `${folder}/${name}`),
);
const text = (name: string) => readFileSync(new URL(name, data), 'latin1');
const inputs = files.filter((name) => name.endsWith('.in'));
const outputs = files.filter((name) => name.endsWith('.out'));

function formatInput(blocks: readonly Block[]): string {
  const hex32 = (value: number) => value.toString(16).padStart(8, '0');
  const lines = [`${blocks.length}`];
  for (const block of blocks) {
    lines.push(hex32(block.version), block.previousHash, hex32(block.time), hex32(block.bits));
    lines.push(`${block.transactions.length}`, ...block.transactions);
  }
  return `${lines.join('\n')}\n`;
}

describe('example files', () => {
  it.each(inputs)('%s is read and written byte for byte', (name) => {
    expect(formatInput(parseInput(text(name)))).toBe(text(name));
  });
  it.each(outputs)('%s is read and written byte for byte', (name) => {
    expect(formatOutput(parseOutput(text(name)))).toBe(text(name));
  });
  it('are read with CRLF, upper case and no last line end; written with LF and lower case', () => {
    const written = text('synthetic/easy01.in');
    const odd = written.toUpperCase().replaceAll('\n', '\r\n').slice(0, -2);
    expect(formatInput(parseInput(odd))).toBe(written);
    expect(formatOutput(parseOutput('1\r\nEDB21FB0'))).toBe('1\nedb21fb0\n');
  });
  it('have a nonce as its bytes in header order', () => {
    expect(formatOutput([2954867437, 0, 1])).toBe('3\nedb21fb0\n00000000\n01000000\n');
  });
});

const hash = 'a'.repeat(64);
const valid = ['1', '00000001', hash, '495fab29', '1d00ffff', '1', hash];
/** The valid file with one line replaced, added or cut off. */
const withLine = (line: number, value: string) => valid.with(line - 1, value).join('\n');

describe('malformed inputs', () => {
  it.each([
    [1, 'the number of blocks', 'the end of the file', ''],
    [1, 'the number of blocks', 'an empty line', '\n'],
    [1, '1 or more', '"0"', withLine(1, '0')],
    [1, 'the number of blocks', '"-1"', withLine(1, '-1')],
    [1, 'the number of blocks', '"1.5"', withLine(1, '1.5')],
    [1, 'the number of blocks', '" 1"', withLine(1, ' 1')],
    [1, 'the number of blocks', '"1e3"', withLine(1, '1e3')],
    [1, 'the number of blocks', '"99999999999"', withLine(1, '99999999999')],
    [1, 'the number of blocks', '"\\xef\\xbb\\xbf1"', withLine(1, '\u00ef\u00bb\u00bf1')],
    [8, 'the version of block 2 of 4294967295', 'the end of the file', withLine(1, '4294967295')],
    [8, 'the version of block 2 of 2, 8 hex digits', 'the end of the file', withLine(1, '2')],
    [2, 'the version of block 1 of 1, 8 hex digits', '"1" (1 character)', withLine(2, '1')],
    [2, 'the version', '"0x000001"', withLine(2, '0x000001')],
    [3, 'the previous hash of block 1 of 1, 64 hex digits', '(63 characters)', withLine(3, hash.slice(1))],
    [3, 'the previous hash', '(65 characters)', withLine(3, `${hash}a`)],
    [4, 'the time', '"495fab2g"', withLine(4, '495fab2g')],
    [5, 'a valid compact target', 'negative', withLine(5, '1d80ffff')],
    [5, 'a valid compact target', 'zero', withLine(5, '00000000')],
    [5, 'a valid compact target', '256 bits', withLine(5, 'ff00ffff')],
    [6, 'the number of transactions of block 1 of 1, a decimal number, 1 or more', '"0"', withLine(6, '0')],
    [8, 'transaction 2 of 4294967295', 'the end of the file', withLine(6, '4294967295')],
    [7, 'transaction 1 of 1', 'an empty line', `${withLine(7, '')}\n`],
    [7, 'transaction 1 of 1', '"\\x1b[2J"', withLine(7, '\u001b[2J')],
    [7, 'transaction 1 of 1', 'the end of the file', valid.slice(0, 6).join('\n')],
    [8, 'the end of the file', 'an empty line', `${valid.join('\n')}\n\n`],
    [8, 'the end of the file', '"x"', `${valid.join('\n')}\nx`],
    [7, '64 hex digits', '\\x00', `${valid.join('\n')}\0`],
    [1, 'the number of blocks', '\\x0d', valid.join('\r')],
  ])('line %i: %s; found %s', (line, expected, found, malformed) => {
    const error = failure(() => parseInput(malformed, 'case.in'));
    expect(error.code).toBe('input-format');
    expect(error.message).toContain(`case.in, line ${line}: expected `);
    expect(error.message.split('found')[0]).toContain(expected);
    expect(error.message.split('found')[1]).toContain(found);
  });
});

describe('malformed outputs', () => {
  it.each([
    [1, 'the end of the file', ''],
    [2, 'the end of the file', '1\n'],
    [2, '(7 characters)', '1\nedb21fb\n'],
    [3, 'the end of the file', '2\nedb21fb0\n'],
    [3, '"edb21fb0"', '1\nedb21fb0\nedb21fb0\n'],
    [3, 'the end of the file', '9999999999\nedb21fb0\n'],
  ])('line %i: found %s', (line, found, malformed) => {
    const error = failure(() => parseOutput(malformed, 'case.out'));
    expect(error.code).toBe('input-format');
    expect(error.message).toContain(`case.out, line ${line}: expected `);
    expect(error.message.split('found')[1]).toContain(found);
  });
});

describe('mutations of a valid file', () => {
  const mutation = fc.record({
    at: fc.nat(400),
    cut: fc.nat(80),
    put: fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 70 }),
      fc.string({ unit: fc.constantFrom('0', '1', 'f', 'F', '\n', '\r\n', ' ', '\u0000', 'é'), maxLength: 70 }),
    ),
  });
  it.each([
    ['input', parseInput, text('mainnet/mainnet-100000.in'), formatInput],
    ['output', parseOutput, text('course/case01.out'), formatOutput],
  ] as const)('%s: a valid parse or an input-format error, never anything else', (_name, parse, original, format) => {
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 4 }), (mutations) => {
        let mutated: string = original;
        for (const { at, cut, put } of mutations) {
          const place = at % (mutated.length + 1);
          mutated = mutated.slice(0, place) + put + mutated.slice(place + cut);
        }
        try {
          const written = (format as (parsed: unknown) => string)(parse(mutated));
          const canonical = mutated.replaceAll('\r\n', '\n').toLowerCase();
          // Only leading zeros of a decimal are read but not written again.
          const plain = (text: string) => text.replace(/^0+(?=\d{1,7}$)/gm, '').replace(/\n?$/, '\n');
          expect(plain(written)).toBe(plain(canonical));
        } catch (error) {
          expectPlace(error);
        }
      }),
      { numRuns: byTier(400, 2000) },
    );
  });
});

describe('any text', () => {
  const line = fc.oneof(
    fc.string({ unit: 'binary-ascii', maxLength: 70 }),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdefABCDEF'), minLength: 8, maxLength: 8 }),
    fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: 64, maxLength: 64 }),
    fc.nat({ max: 20 }).map(String),
    fc.constantFrom('1', '2', '0', '1d00ffff', '207fffff', '4294967296', '9999999999', hash, '\r', ''),
  );
  const anything = fc.oneof(
    fc.array(line, { maxLength: 30 }).map((lines) => lines.join('\n')),
    fc.array(line, { maxLength: 30 }).map((lines) => `${lines.join('\r\n')}\r\n`),
    fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  );
  it.each([
    ['input', parseInput, formatInput],
    ['output', parseOutput, formatOutput],
  ] as const)('as %s gives an error with line and field, or can be written again', (_name, parse, format) => {
    fc.assert(
      fc.property(anything, (given) => {
        let parsed: unknown;
        try {
          parsed = parse(given);
        } catch (error) {
          return expectPlace(error);
        }
        const written = (format as (parsed: unknown) => string)(parsed);
        expect(parse(written)).toEqual(parsed);
      }),
      { numRuns: byTier(600, 3000) },
    );
  });

  it('with a count larger than the file is an error at its end: 10^10 blocks, 10^10 transactions', () => {
    const block = valid.slice(1, 5);
    expect(failure(() => parseInput(['9999999999', ...block, '1', hash].join('\n'))).message).toContain('line 8');
    expect(failure(() => parseInput(['1', ...block, '9999999999', hash].join('\n'))).message).toContain('line 8');
  });

  it('with 10^5 transactions is read, and a line of 10^7 characters is rejected', () => {
    const many = Array<string>(1e5).fill(hash);
    const [block] = parseInput(['1', ...valid.slice(1, 5), '100000', ...many].join('\n'));
    expect(block?.transactions).toHaveLength(1e5);
    const error = failure(() => parseInput(`1\n${'f'.repeat(1e7)}\n`));
    expect(error.message).toContain('line 2: expected the version of block 1 of 1, 8 hex digits');
    expect(error.message.length).toBeLessThan(500);
  });
});

/** Every field of a file, as errors name it. */
const FIELDS =
  /^the (?:in|out)put, line [1-9]\d*: expected (?:the number of blocks|the (?:version|previous hash|time|nbits|number of transactions|nonce) of block \d+ of \d+|transaction \d+ of \d+ of block \d+ of \d+|the end of the file)[,;]/;

function expectPlace(error: unknown): void {
  if (!(error instanceof MillraceError)) throw error;
  expect(error.code).toBe('input-format');
  expect(error.message).toMatch(FIELDS);
}

function failure(run: () => unknown): MillraceError {
  try {
    run();
  } catch (error) {
    if (error instanceof MillraceError) return error;
    throw error;
  }
  throw new Error('no error was thrown');
}
