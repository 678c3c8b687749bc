import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { heightPush } from '../../mining/payout/coinbase.js';
import { merkleBranch } from '../../mining/server/template.js';
import { parseNotice, parseSubscription, workOfNotice } from './stratum-messages.js';
import { coinbaseWith, evaluate, extranonceText, HeaderSpace, prefixOf, type Work } from './work.js';

/** A block of the testnet3 chain that was solved through Stratum. */
const vector = JSON.parse(
  readFileSync(new URL('../../../../test/data/block/stratum/testnet3-share.json', import.meta.url), 'utf8'),
) as Vector;

interface Vector {
  readonly subscribe_result: unknown;
  readonly notify: unknown;
  readonly submit: readonly string[];
  readonly coinbase: string;
  readonly header: string;
  readonly hash: string;
  readonly nonce_u32: number;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

describe('a Stratum job', () => {
  const extranonce = parseSubscription({ result: vector.subscribe_result, error: null });
  const work = workOfNotice(parseNotice(vector.notify), extranonce, 0xffffn << 208n, 0);
  const [, , extranonce2 = '', time = ''] = vector.submit;
  const found = {
    version: work.version,
    extranonce: BigInt(`0x${extranonce2}`),
    time: Number.parseInt(time, 16),
    nonce: vector.nonce_u32,
  };

  it('gives coinbase, header and hash of the block byte for byte', () => {
    expect(hex(coinbaseWith(work, found.extranonce))).toBe(vector.coinbase);
    expect(hex(prefixOf(work, found))).toBe(vector.header.slice(0, 152));
    expect(evaluate(work, found)).toEqual({ hash: vector.hash, isShare: true, isBlock: true });
    expect(evaluate(work, { ...found, nonce: found.nonce + 1 })).toMatchObject({ isShare: false, isBlock: false });
  });

  it('covers the time and extranonce of the block', () => {
    expect(found.time).toBeGreaterThanOrEqual(work.time);
    expect(found.time).toBeLessThanOrEqual(work.latestTime);
    expect(extranonceText(found.extranonce, work.extranonceBytes)).toBe(extranonce2);
  });
});

describe('the order of headers', () => {
  const work = (mask: number, extranonceBytes: number, seconds: number): Work => ({
    id: 'a',
    version: 0x20000000,
    mask,
    previous: new Uint8Array(32),
    coinbaseStart: new Uint8Array(),
    coinbaseEnd: new Uint8Array(),
    extranonceBytes,
    branch: [],
    bits: 0x1d00ffff,
    time: 1000,
    latestTime: 1000 + seconds,
    target: 1n,
    blockTarget: 1n,
  });

  it('is nonces, versions, extranonces, seconds; each header once', () => {
    const order = new HeaderSpace(work(0x6000, 1, 2), 2, 250n);
    expect(order.length).toBe((2n * 256n * 3n) << 32n);
    const rows = Array.from({ length: 2 * 256 * 3 }, (_, row) =>
      [0, 1].map((which) => {
        const { version, extranonce, time, nonce } = order.at((BigInt(row) << 32n) | 7n, which);
        expect(nonce).toBe(7);
        return `${version.toString(16)} ${extranonce} ${time}`;
      }),
    ).flat();
    expect(new Set(rows).size).toBe(4 * 256 * 3);
    expect(rows.slice(0, 5)).toEqual([
      '20000000 250 1000',
      '20002000 250 1000',
      '20004000 250 1000',
      '20006000 250 1000',
      '20000000 251 1000',
    ]);
    expect(order.at((3n << 32n) | 0xffffffffn).nonce).toBe(0xffffffff);
    // After the last extranonce comes the first, after all of them the next second.
    expect(rows[4 * 6]).toBe('20000000 0 1000');
    expect(rows[4 * 256]).toBe('20000000 250 1001');
  });

  it('stays within the bits of the mask, the bytes of the extranonce and the seconds', () => {
    const given = fc.record({
      mask: fc.integer({ min: 0, max: 0x1fffffff }).map((value) => (value & 0x1fffe000) >>> 0),
      bytes: fc.integer({ min: 0, max: 12 }),
      seconds: fc.integer({ min: 0, max: 600 }),
      first: fc.bigInt({ min: 0n, max: 1n << 70n }),
      where: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(given, ({ mask, bytes, seconds, first, where }) => {
        const order = new HeaderSpace(work(mask, bytes, seconds), 1, first);
        const index = (order.length * BigInt(Math.floor(where * 2 ** 52))) >> 52n;
        const { version, extranonce, time } = order.at(index === order.length ? index - 1n : index);
        expect((version & ~mask) >>> 0).toBe(0x20000000);
        expect(extranonceText(extranonce, bytes)).toHaveLength(2 * bytes);
        expect(time >= 1000 && time <= 1000 + seconds).toBe(true);
      }),
    );
  });
});

describe('parts of a coinbase', () => {
  it.each([
    [1, '51'],
    [16, '60'],
    [17, '0111'],
    [127, '017f'],
    [128, '028000'],
    [227_931, '035b7a03'], // the first block under BIP 34
    [8_388_608, '0400008000'],
  ])('height %d', (height, wanted) => {
    expect(hex(heightPush(height))).toBe(wanted);
  });

  it('a block of one transaction has no branch, a block of two has the other one', () => {
    expect(merkleBranch([])).toEqual([]);
    expect(merkleBranch([`${'11'.repeat(31)}22`]).map(hex)).toEqual([`22${'11'.repeat(31)}`]);
  });
});
