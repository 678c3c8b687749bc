import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from './json-exact.js';

describe('JSON with long numbers', () => {
  it.each([
    ['9007199254740993', '9007199254740993'],
    ['[18446744073709551615, 5]', ['18446744073709551615', 5]],
    ['{"a":{"b":1234567890123456}}', { a: { b: '1234567890123456' } }],
    [
      '{"1234567890123456":"1234567890123456, \\" 1234567890123456"}',
      { '1234567890123456': '1234567890123456, " 1234567890123456' },
    ],
    ['"\\\\"', '\\'],
    ['["\\\\", 1234567890123456]', ['\\', '1234567890123456']],
    [
      '[1234567890123456.5, 0.1234567890123456, 1e20, -1234567890123456]',
      [1234567890123456.5, 0.1234567890123456, 1e20, -1234567890123456],
    ],
    ['123456789012345', 123456789012345],
  ])('%s', (text, wanted) => {
    expect(parseExact(text)).toEqual(wanted);
  });

  it('all other text is parsed as by JSON.parse', () => {
    const short = fc.jsonValue().filter((value) => !/(?<![\d.])\d{16}/.test(JSON.stringify(value)));
    fc.assert(
      fc.property(short, (value) => {
        const text = JSON.stringify(value);
        expect(parseExact(text)).toEqual(JSON.parse(text));
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = (parse: (text: string) => unknown): unknown => {
          try {
            return parse(text);
          } catch (error) {
            return (error as Error).name;
          }
        };
        fc.pre(!/\d{16}/.test(text));
        expect(read(parseExact)).toEqual(read(JSON.parse));
      }),
    );
  });

  it('numbers of any length keep their digits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 10n ** 15n, max: 10n ** 40n }), fc.string(), (number, text) => {
        const line = `{"before":${JSON.stringify(text)},"difficulty":${number},"after":[${number}]}`;
        expect(parseExact(line)).toEqual({ before: text, difficulty: `${number}`, after: [`${number}`] });
      }),
    );
  });
});
