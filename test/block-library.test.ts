import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { Engine, merkleRoot, mineHeader, targetFromBits } from '../src/index.js';
import { midstate } from '../src/workload/block/kernel/midstate.js';
import { checkNonce } from '../src/workload/block/kernel/reference.js';
import { headerWords } from '../src/workload/block/kernel/scan.js';
import { rolledVersion } from '../src/workload/block/kernel/version-rolling.js';
import { byTier } from './tier.js';

const share = JSON.parse(readFileSync(new URL('data/block/stratum/testnet3-share.json', import.meta.url), 'utf8')) as {
  header: string;
  hash: string;
  nonce_u32: number;
  target: string;
  coinbase_txid: string;
  notify: unknown[];
};
const header = Buffer.from(share.header, 'hex');

let device: Device;
beforeAll(async () => {
  device = await openDevice('wasm');
});
afterAll(() => device?.close());

describe('mineHeader', () => {
  it('finds the share that a pool accepted, by its published hash', async () => {
    const tried = byTier(4000, 40_000);
    const nonces = { from: share.nonce_u32 - tried, to: share.nonce_u32 + 1000 };
    const target = targetFromBits(header.readUInt32LE(72));
    expect(target).toBe(BigInt(`0x${share.target}`));
    const found = await mineHeader(header.subarray(0, 76), target, { devices: device, nonces });
    expect(found).toMatchObject({ nonce: share.nonce_u32, version: 2, hash: share.hash });
    expect(Buffer.from(found!.header).toString('hex')).toBe(share.header);
    expect(found!.tried).toBeGreaterThan(tried);
  });

  it('opens devices by name', async () => {
    const found = await mineHeader(header, 1n << 255n, { devices: 'interpreter', nonces: { to: 16 } });
    expect(checkNonce(header.subarray(0, 76), 1n << 255n, found!.nonce).valid).toBe(true);
  });

  it('returns null after trying every nonce once', async () => {
    let tried = 0;
    const onProgress = (now: number) => {
      tried = now;
    };
    expect(await mineHeader(header, 1n, { devices: device, nonces: { from: 5, to: 50_005 }, onProgress })).toBeNull();
    expect(tried).toBe(50_000);
    expect(await mineHeader(header, 1n, { devices: device, nonces: { from: 5, to: 5 } })).toBeNull();
  });

  it('accepts a hash equal to the target with orEqual', async () => {
    const hash = BigInt(`0x${share.hash}`);
    const where = { devices: device, nonces: { from: share.nonce_u32, to: share.nonce_u32 + 1 } };
    expect(await mineHeader(header, hash, where)).toBeNull();
    expect(await mineHeader(header, hash, { ...where, orEqual: true })).toMatchObject({ nonce: share.nonce_u32 });
    const largest = await mineHeader(header, (1n << 256n) - 1n, { ...where, orEqual: true });
    expect(largest).toMatchObject({ nonce: share.nonce_u32 });
  });

  it('mines several headers at once on one engine', async () => {
    const engine = new Engine([device]);
    const headers = Array.from({ length: 6 }, () => randomBytes(80));
    const found = await Promise.all(headers.map((one) => mineHeader(one, 1n << 246n, { engine })));
    for (const [at, one] of headers.entries()) {
      const prefix = one.subarray(0, 76);
      let nonce = 0;
      while (!checkNonce(prefix, 1n << 246n, nonce).valid) nonce++;
      expect(found[at]?.nonce).toBe(nonce);
    }
    await engine.close();
  });

  it.each(byTier([2], [1, 2, 4]))('rolls versions, %i per item', async (perItem) => {
    const [target, mask] = [1n << 245n, 0x1fffe000];
    const random = randomBytes(80);
    const found = await mineHeader(random, target, { devices: device, versions: { mask, from: 4, to: 8, perItem } });
    const { version, nonce, hash } = found!;
    expect((version & ~mask) >>> 0).toBe((random.readUInt32LE(0) & ~mask) >>> 0);
    const numbers = [4, 5, 6, 7].map((number) => rolledVersion(random.readUInt32LE(0), mask, number));
    expect(numbers.slice(0, perItem)).toContain(version);
    const bytes = Buffer.from(random);
    bytes.writeUInt32LE(version, 0);
    bytes.writeUInt32LE(nonce, 76);
    expect(Buffer.from(found!.header)).toEqual(bytes);
    const sha = (of: Uint8Array) => createHash('sha256').update(of).digest();
    expect(sha(sha(bytes)).reverse().toString('hex')).toBe(hash);
    expect(BigInt(`0x${hash}`)).toBeLessThan(target);
  });

  it('stops when its signal is aborted', async () => {
    const signal = AbortSignal.timeout(100);
    await expect(mineHeader(header, 1n, { devices: device, signal })).rejects.toMatchObject({ name: 'TimeoutError' });
    await expect(mineHeader(header, 1n, { devices: device, signal })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it.each([
    ['a header of 79 bytes', () => mineHeader(header.subarray(0, 79), 1n), '80 bytes'],
    ['a target of zero', () => mineHeader(header, 0n), '1 to 2^256'],
    ['a target of 257 bits', () => mineHeader(header, 1n << 256n), '1 to 2^256'],
    ['a nonce beyond 2^32', () => mineHeader(header, 1n, { nonces: { to: 2 ** 32 + 1 } }), '0 to 2^32'],
    ['a fractional nonce', () => mineHeader(header, 1n, { nonces: { from: 0.5 } }), '0 to 2^32'],
    [
      'versions and nonces',
      () => mineHeader(header, 1n, { versions: { mask: 1 }, nonces: { to: 5 } }),
      'with all nonces',
    ],
    [
      'versions beyond the mask',
      () => mineHeader(header, 1n, { devices: device, versions: { mask: 3, to: 5 } }),
      '4 versions',
    ],
    [
      'a 33-bit mask',
      () => mineHeader(header, 1n, { devices: device, versions: { mask: 2 ** 32 } }),
      'not a version mask',
    ],
    [
      'zero versions per item',
      () => mineHeader(header, 1n, { devices: device, versions: { mask: 3, perItem: 0 } }),
      'perItem out of range',
    ],
    [
      'three versions per item',
      () => mineHeader(header, 1n, { devices: device, versions: { mask: 3, perItem: 3 } }),
      'perItem out of range: expected 1, 2, 4 or 8, got 3',
    ],
  ])('rejects %s', async (_what, mine, message) => {
    await expect(mine()).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining(message) });
  });
});

describe('merkleRoot and targetFromBits', () => {
  it('the root of a lone coinbase is its id, in header byte order', () => {
    expect(Buffer.from(merkleRoot([share.coinbase_txid])).equals(header.subarray(36, 68))).toBe(true);
  });
  it('reject invalid input', () => {
    expect(() => merkleRoot(['abc'])).toThrow('transaction 1 is not 64 hex digits');
    expect(() => merkleRoot([share.coinbase_txid, 'g'.repeat(64)])).toThrow('transaction 2');
    expect(() => merkleRoot([])).toThrow(expect.objectContaining({ code: 'input-format' }));
    for (const bits of [-1, 1.5, 2 ** 32, Number.NaN])
      expect(() => targetFromBits(bits)).toThrow('not a compact target');
  });
});

describe('versions', () => {
  it('put the bits of a number into the bits of the mask', () => {
    expect(rolledVersion(0x20000000, 0x1fffe000, 0)).toBe(0x20000000);
    expect(rolledVersion(0x20000000, 0x1fffe000, 1)).toBe(0x20002000);
    expect(rolledVersion(0x3fffffff, 0x1fffe000, 0)).toBe(0x20001fff);
    expect(rolledVersion(0xffffffff, 0x80000001, 2)).toBe(0xfffffffe);
    const all = Array.from({ length: 16 }, (_, number) => rolledVersion(0, 0x90000810, number));
    expect(new Set(all).size).toBe(16);
    for (const one of all) expect((one & ~0x90000810) >>> 0).toBe(0);
  });
  it('have the midstates that SHA-256 defines', () => {
    // A message of at most 55 bytes is a single block: the state after it is the digest.
    for (const bytes of [0, 1, 31, 55]) {
      const message = randomBytes(bytes);
      const block = Buffer.alloc(64);
      message.copy(block);
      block[bytes] = 0x80;
      block.writeUInt32BE(bytes * 8, 60);
      const state = midstate(headerWords(Buffer.concat([block, Buffer.alloc(12)])).slice(0, 16));
      const digest = createHash('sha256').update(message).digest();
      expect(state).toEqual(Array.from({ length: 8 }, (_, at) => digest.readUInt32BE(4 * at)));
    }
  });
});
