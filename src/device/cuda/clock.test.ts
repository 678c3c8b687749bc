import fc from 'fast-check';
import { expect, test } from 'vitest';
import { drift } from './clock.js';

test('times that lie between sending and seeing stay', () => {
  expect(drift(110n, 190n, { sentNs: 100n, doneNs: 200n })).toBe(0n);
});

test('others are moved by as little as puts them there', () => {
  expect(drift(90n, 180n, { sentNs: 100n, doneNs: 200n })).toBe(10n);
  expect(drift(150n, 230n, { sentNs: 100n, doneNs: 200n })).toBe(-30n);
  expect(drift(90n, 195n, { sentNs: 100n, doneNs: 200n })).toBe(0n); // longer than the host thinks: rounding
});

test('never past the moment at which the work was seen to be done', () => {
  const time = fc.bigInt({ min: 0n, max: 10_000n });
  fc.assert(
    fc.property(time, time, time, time, (started, length, sent, wait) => {
      const seen = { sentNs: sent, doneNs: sent + wait };
      const ended = started + length;
      expect(ended + drift(started, ended, seen)).toBeLessThanOrEqual(seen.doneNs);
    }),
  );
});
