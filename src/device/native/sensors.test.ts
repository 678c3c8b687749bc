import { cpus } from 'node:os';
import { expect, test } from 'vitest';
import { busyShare, readCpuSensors, sumTimes } from './sensors.js';

const times = (user: number, idle: number) => ({ user, nice: 1, sys: 2, irq: 1, idle });

test('the busy share is that between two samples, over all processors', () => {
  const before = sumTimes([times(100, 900), times(0, 1000)]);
  const after = sumTimes([times(160, 940), times(40, 1060)]);
  expect(before).toEqual({ busy: 108, total: 2008 });
  expect(busyShare(before, after)).toBeCloseTo(0.5);
  expect(busyShare(after, after)).toBeUndefined();
});

test('the utilisation of this machine agrees with the operating system', async () => {
  const sample = () => sumTimes(cpus().map(({ times: of }) => of));
  // Each call covers the time since the one before. A busy machine may take long between a call and a sample.
  const first = sample();
  await readCpuSensors();
  const second = sample();
  await new Promise((resolve) => setTimeout(resolve, 300));
  const third = sample();
  const { utilisation = -1, memoryUsedBytes = 0 } = await readCpuSensors();
  const fourth = sample();
  expect(utilisation).toBeGreaterThanOrEqual(0);
  expect(utilisation).toBeLessThanOrEqual(1);
  expect(utilisation).toBeGreaterThan((third.busy - second.busy) / (fourth.total - first.total) - 0.15);
  expect(utilisation).toBeLessThan((fourth.busy - first.busy) / (third.total - second.total) + 0.15);
  expect(memoryUsedBytes).toBeGreaterThan(2 ** 20);
});
