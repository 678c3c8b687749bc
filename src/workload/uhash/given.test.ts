import { describe, expect, test } from 'vitest';
import { given, hashBytes, hexBytes, nonce } from './given.js';

describe('values', () => {
  test('that are right', () => {
    expect(hexBytes('00ff')).toEqual(Uint8Array.of(0, 255));
    expect(hexBytes('0xAb')).toEqual(Uint8Array.of(0xab));
    expect(nonce('18446744073709551615')).toBe(2n ** 64n - 1n);
    expect(nonce('0x10')).toBe(16n);
  });

  test.each([
    [() => hexBytes(''), 'empty'],
    [() => hexBytes('abc'), 'even number of hex digits'],
    [() => hexBytes('zz'), 'Hex digits'],
    [() => hashBytes('ab'), '64 hex digits'],
    [() => nonce('18446744073709551616'), 'below 2^64'],
    [() => nonce('-1'), 'below 2^64'],
    [() => given.difficulty().parseArg?.('257', undefined), 'from 0 to 256'],
    [() => given.backend().parseArg?.('abacus', undefined), 'Allowed choices are auto'],
  ])('that are wrong: %s', (read, words) => {
    expect(read).toThrow(words);
  });
});
