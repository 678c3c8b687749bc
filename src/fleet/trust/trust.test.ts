import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { between } from '../../engine/work/space.js';
import { compare } from './contribution.js';
import { JobTrust } from './job-trust.js';
import { EPOCH_EVIDENCE, type Measured, sample } from './sampling.js';
import { MIN_AGREEMENTS, Standings } from './standing.js';
import { poissonTail, WITNESSES, witnessBits } from './witness.js';

/** A sequence of random numbers that can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe('witnesses', () => {
  test("the tail of Poisson's law is right", () => {
    // Computed with 60 digits.
    for (const [count, mean, right] of [
      [0, 16, 1.1253517471925912e-7],
      [7, 16, 0.009999780953104793],
      [16, 16, 0.5659624230098766],
      [900, 1000, 0.0006977673277963068],
    ] as const)
      expect(poissonTail(count, mean) / right).toBeCloseTo(1, 9);
  });

  test('about 16 to 32 are expected in half a minute of any worker, and bits do not change with every rate', () => {
    for (const perMs of [0.001, 1, 500, 1e6, 1e9]) {
      const expected = (perMs * 30_000) / 2 ** witnessBits(perMs, undefined);
      expect(expected).toBeLessThan(32);
      if (perMs >= 1) expect(expected).toBeGreaterThanOrEqual(16);
    }
    const bits = witnessBits(1000, undefined);
    expect(witnessBits(2000, bits)).toBe(bits);
    expect(witnessBits(100_000, bits)).toBeGreaterThan(bits);
  });
});

describe('two reports of a range', () => {
  const at = (...indices: bigint[]) => indices.map((index) => ({ index, fields: {} }));
  const report = (hits: bigint[], witnesses: bigint[]) => ({ hits: at(...hits), witnesses: at(...witnesses) });

  test.each([
    ['that are equal prove nothing', report([1n], [2n, 3n]), report([1n], [3n, 2n]), undefined, undefined],
    ['prove wrong the worker that lacks a witness', report([], [2n, 3n]), report([], [3n]), undefined, 2n],
    ['prove wrong the worker that lacks a hit', report([], [3n]), report([1n], [3n]), 1n, undefined],
    ['may prove both wrong', report([], [2n]), report([], [3n]), 3n, 2n],
    ['a hit that is called a witness is left out', report([], [1n, 2n]), report([1n], [2n]), 1n, undefined],
  ])('%s', (_, one, other, oneLacks, otherLacks) => {
    expect(compare(one, other)).toMatchObject({ oneLacks, otherLacks });
  });
});

describe('samples', () => {
  /** The share of runs in which a worker is not found that skips a tenth: all of it in a share of its leases. */
  function escapes(share: number, runs: number): { readonly escaped: number; readonly audited: number } {
    const random = randomFrom(Math.round(share * 1000) + 1);
    const poisson = (mean: number): number => {
      let count = 0;
      for (let rest = random(); rest > Math.exp(-mean); rest *= random()) count++;
      return count;
    };
    const leases = EPOCH_EVIDENCE / WITNESSES;
    const likelihoods = Array.from({ length: 100 }, (_, count) => poissonTail(count, WITNESSES));
    let [escaped, audited] = [0, 0];
    for (let run = 0; run < runs; run++) {
      const lost: number[] = [];
      const results = Array.from({ length: leases }, (): Measured => {
        const skipped = random() < share ? 0.1 / share : 0;
        lost.push(skipped > 0 ? poisson(WITNESSES * skipped) : 0);
        const found = skipped < 1 ? poisson(WITNESSES * (1 - skipped)) : 0;
        return { indices: 1, expected: WITNESSES, likelihood: likelihoods[found] ?? 1 };
      });
      const chosen = sample(results, random);
      audited += chosen.size / leases;
      if (![...chosen].some((place) => (lost[place] ?? 0) > 0)) escaped++;
    }
    return { escaped: escaped / runs, audited: audited / runs };
  }

  test('find a worker that skips a tenth within 100 leases with p > 0.999, however it spreads what it skips', () => {
    const runs = byTier(300, 10_000, 200_000);
    for (const share of [1, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1]) {
      const { escaped, audited } = escapes(share, runs);
      // Three standard deviations of what is measured.
      expect(escaped).toBeLessThan(0.001 + 3 * Math.sqrt(0.001 / runs));
      expect(audited).toBeLessThan(0.11);
    }
    expect(escapes(1, 200).audited).toBeLessThan(0.09);
  });

  test('are everything if that proves little', () => {
    const results = Array.from({ length: 4 }, (): Measured => ({ indices: 1, expected: WITNESSES, likelihood: 1 }));
    expect(sample(results, randomFrom(1)).size).toBe(4);
    expect(
      sample(
        results.map((one) => ({ ...one, expected: 0 })),
        randomFrom(1),
      ).size,
    ).toBe(4);
  });
});

