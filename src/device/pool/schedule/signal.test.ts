import { describe, expect, it } from 'vitest';
import { notifyChange, waitForChange } from './signal.js';

describe.each([
  ['shared memory', () => new Int32Array(new SharedArrayBuffer(8))],
  ['memory of this thread', () => new Int32Array(2)],
])('a word in %s', (_, make) => {
  it('is waited for until it is announced', async () => {
    const words = make();
    const order: string[] = [];
    const changed = waitForChange(words, 1, 0)?.then(() => order.push('woken'));
    const other = waitForChange(words, 0, 0, 20)?.then(() => order.push('timed out'));
    words[1] = 1;
    notifyChange(new Int32Array(words.buffer), 1); // both sides have their own view
    await changed;
    expect(order).toEqual(['woken']);
    await other;
    expect(order).toEqual(['woken', 'timed out']);
  });

  it('is not waited for if it has changed already', () => {
    const words = make();
    words[0] = 1;
    expect(waitForChange(words, 0, 0)).toBeUndefined();
  });
});
