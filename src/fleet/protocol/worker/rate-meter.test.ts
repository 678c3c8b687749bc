import { expect, test } from 'vitest';
import { RateMeter } from './rate-meter.js';

test('the first figure, with the time to compile, is replaced by the second one; later ones are averaged', () => {
  const meter = new RateMeter();
  meter.start(0);
  meter.add(256n, 512);
  expect([meter.perMs, meter.isRough]).toEqual([0.5, true]);
  meter.add(768n, 520);
  meter.stop(522);
  expect([meter.perMs, meter.isRough]).toEqual([76.8, false]);
  meter.start(1000);
  meter.add(300_000n, 2000);
  expect(meter.perMs).toBe((76.8 + 300) / 2);
});

test('chunks that complete at the same moment do not count as infinitely fast', () => {
  const meter = new RateMeter();
  meter.start(0);
  meter.add(10n, 100);
  meter.add(1000n, 100);
  meter.stop(100);
  expect(meter.perMs).toBe(200);
});
