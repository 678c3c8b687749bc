import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Random } from '../../device/conformance/model/random.js';
import { MillraceError } from '../../kernel/error.js';
import { cover, dropFrom, finish, frontierOf, isHandedOut, queueRetry, take } from '../work/coverage.js';
import { between } from '../work/space.js';
import {
  addHits,
  type SearchMode,
  sizeAfterOverflow,
  sizeForRing,
  startReorderBuffer,
  takeReady,
} from './reorder-buffer.js';

interface Hit {
  readonly index: bigint;
  readonly nonce: number;
}

/** Indices of [0, 1000) that hit; some more than once. */
const found: readonly Hit[] = [17, 17, 333, 334, 335, 620, 999].map((index, nonce) => ({
  index: BigInt(index),
  nonce,
}));

/** Searches with chunks of random sizes that end in random order, up to 8 at once. */
function search(mode: SearchMode, seed: number, hits = found): { delivered: readonly Hit[]; counted: bigint } {
  const random = new Random(seed);
  let coverage = cover([between(0n, 1000n)]);
  let buffer = startReorderBuffer<Hit>(mode);
  const delivered: Hit[] = [];
  const running: number[] = [];
  for (let id = 0; !buffer.isOver; ) {
    while (running.length < 1 + random.below(8) && !isHandedOut(coverage)) {
      coverage = take(coverage, { id, device: 'a', max: 1 + random.below(200) })!.coverage;
      running.push(id++);
    }
    if (running.length > 0) {
      const [chunk] = running.splice(random.below(running.length), 1);
      const piece = coverage.inFlight.get(chunk!)!;
      const inside = hits.filter(({ index }) => index >= piece.start && index < piece.start + BigInt(piece.count));
      const done = finish(coverage, chunk!);
      const added = addHits(buffer, inside, done.newRanges);
      buffer = added.buffer;
      coverage = added.end === undefined ? done.coverage : dropFrom(done.coverage, added.end).coverage;
    }
    const ready = takeReady(buffer, frontierOf(coverage));
    buffer = ready.buffer;
    delivered.push(...ready.hits);
  }
  return { delivered, counted: coverage.done.total };
}

describe('answers do not depend on chunks or their order', () => {
  const seeds = Array.from({ length: 200 }, (_, seed) => seed);

  test('all: every hit once, in index order', () => {
    for (const seed of seeds) {
      const { delivered, counted } = search('all', seed);
      expect(delivered).toEqual(found);
      expect(counted).toBe(1000n);
    }
  });

  test('first: the smallest index; indices far above it are not tried', () => {
    for (const seed of seeds) {
      const { delivered, counted } = search('first', seed);
      expect(delivered).toEqual(found.slice(0, 1));
      expect(counted).toBeGreaterThanOrEqual(18n);
    }
    const late = found.slice(5);
    for (const seed of seeds) expect(search('first', seed, late).delivered).toEqual(late.slice(0, 1));
    expect(Math.min(...seeds.map((seed) => Number(search('first', seed).counted)))).toBeLessThan(300);
  });

  test('any: one of them; arrival: all of them, once each', () => {
    const seen = new Set<bigint>();
    for (const seed of seeds) {
      const { delivered } = search('any', seed);
      expect(delivered.length).toBe(1);
      expect(found).toContainEqual(delivered[0]);
      seen.add(delivered[0]!.index);
      const arrived = search('arrival', seed).delivered;
      expect([...arrived].sort((a, b) => Number(a.index - b.index) || a.nonce - b.nonce)).toEqual(found);
    }
    expect(seen.size).toBeGreaterThan(1);
  });

  test('no hits: every mode ends once all indices are tried', () => {
    for (const mode of ['first', 'any', 'all', 'arrival'] as const) {
      expect(search(mode, 1, [])).toEqual({ delivered: [], counted: 1000n });
    }
  });
});

test('a hit is delivered as soon as all indices below it are done, not before', () => {
  const at = (index: bigint): Hit => ({ index, nonce: 0 });
  const { buffer } = addHits(startReorderBuffer<Hit>('all'), [at(5n), at(9n)], [between(0n, 10n)]);
  expect(takeReady(buffer, 5n).hits).toEqual([]);
  const some = takeReady(buffer, 6n);
  expect(some.hits).toEqual([at(5n)]);
  const rest = takeReady(some.buffer, undefined);
  expect([rest.hits, rest.buffer.isOver]).toEqual([[at(9n)], true]);
  expect(takeReady(rest.buffer, undefined).hits).toEqual([]);
});

test('hits of indices counted before are dropped', () => {
  const hits = [3n, 7n, 12n].map((index): Hit => ({ index, nonce: 0 }));
  const { buffer } = addHits(startReorderBuffer<Hit>('all'), hits, [between(5n, 8n), between(10n, 11n)]);
  expect(buffer.pending.map(({ index }) => index)).toEqual([7n]);
});

describe('ring overflow', () => {
  /** Scans a range the way the engine does: retries in smaller chunks until all hits fit. */
  function scan(start: bigint, count: number, room: number, isHit: (index: bigint) => boolean) {
    let coverage = cover([{ start, length: BigInt(count) }]);
    const hits: bigint[] = [];
    let perItem: number | undefined;
    let tries = 0;
    for (let id = 0; !isHandedOut(coverage); id++) {
      tries++;
      const taken = take(coverage, { id, device: 'a', max: Math.min(count, sizeForRing(perItem, room)) })!;
      const inside: bigint[] = [];
      for (let item = 0; item < taken.chunk.count; item++) {
        if (isHit(taken.chunk.start + BigInt(item))) inside.push(taken.chunk.start + BigInt(item));
      }
      if (inside.length > room) {
        perItem = Math.max(perItem ?? 0, inside.length / taken.chunk.count);
        const retrySize = sizeAfterOverflow(taken.chunk, inside.length, room);
        expect(retrySize).toBeLessThan(taken.chunk.count);
        coverage = queueRetry(taken.coverage, id, retrySize);
      } else {
        hits.push(...inside);
        coverage = finish(taken.coverage, id).coverage;
      }
    }
    return { hits, tries };
  }

  test('a kernel that hits on every index: every hit arrives once', () => {
    const { hits, tries } = scan(1n << 40n, 10_000, 16, () => true);
    expect(hits).toEqual(Array.from({ length: 10_000 }, (_, item) => (1n << 40n) + BigInt(item)));
    expect(tries).toBeLessThan(1300); // 10,000 / 8, and the one that overflowed
  });

  test('clustered hits, rings of any size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(400), fc.integer({ min: 1, max: 100 }), (room, at, dense) => {
        const isHit = (index: bigint) => index >= BigInt(at) && index < BigInt(at + dense);
        const { hits } = scan(0n, 500, room, isHit);
        expect(hits).toEqual(Array.from({ length: dense }, (_, item) => BigInt(at + item)));
      }),
    );
  });

  test('one index with more hits than the ring holds is an error, with advice', () => {
    const call = () => sizeAfterOverflow({ start: 5n, count: 1 }, 9, 8);
    expect(call).toThrow(MillraceError);
    expect(call).toThrow(/index 5 alone has 9 hits.*\n.*a ring of 8 hits\n.*larger ring/);
  });
});
