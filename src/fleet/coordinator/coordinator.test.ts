import { describe, expect, test } from 'vitest';
import { between } from '../../engine/work/space.js';
import { read } from '../../kernel/language/buffers.js';
import { when } from '../../kernel/language/control.js';
import { items } from '../../kernel/language/items.js';
import type { Kernel } from '../../kernel/language/signature.js';
import { u32 } from '../../kernel/language/types.js';
import { HitChecker } from '../hit-checker.js';
import { hmacTokens } from './tokens.js';

describe('hits of a worker', () => {
  /** Hits at multiples of 5 with the value of a list there; twice at multiples of 10. */
  const kernel = items(
    'listed',
    { job: { plus: u32 }, buffers: { list: read(u32) }, hit: { value: u32 } },
    ({ index, job, buffers, emit }) => {
      const value = buffers.list.at(index.lo).add(job.plus);
      when(index.lo.rem(5).eq(0), () => emit({ value }));
      when(index.lo.rem(10).eq(0), () => emit({ value: value.add(1) }));
    },
  ) as unknown as Kernel;
  const list = Uint32Array.from({ length: 40 }, (_, at) => 100 + at);
  const checker = new HitChecker({ kernel, job: { plus: 7 }, buffers: { list } });
  const hit = (index: number, value: number) => ({ index: BigInt(index), fields: { value } });

  test('are accepted if the interpreter finds the same', async () => {
    expect(await checker.check([])).toBeUndefined();
    expect(await checker.check([hit(5, 112), hit(10, 117), hit(10, 118), hit(35, 142)])).toBeUndefined();
  });

  test.each([
    ['an index that does not hit', [hit(5, 112), hit(6, 113)], /index 6 is not a hit/],
    ['another value', [hit(15, 121)], /index 15 has other values/],
    ['one of two hits of an index', [hit(20, 127)], /index 20 has other values/],
    ['a hit too many', [hit(15, 122), hit(15, 123)], /index 15 has other values/],
    ['other fields', [{ index: 15n, fields: { value: 122, more: 1 } }], /other values/],
  ])('are refused with %s', async (_, hits, reason) => {
    expect(await checker.check(hits)).toMatch(reason);
  });
});

describe('tokens', () => {
  const claim = { job: 'j', id: '1.1', range: between(0n, 100n) };

  test('hold for one worker, job, lease and range, in every process that has the secret', () => {
    const secret = Buffer.alloc(32, 7);
    const token = hmacTokens(secret).make('w', claim);
    const isValid = (worker: string, change: Partial<typeof claim>, given = token, key: Uint8Array = secret) =>
      hmacTokens(key).isValid(worker, { ...claim, ...change }, given);
    expect(isValid('w', {})).toBe(true);
    expect(isValid('v', {})).toBe(false);
    expect(isValid('w', { job: 'k' })).toBe(false);
    expect(isValid('w', { id: '1.2' })).toBe(false);
    expect(isValid('w', { range: between(0n, 101n) })).toBe(false);
    expect(isValid('w', {}, token, Buffer.alloc(32, 8))).toBe(false);
    for (const wrong of ['', 'x', `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`, `${token}AA`])
      expect(isValid('w', {}, wrong)).toBe(false);
  });
});
