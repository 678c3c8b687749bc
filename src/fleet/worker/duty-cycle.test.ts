import { expect, test } from 'vitest';
import { DutyCycle } from './duty-cycle.js';

/** Runs devices that take `overrunMs` to finish what they have begun. Returns the share of the time that they were busy. */
function simulate(duty: DutyCycle, overrunMs: number, forMs: number): number {
  let [now, busyMs, idleAt] = [0, 0, 0];
  while (now < forMs) {
    const isIdle = duty.isResting && now >= idleAt;
    const ms = duty.step(now, isIdle) ?? forMs - now;
    if (!duty.isResting) idleAt = now + ms + overrunMs;
    if (now < idleAt) busyMs += Math.min(ms, idleAt - now);
    now += ms;
  }
  return busyMs / now;
}

test.each([0.05, 0.25, 0.5, 0.9])('devices are busy for %d of the time, however long their chunks are', (share) => {
  for (const overrunMs of [0, 30, 700]) {
    const duty = new DutyCycle();
    duty.share = share;
    expect(Math.abs(simulate(duty, overrunMs, 1e6) - share)).toBeLessThan(0.05);
  }
});

test('without a limit there is nothing to do, and a limit that is lifted ends the rest', () => {
  const duty = new DutyCycle();
  expect(duty.step(0, false)).toBeUndefined();
  duty.share = 0.01;
  duty.step(0, false);
  duty.step(1000, true);
  expect(duty.isResting).toBe(true);
  duty.share = 1;
  expect(duty.step(1001, true)).toBeUndefined();
  expect(duty.isResting).toBe(false);
});
