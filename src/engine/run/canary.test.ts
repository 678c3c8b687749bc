import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Audit,
  awaitCanary,
  CANARY_SHARE,
  failCanary,
  isCanaryDue,
  loseCanary,
  NO_AUDIT,
  passCanary,
  sendCanary,
} from './canary.js';

test('canaries take at most 0.2 % of the work, and nearly all of it where there is enough', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 100_000 }), (items, chunk) => {
      let audit: Audit = NO_AUDIT;
      for (let id = 0; id < 2000; id++) {
        audit = awaitCanary(audit, id, chunk);
        if (!isCanaryDue(audit, items, false)) continue;
        audit = passCanary(sendCanary(audit, items)).audit;
        expect(audit.spent).toBeLessThanOrEqual(CANARY_SHARE * audit.worked);
      }
      expect(audit.spent + 2 * items + CANARY_SHARE * chunk).toBeGreaterThan(
        Math.min(CANARY_SHARE * audit.worked, (audit.worked / chunk) * items),
      );
    }),
    { numRuns: 50 },
  );
});

test('results of a slow device wait for half a second of its work, then for canaries of 2 % of it', () => {
  // A canary is an eighth of a chunk, which takes a second: by its share it would come after 62 of them.
  const perMs = 1;
  const sent: number[] = [];
  let audit: Audit = NO_AUDIT;
  for (let chunk = 1; chunk <= 40; chunk++) {
    audit = awaitCanary(audit, chunk, 1000);
    if (!isCanaryDue(audit, 125, false, perMs)) continue;
    sent.push(chunk);
    audit = passCanary(sendCanary(audit, 125)).audit;
  }
  expect(sent).toEqual([1, 8, 15, 22, 29, 36]);
  expect(isCanaryDue(awaitCanary(NO_AUDIT, 1, 499), 125, false, perMs)).toBe(false);
});

test('a canary vouches for the chunks that were complete when it was sent, and for no others', () => {
  let audit = awaitCanary(awaitCanary(NO_AUDIT, 1, 100), 2, 100);
  audit = sendCanary(audit, 1);
  audit = awaitCanary(audit, 3, 100);
  const passed = passCanary(audit);
  expect(passed.chunks).toEqual([1, 2]);
  expect(passed.audit.held).toEqual([3]);
  expect(failCanary(audit).chunks).toEqual([1, 2, 3]);
  expect(failCanary(audit).audit.held).toEqual([]);
});

test('one at a time; one that was lost is sent again; an idle device is asked at once', () => {
  const audit = awaitCanary(NO_AUDIT, 1, 100);
  expect(isCanaryDue(audit, 1, false)).toBe(false); // 1 is more than 0.2 % of 100
  expect(isCanaryDue(audit, 1, true)).toBe(true);
  const sent = sendCanary(audit, 1);
  expect(isCanaryDue(sent, 1, true)).toBe(false);
  expect(isCanaryDue(loseCanary(sent), 1, true)).toBe(true);
  expect(isCanaryDue(NO_AUDIT, 1, true)).toBe(false); // nothing to vouch for
});
