import { expect, test } from 'vitest';
import { EventHub } from '../../console/live/event-hub.js';
import { watchThisProcess } from './watched-process.js';

test('a process without a job and a recorded chunk says so', async () => {
  const hub = new EventHub();
  const watched = watchThisProcess(hub);
  await expect(watched.control({ action: 'pause' })).rejects.toThrow('no job runs now');
  expect(() => watched.trace()).toThrow('no chunk has been recorded yet');
  hub.job = { control: async ({ action }) => `${action}d` };
  hub.trace = () => ['a trace'];
  expect(await watched.control({ action: 'pause' })).toBe('paused');
  expect([...(watched.trace() as Iterable<string>)]).toEqual(['a trace']);
  watched.close();
});

test('results are found by their index or any value, in pages', () => {
  const hub = new EventHub();
  hub.publish('hit', { index: 7n, hit: { word: 'Kiwi', at: 1 } });
  const watched = watchThisProcess(hub);
  hub.publish('hit', { index: 17n, hit: { word: 'plum', at: 2 } });
  hub.publish('hit', { index: 20n, hit: { word: 'fig', at: 7 } });
  const found = (search: string, from = 0, count = 10) => {
    const { total, rows } = watched.hits(from, count, search);
    return [total, ...rows.map(({ values }) => values.word)];
  };
  expect(found('')).toEqual([3, 'Kiwi', 'plum', 'fig']);
  expect(found('7')).toEqual([3, 'Kiwi', 'plum', 'fig']);
  expect(found('17')).toEqual([1, 'plum']);
  expect(found('KIWI')).toEqual([1, 'Kiwi']);
  expect(found('pear')).toEqual([0]);
  expect(found('7', 1, 1)).toEqual([3, 'plum']);
  watched.close();
  hub.publish('hit', { index: 30n, hit: { word: 'late', at: 3 } });
  expect(found('')).toEqual([3, 'Kiwi', 'plum', 'fig']);
});
