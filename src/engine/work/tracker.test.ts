import { expect, test } from 'vitest';
import { MemorySource } from './source.js';
import { WorkTracker } from './tracker.js';

test('an index is in one place: done, to be checked, or on a device', () => {
  const tracker = new WorkTracker(new MemorySource({ start: 0n, length: 100n }));
  tracker.lease(100n);
  const [first, second, third] = ['a', 'b', 'a'].map((device) => tracker.take(device, 10));
  const twin = tracker.duplicate('b', 10, first!.id);
  const onDevices = new Set([first, second, third, twin].map((chunk) => chunk!.id));
  const places = () => {
    const { done, unconfirmed = [], onDevice } = tracker.places((id) => onDevices.has(id));
    const texts = (ranges: Iterable<{ start: bigint; length: bigint }>) =>
      [...ranges].map(({ start, length }) => `${start}+${length}`).join();
    return [texts(done), texts(unconfirmed), texts(onDevice)];
  };
  expect(places()).toEqual(['', '', '0+30']);
  // The first has ended; another device still has the same indices.
  onDevices.delete(first!.id);
  onDevices.delete(third!.id);
  expect(places()).toEqual(['', '0+10,20+10', '10+10']);
  tracker.finish(first!.id);
  expect(places()).toEqual(['0+10', '20+10', '10+10']);
  tracker.giveBack(third!.id);
  expect(places()).toEqual(['0+10', '', '10+10']);
});
