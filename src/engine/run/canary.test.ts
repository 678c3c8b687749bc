import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import {
  awaitCanary,
  CANARY_SHARE,
  type CanaryState,
  failCanary,
  isCanaryDue,
  NO_CANARY_STATE,
  passCanary,
  resetCanary,
  sendCanary,
} from './canary.js';

test('canaries take at most 0.2 % of the work, and nearly that much if there is enough work', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 100_000 }), (items, chunk) => {
      let audit: CanaryState = NO_CANARY_STATE;
      for (let id = 0; id < 2000; id++) {
        audit = awaitCanary(audit, id, chunk);
        if (!isCanaryDue(audit, items, false)) continue;
        audit = passCanary(sendCanary(audit, items)).state;
        expect(audit.canaryItems).toBeLessThanOrEqual(CANARY_SHARE * audit.workItems);
      }
      expect(audit.canaryItems + 2 * items + CANARY_SHARE * chunk).toBeGreaterThan(
        Math.min(CANARY_SHARE * audit.workItems, (audit.workItems / chunk) * items),
      );
    }),
    { numRuns: byTier(10, 50) },
  );
});

test('a slow device gets a canary after half a second of work, then canaries of up to 2 % of its work', () => {
  // A canary is an eighth of a chunk, and a chunk takes a second: at 0.2 % it would come after 62 chunks.
  const perMs = 1;
  const sent: number[] = [];
  let audit: CanaryState = NO_CANARY_STATE;
  for (let chunk = 1; chunk <= 40; chunk++) {
    audit = awaitCanary(audit, chunk, 1000);
    if (!isCanaryDue(audit, 125, false, perMs)) continue;
    sent.push(chunk);
    audit = passCanary(sendCanary(audit, 125)).state;
  }
  expect(sent).toEqual([1, 8, 15, 22, 29, 36]);
  expect(isCanaryDue(awaitCanary(NO_CANARY_STATE, 1, 499), 125, false, perMs)).toBe(false);
});

test('a canary vouches for the chunks that were complete when it was sent, and for no others', () => {
  let audit = awaitCanary(awaitCanary(NO_CANARY_STATE, 1, 100), 2, 100);
  audit = sendCanary(audit, 1);
  audit = awaitCanary(audit, 3, 100);
  const passed = passCanary(audit);
  expect(passed.chunks).toEqual([1, 2]);
  expect(passed.state.heldChunks).toEqual([3]);
  expect(failCanary(audit).chunks).toEqual([1, 2, 3]);
  expect(failCanary(audit).state.heldChunks).toEqual([]);
});

test('one canary is sent at a time; a lost one is sent again; an idle device gets one at once', () => {
  const audit = awaitCanary(NO_CANARY_STATE, 1, 100);
  expect(isCanaryDue(audit, 1, false)).toBe(false); // 1 is more than 0.2 % of 100
  expect(isCanaryDue(audit, 1, true)).toBe(true);
  const sent = sendCanary(audit, 1);
  expect(isCanaryDue(sent, 1, true)).toBe(false);
  expect(isCanaryDue(resetCanary(sent), 1, true)).toBe(true);
  expect(isCanaryDue(NO_CANARY_STATE, 1, true)).toBe(false); // nothing to vouch for
});
