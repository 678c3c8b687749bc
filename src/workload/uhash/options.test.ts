import { describe, expect, test } from 'vitest';
import { parseHash, parseHexBytes, parseNonce, uhashOptions } from './options.js';

describe('values', () => {
  test('that are valid are parsed', () => {
    expect(parseHexBytes('00ff')).toEqual(Uint8Array.of(0, 255));
    expect(parseHexBytes('0xAb')).toEqual(Uint8Array.of(0xab));
    expect(parseNonce('18446744073709551615')).toBe(2n ** 64n - 1n);
    expect(parseNonce('0x10')).toBe(16n);
  });

  test.each([
    [() => parseHexBytes(''), 'at least one byte of hex'],
    [() => parseHexBytes('abc'), 'even number of hex digits'],
    [() => parseHexBytes('zz'), 'only hex digits'],
    [() => parseHash('ab'), '64 hex digits'],
    [() => parseNonce('18446744073709551616'), 'below 2^64'],
    [() => parseNonce('-1'), 'below 2^64'],
    [() => uhashOptions.difficulty().parseArg?.('257', undefined), 'from 0 to 256'],
    [() => uhashOptions.backend().parseArg?.('abacus', undefined), 'Allowed choices are auto'],
  ])('that are invalid are rejected: %s', (read, words) => {
    expect(read).toThrow(words);
  });
});
