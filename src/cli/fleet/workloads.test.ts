import { describe, expect, test } from 'vitest';
import { workloads } from './workloads.js';

/** Witnesses of the workloads: what meets their weaker conditions. */
describe('a weaker condition', () => {
  const relax = (name: string, params: Record<string, string | number>, bits: number) =>
    workloads.find((one) => one.name === name)?.relax?.(params, bits) ?? {};

  test('of block is a larger target, which one in 2^bits hashes is below', async () => {
    const block = workloads.find(({ name }) => name === 'block')!;
    const params = { prefix: '01'.repeat(76), target: String(1n << 200n) };
    const weaker = relax('block', params, 6);
    let found = 0;
    for (let nonce = 0; nonce < 4096; nonce++)
      if ((await block.check(weaker, [{ index: BigInt(nonce), fields: { nonce } }])) === undefined) found++;
    // 64 are expected, 8 is a standard deviation.
    expect(Math.abs(found - 64)).toBeLessThan(32);
    // A condition that is weaker already stays.
    expect(relax('block', params, 100)).toEqual(params);
  });

  test('of uhash is a lower difficulty, for all proofs', () => {
    const params = { challenge: '00', difficulty: 20, wanted: 'first' };
    expect(relax('uhash', params, 12)).toEqual({ ...params, difficulty: 12, wanted: 'all' });
    expect(relax('uhash', params, 30)).toMatchObject({ difficulty: 20 });
  });

  test('of gaps is a smaller gap, by the density of primes, but not much smaller', () => {
    const params = { start: String(1n << 280n), length: '1000', minGap: 4000 };
    // ln 2^280 = 194.1: gaps of merit 18 begin at one in 194.1 · e^18 = 2^33.6 numbers.
    const { minGap } = relax('gaps', params, 34);
    expect(Number(minGap) / 194.1).toBeCloseTo(18.3, 0);
    expect(relax('gaps', params, 6)).toMatchObject({ minGap: 3000 });
    expect(relax('gaps', params, 60)).toMatchObject({ minGap: 4000 });
  });
});
