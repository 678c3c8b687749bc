import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import type { Device } from '../../../device/device.js';
import { listDevices, openDevice } from '../../../device/registry.js';
import { Engine } from '../../../engine/engine.js';
import { between } from '../../../engine/work/space.js';
import { parseCharsets, toByteString } from '../space/charset.js';
import { Keyspace } from '../space/keyspace.js';
import { type Layout, layoutNames, separatorOf } from '../space/layout.js';
import { parseMask, prefixesOf } from '../space/mask.js';
import type { Order } from '../space/order.js';
import { maxBytes, wordsOf } from '../space/words.js';
import { type WordOptions, wordBatches } from './batches.js';

/** The batches' bytes, checked to follow each other without a gap. */
async function gathered(space: Keyspace, from: bigint, to: bigint, options: WordOptions): Promise<string> {
  let text = '';
  let next = from;
  for await (const batch of wordBatches(space, between(from, to), options)) {
    expect(batch.start).toBe(next);
    next += BigInt(batch.count);
    text += toByteString(batch.bytes);
    batch.release();
  }
  expect(next).toBe(to);
  return text;
}

/** The same words, made by the host. */
function expected(space: Keyspace, from: bigint, to: bigint, layout: Layout): string {
  return space
    .parts(from, to)
    .map(({ words, from: first, to: end }) => {
      const into = new Uint8Array(maxBytes(words, Number(end - first), separatorOf(layout)));
      return toByteString(into.subarray(0, words.fill(into, first, Number(end - first), separatorOf(layout))));
    })
    .join('');
}

const { devices } = await listDevices();

describe.each(devices.map(({ id }) => id))('%s', (id) => {
  let device: Device;
  let engine: Engine;
  const isSlow = id === 'interpreter';
  beforeAll(async () => {
    device = await openDevice(id);
    engine = new Engine([device]);
  });
  afterAll(async () => {
    await engine?.close();
    await device?.close();
  });
  /** A short run has all layouts on one device only. */
  const layouts = byTier(id === 'native' ? layoutNames : layoutNames.slice(0, 1), layoutNames);
  const options = (layout: Layout, batchBytes = 4096): WordOptions => ({
    layout,
    engine: async () => engine,
    batchBytes,
    minDeviceBytes: 0,
  });

  test.each(layouts)('makes the words of any mask and window, %s', async (layout) => {
    const size = fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 12 }) }, fc.integer({ min: 1, max: 256 }));
    const charset = size.chain((length) =>
      fc
        .uniqueArray(fc.integer({ min: 0, max: 255 }), { minLength: length, maxLength: length })
        .map((codes) => codes.map((code) => String.fromCharCode(code))),
    );
    const mask = fc.array(charset, { minLength: 1, maxLength: isSlow ? 6 : 20 });
    await fc.assert(
      fc.asyncProperty(
        mask,
        fc.constantFrom<Order>('canonical', 'hashcat'),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: isSlow ? 60 : 3000 }),
        fc.constantFrom(300, 1000, 4096),
        async (positions, order, where, wanted, batchBytes) => {
          const space = new Keyspace([wordsOf(positions, order)]);
          const from = (space.size * BigInt(Math.floor(where * 2 ** 53))) >> 53n;
          const to = from + BigInt(wanted) < space.size ? from + BigInt(wanted) : space.size;
          expect(await gathered(space, from, to, options(layout, batchBytes))).toBe(expected(space, from, to, layout));
        },
      ),
      { numRuns: byTier(2, isSlow ? 8 : 40) },
    );
  });

  test('makes the words of masks that end a period inside a quad, with it, or several times', async () => {
    const customs = parseCharsets(
      new Map([
        [1, 'ab'],
        [2, 'xyz'],
        [3, 'k'],
      ]),
    );
    const few = ['?1?1?1', '?3', '?1x?2', '?1?1?1?1?1?1?1?1?1?1?1'];
    const more = ['?1', '?2?2', 'lit', `?2${'-'.repeat(60)}?1?2`];
    for (const mask of byTier(few, [...few, ...more])) {
      const space = new Keyspace([wordsOf(parseMask(mask, customs))]);
      for (const layout of layoutNames) {
        expect(await gathered(space, 0n, space.size, options(layout))).toBe(expected(space, 0n, space.size, layout));
      }
    }
  });

  test('makes a window across 2^64 and one far beyond 2^128', async () => {
    const space = new Keyspace([wordsOf(parseMask('?b'.repeat(19)))]);
    const places = [64n, 140n, ...byTier([], [31n, 32n, 53n, 63n])];
    for (const at of places.map((bits) => 2n ** bits)) {
      const [from, to] = [at - 300n, at + 300n];
      expect(await gathered(space, from, to, options('newline'))).toBe(expected(space, from, to, 'newline'));
    }
  });

  test('increments over several lengths', async () => {
    const space = new Keyspace(prefixesOf(parseMask('?d?l?d?l'), 1, isSlow ? 2 : 3).map((mask) => wordsOf(mask)));
    expect(await gathered(space, 3n, space.size - 2n, options('nul'))).toBe(
      expected(space, 3n, space.size - 2n, 'nul'),
    );
  });

  test('makes the first million words, checked by digest', async (ctx) => {
    if (isSlow) return ctx.skip('the interpreter takes minutes');
    const space = new Keyspace([wordsOf(parseMask('?l?l?l?l?l?l?d?d?d?d'))]);
    const digests: Record<Layout, string> = {
      newline: 'e4a7b7d446764a547590256bde1f75d8185b59fb566851ffd1e40db65b72b810',
      nul: 'e8ffe10b384b34e5c6e63394fa5a565c88a08fbbee108489696f001d2b1b0ca5',
      packed: 'f41a70a1288fa6555fb6e61f3af5e3cfca4566fa5916ae575b3a7631f7a5e4c5',
    };
    for (const layout of layouts) {
      const hash = createHash('sha256');
      for await (const batch of wordBatches(space, between(0n, 1_000_000n), options(layout, 1 << 20))) {
        hash.update(batch.bytes);
        batch.release();
      }
      expect(hash.digest('hex')).toBe(digests[layout]);
    }
  });
});
