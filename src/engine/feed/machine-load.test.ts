import { expect, test } from 'vitest';
import { availableShare, MachineLoad, type ProcessorTimes } from './machine-load.js';

/** A second of two processors: of 2000 ms, this process uses `ownMs`, and `idleMs` are idle. */
const second = (ownMs: number, idleMs: number, seconds = 1): [ProcessorTimes, ProcessorTimes] => [
  { atMs: 5000, ownMs: 100, idleMs: 900, processors: 2 },
  { atMs: 5000 + 1000 * seconds, ownMs: 100 + ownMs, idleMs: 900 + idleMs, processors: 2 },
];

test.each([
  ['nothing else runs', 1900, 90, 0.995],
  ['everything is idle, as when a device hangs', 0, 2000, 1],
  ['two other programs want both processors', 1000, 0, 0.5],
  ['one processor is taken from the virtual machine', 0, 1000, 0.5],
  ['other programs use everything', 10, 0, 1 / 16],
  ['counters disagree', 1900, 200, 1],
  ['counters run backwards', 0, -900, 1],
])('available share: %s', (_case, ownMs, idleMs, share) => {
  expect(availableShare(...second(ownMs, idleMs))).toBeCloseTo(share, 6);
});

test('reads the load at most twice a second', () => {
  let reads = 0;
  const [before, after] = second(500, 0);
  const machine = new MachineLoad(() => (reads++ === 0 ? before : after));
  expect([machine.availableShare(5100), machine.availableShare(5499)]).toEqual([1, 1]);
  expect(reads).toBe(1);
  expect(machine.availableShare(6000)).toBeCloseTo(0.25, 6);
  expect(machine.availableShare(6100)).toBeCloseTo(0.25, 6);
  expect(reads).toBe(2);
});

test('the share is 1 if the system reports no times', () => {
  expect(new MachineLoad(() => undefined).availableShare(1e9)).toBe(1);
});
