import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { hexOfWords, kernelRunners, wordsOfHex } from '../../../../test/run-kernel.js';
import { byTier, isShort } from '../../../../test/tier.js';
import { read, rw } from '../../language/buffers.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { blake3 } from './blake3.js';

const data = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../../../test/data/${path}`, import.meta.url), 'utf8'));
/** BLAKE3's published vectors: the input is bytes 0, 1, … 250, 0, 1, … of the given length. */
const published = data('blake3/hashes.json') as Record<string, string>;
const primitives = (
  data('uhash/primitives.json') as { primitive: string; state: string; block: string; out: string }[]
).filter(({ primitive }) => primitive === 'blake3_compress');

const { interpreter, native } = await kernelRunners();

/** Hashes the message in the buffer; one kernel per length. */
const hashOf = (bytes: number) =>
  items('hash', { buffers: { message: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
    const words = Math.ceil(bytes / 4);
    const message = Array.from({ length: words }, (_, i) => buffers.message.at(item.mul(words).add(i)));
    blake3.hash(message, bytes).forEach((word, i) => {
      buffers.out.set(item.mul(8).add(i), word);
    });
  });

function messageOf(bytes: number, spare: number): Uint32Array {
  const filled = Uint8Array.from({ length: Math.max(4, Math.ceil(bytes / 4) * 4) }, (_, i) =>
    i < bytes ? i % 251 : spare,
  );
  return new Uint32Array(filled.buffer);
}

describe('blake3.hash', () => {
  // Around the ends of words, blocks and chunks, and with a chunk that has no sibling in the tree.
  const some = ['0', '1', '8', '64', '65', '1024', '1025', '3073'];
  const lengths = Object.entries(published).filter(([length]) => !isShort || some.includes(length));
  test.each(lengths)('of %s bytes matches the published hash', async (length, hash) => {
    const bytes = Number(length);
    // Bytes of the last word past the message must not matter.
    const setup = { count: 1, buffers: { message: messageOf(bytes, 0xa5), out: new Uint32Array(8) } };
    const { out } = await interpreter.run(hashOf(bytes), setup);
    expect(hexOfWords(out as Uint32Array)).toBe(hash);
  });

  test.skipIf(isShort)('runs in a gang', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const message = messageOf(65, 0);
    const repeated = Uint32Array.from({ length: message.length * 37 }, (_, i) => message[i % message.length]!);
    const setup = { count: 37, buffers: { message: repeated, out: new Uint32Array(8 * 37) } };
    const { out } = await native.run(hashOf(65), setup, { lanes: 4 });
    expect(hexOfWords(out as Uint32Array)).toBe(published[65]!.repeat(37));
  });

  test('refuses messages too long to trace, and too few words', () => {
    const hashing = (words: number, bytes: number) =>
      items('refused', { buffers: { out: rw(u32) } }, ({ item }) => {
        blake3.hash(Array<typeof item>(words).fill(item), bytes);
      });
    expect(() => hashing(16_385, 65_537).trace()).toThrow('blake3.hash of 65537 bytes');
    expect(() => hashing(1, 5).trace()).toThrow('got 1 words');
  });
});

describe('blake3.compress', () => {
  /** The second half of the output is the extension of the hash: bytes 32..63 of the root's first block. */
  test('gives 16 words; the root counts its output blocks', async () => {
    const kernel = items('extended', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      const block = [...Array<number>(16)].map(() => 0);
      const root = blake3.flags.chunkStart | blake3.flags.chunkEnd | blake3.flags.root;
      const words = blake3.compress(blake3.iv, block, { counter: [item, 0], length: 0, flags: root });
      words.forEach((word, i) => {
        buffers.out.set(item.mul(16).add(i), word);
      });
    });
    const { out } = await interpreter.run(kernel, { count: 2, buffers: { out: new Uint32Array(32) } });
    // The published extended output of the empty message.
    expect(hexOfWords(out as Uint32Array)).toBe(
      'af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262e00f03e7b69af26b7faaf09fcd333050338ddfe085b8cc869ca98b206c08243a' +
        '26f5487789e8f660afe6c99ef9e0c52b92e7393024a80459cf91f476f9ffdbda7001c22e159b402631f277ca96f2defdf1078282314e763699a31c5363165421',
    );
  });
});

describe('blake3.compressIv', () => {
  const kernel = items(
    'free',
    { buffers: { state: read(u32), block: read(u32), out: rw(u32) } },
    ({ item, buffers }) => {
      const words = (from: 'state' | 'block', n: number) =>
        Array.from({ length: n }, (_, i) => buffers[from].at(item.mul(n).add(i)));
      blake3.compressIv(words('state', 8), words('block', 16)).forEach((word, i) => {
        buffers.out.set(item.mul(8).add(i), word);
      });
    },
  );
  const setup = {
    count: primitives.length,
    buffers: {
      state: Uint32Array.from(primitives.flatMap(({ state }) => wordsOfHex(state))),
      block: Uint32Array.from(primitives.flatMap(({ block }) => wordsOfHex(block))),
      out: new Uint32Array(8 * primitives.length),
    },
  };
  for (const [runner, lanes] of [
    [interpreter, 4] as const,
    // A short run has it on native in test/uhash.test.ts.
    ...byTier([], [1, 2, 4, 8, 16]).map((n) => [native, n] as const),
  ]) {
    test(`matches UniversalHash (${runner.id}, ${lanes} lanes)`, async (ctx) => {
      if (runner.absent) return ctx.skip(runner.absent);
      const { out } = await runner.run(kernel, setup, { lanes });
      expect(hexOfWords(out as Uint32Array)).toBe(primitives.map((vector) => vector.out).join(''));
    });
  }
});
