import { expect, test } from 'vitest';
import { StallDetector } from './stall.js';

/** The silent times, in steps of 50 ms, at which a limit is exceeded. */
function strikes(dueMs: number | undefined, untilMs: number, patience = 1): number[] {
  const detector = new StallDetector(1, patience);
  const found: number[] = [];
  for (let ms = 50; ms <= untilMs; ms += 50) if (detector.add(0, 50, dueMs)) found.push(ms);
  return found;
}

test('limits are 1, 3 and 7 times the stall limit of the queue', () => {
  expect(strikes(1, 20_000)).toEqual([2050, 6050, 14_050]);
  expect(strikes(1000, 60_000)).toEqual([8050, 24_050, 56_050]);
  expect(strikes(undefined, 100_000)).toEqual([60_050]);
  expect(strikes(1, 1000, 0.05)).toEqual([150, 350, 750]);
});

test('a completion resets the silent time of its stream only', () => {
  const detector = new StallDetector(2);
  detector.add(0, 3000, 1);
  detector.add(1, 3000, 1);
  detector.reset(0);
  expect([detector.isStalled, detector.silentMs(0), detector.silentMs(1)]).toEqual([true, 0, 3000]);
  detector.reset(1);
  expect([detector.isStalled, detector.strikes]).toEqual([false, 0]);
});
