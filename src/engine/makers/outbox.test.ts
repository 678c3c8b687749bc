import { expect, test } from 'vitest';
import { Outbox } from './outbox.js';

test('delivers values in order, whether the consumer waits or comes late', async () => {
  let emptied = 0;
  const outbox = new Outbox<number>(() => emptied++);
  const taken: number[] = [];
  const taking = (async () => {
    for await (const value of outbox) taken.push(value);
  })();
  for (let value = 0; value < 10; value++) {
    outbox.put(value);
    if (value % 3 === 0) await Promise.resolve();
  }
  expect(outbox.length).toBeGreaterThan(0);
  outbox.end();
  await taking;
  expect(taken).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(emptied).toBeGreaterThan(0);
  expect(outbox.length).toBe(0);
});

test('delivers an error after the values put in before it', async () => {
  const outbox = new Outbox<number>();
  outbox.put(1);
  outbox.end({ error: new Error('over') });
  outbox.end();
  const taken: number[] = [];
  const taking = (async () => {
    for await (const value of outbox) taken.push(value);
  })();
  await expect(taking).rejects.toThrow('over');
  expect(taken).toEqual([1]);
});

test('drains the values that were not taken', async () => {
  const outbox = new Outbox<number>();
  for (const value of [1, 2, 3]) outbox.put(value);
  for await (const value of outbox) {
    expect(value).toBe(1);
    break;
  }
  expect(outbox.drain()).toEqual([2, 3]);
});
