import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { hexOfWords, kernelRunners, wordsOfHex } from '../../../../test/run-kernel.js';
import { byTier } from '../../../../test/tier.js';
import { read, rw } from '../../language/buffers.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { sha256 } from './sha256.js';
import { compressBytes } from './sha256-bytes.js';

const { interpreter, native } = await kernelRunners();

/** The digest of a message of 64 bytes, whose second block is all padding. */
const hash = items('hash', { buffers: { message: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
  const block = [0, 1, 2, 3].flatMap((quad) => buffers.message.at4(item.mul(4).add(quad)));
  const begin = compressBytes(sha256.iv.map(swapped), block);
  const digest = compressBytes(begin, sha256.padding(512).map(swapped));
  buffers.out.set4(item.mul(2), digest.slice(0, 4));
  buffers.out.set4(item.mul(2).add(1), digest.slice(4));
});

function swapped(word: number): number {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(word);
  return bytes.readUInt32LE();
}

// More than a gang, and not a multiple of one.
const count = 21;
const messages = Array.from({ length: count }, () => randomBytes(64));
const setup = {
  count,
  buffers: {
    message: Uint32Array.from(messages.flatMap((message) => wordsOfHex(message.toString('hex')))),
    out: new Uint32Array(8 * count),
  },
};
const digests = messages.map((message) => createHash('sha256').update(message).digest('hex')).join('');

describe('compressBytes', () => {
  test('gives the digests of node:crypto', async () => {
    const { out } = await interpreter.run(hash, setup);
    expect(hexOfWords(out as Uint32Array)).toBe(digests);
  });

  test.for(byTier([1, 4], [1, 2, 4, 8, 16]))('gives the same when compiled, %i lanes', async (lanes, { skip }) => {
    if (native.absent) return skip(native.absent);
    const { out } = await native.run(hash, setup, { lanes });
    expect(hexOfWords(out as Uint32Array)).toBe(digests);
  });
});
