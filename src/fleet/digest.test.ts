import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestInPage, fromBase64, fromHex, toHex } from './digest.js';

test('SHA-256 of pages is that of node:crypto, also at the ends of blocks and in a part of a buffer', () => {
  const bytes = Uint8Array.from({ length: 300 }, (_, n) => (n * 7) & 255);
  for (let length = 0; length < 200; length++) {
    const part = bytes.subarray(3, 3 + length);
    expect(toHex(digestInPage(part))).toBe(createHash('sha256').update(part).digest('hex'));
  }
});

test('hex and base64 are those of Buffer', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const whole = Buffer.from(bytes);
      expect(toHex(bytes)).toBe(whole.toString('hex'));
      expect(fromHex(whole.toString('hex'))).toEqual(bytes);
      expect(fromBase64(whole.toString('base64'))).toEqual(bytes);
      expect(fromBase64(whole.toString('base64url'))).toEqual(bytes);
    }),
  );
});
