import { expect, test } from 'vitest';
import { LaunchWatch, WATCH_MS } from './launch-watch.js';

test('time counts while there is work, but not while the process is stopped', () => {
  const watch = new LaunchWatch(3000);
  let now = 0;
  const after = (ms: number, hasWork = true) => {
    now += ms;
    return watch.isOver(hasWork, now);
  };
  expect([after(0), after(1000), after(1000), after(1000)]).toEqual([false, false, false, false]);
  expect(after(WATCH_MS)).toBe(true);
  watch.completed();
  expect([after(1000), after(1000), after(1000, false), after(1000)]).toEqual([false, false, false, false]);
  watch.completed();
  // SIGSTOP for a minute.
  expect([after(60_000), after(1000), after(1000)]).toEqual([false, false, false]);
  expect(after(1000)).toBe(true);
});