describe('standings', () => {
  const agreeing = (standings: Standings, partners: readonly string[], evidence: number) => {
    for (let at = 0; at < MIN_AGREEMENTS; at++) standings.agree('w', partners[at % partners.length] ?? '', evidence);
    return standings.of('w');
  };
  const strangers = (): Standings => new Standings((worker) => worker === 'own');

  test('trust takes ten agreements with evidence, with three workers or one of our own', () => {
    expect(agreeing(strangers(), ['a', 'b', 'c'], 16)).toBe('trusted');
    expect(agreeing(strangers(), ['own'], 16)).toBe('trusted');
    expect(agreeing(strangers(), ['a', 'b', 'c'], 1)).toBe('new');
    expect(agreeing(strangers(), ['a', 'b', 'c'], 0)).toBe('new');
    // An accomplice can agree for ever.
    expect(agreeing(strangers(), ['accomplice'], 16)).toBe('new');
  });

  test('a worker that was proven wrong stays barred', () => {
    const standings = strangers();
    standings.bar('w');
    expect(agreeing(standings, ['own'], 16)).toBe('barred');
  });
});

describe('a job', () => {
  const at = (...indices: bigint[]) => indices.map((index) => ({ index, fields: {} }));
  const [mine, audited] = [between(0n, 100n), { id: '2', holder: 'v', request: 1, deadline: 1e9 }];
  const begin = () => {
    const trust = new JobTrust(new Standings((worker) => worker === 'own'), randomFrom(5), 1000n);
    trust.add({ id: '1', worker: 'w', bits: 4 }, { ranges: [mine], hits: at(7n), witnesses: at(3n, 50n) }, true);
    return trust;
  };

  test('counts what a new worker did when another has found the same', () => {
    const trust = begin();
    expect(trust.takeSettled()).toEqual([]);
    expect(trust.isSettled).toBe(false);
    trust.assign(['w'], 0);
    expect(trust.take({ ...audited, worker: 'w' }, 1000n, 0)).toBeUndefined();
    trust.assign(['w', 'own'], 0);
    const piece = trust.take({ ...audited, worker: 'own' }, 1000n, 0)!;
    expect(piece).toMatchObject({ range: mine, audit: { contribution: { bits: 4 } } });
    expect(trust.audited(piece, { ranges: [mine], hits: at(7n), witnesses: at(3n, 50n) }, 0)).toEqual([]);
    expect(trust.takeSettled()).toMatchObject([{ worker: 'w', range: mine, hits: at(7n) }]);
    expect(trust.isSettled).toBe(true);
  });

  test('forgets what a worker did that left something out', () => {
    const trust = begin();
    trust.assign(['w', 'own'], 0);
    const piece = trust.take({ ...audited, worker: 'own' }, 1000n, 0)!;
    const proofs = trust.audited(piece, { ranges: [mine], hits: at(7n), witnesses: at(3n, 4n, 50n) }, 0);
    expect(proofs).toEqual([{ worker: 'w', reason: 'it left out what is at index 4' }]);
    expect(trust.revoke('w')).toEqual([mine]);
    expect(trust.isSettled).toBe(true);
  });

  test('asks another auditor if the first is wrong, or only new', () => {
    const trust = begin();
    trust.assign(['w', 'v'], 0);
    const piece = trust.take({ ...audited, worker: 'v' }, 1000n, 0)!;
    const whole = { ranges: [mine], hits: at(7n), witnesses: at(3n, 50n) };
    trust.assign(['w', 'v', 'u'], 0);
    expect(trust.audited(piece, whole, 0)).toEqual([]);
    expect(trust.takeSettled()).toEqual([]);
    trust.assign(['w', 'v', 'u'], 0);
    expect(trust.take({ ...audited, id: '3', worker: 'v' }, 1000n, 0)).toBeUndefined();
    const second = trust.take({ ...audited, id: '4', worker: 'u' }, 1000n, 0)!;
    expect(trust.audited(second, { ...whole, witnesses: at(3n) }, 0)).toMatchObject([{ worker: 'u' }]);
    expect(trust.isSettled).toBe(false);
  });
});
