import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  f16,
  f16Bits,
  f16Of,
  f32,
  items,
  type Kernel,
  kernelText,
  read,
  rw,
  sha256,
  u32,
} from '../src/kernel/index.js';
import { armWithAes, type Foreign, missing, runForeign } from './foreign.js';
import { byTier, isShort } from './tier.js';

/**
 * Native bodies for instructions that only some processors have, each in its own programs. They run if the processor has
 * the instructions. ARM's also run with a cross compiler and an emulator.
 */
const shaNi: Foreign = {
  cpu: { arch: 'x86', features: new Set(['sse4_1', 'avx2', 'sha_ni']) },
  compiler: ['gcc', '-mavx2', '-msha'],
};
/** Number of items; not a multiple of any gang's width. */
const COUNT = 509;
const LONGEST = 40;

/** Digests of the first n of each item's words, for each n of `lengths`, one after the other. */
const hashes = (lengths: readonly number[]): Kernel =>
  items('hashes', { buffers: { words: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
    const words = Array.from({ length: Math.max(...lengths) }, (_, i) => buffers.words.at(item.mul(LONGEST).add(i)));
    lengths.forEach((length, k) => {
      sha256.hash(words.slice(0, length)).forEach((word, i) => {
        buffers.out.set(item.mul(8 * lengths.length).add(8 * k + i), word);
      });
    });
  });

/** Lengths around a block's end and past it; fewer for wider gangs, whose programs take longer to compile. */
const lanesAndLengths: readonly (readonly [lanes: number, lengths: readonly number[]])[] = byTier(
  [
    [1, [14, LONGEST]],
    [4, [8]],
  ],
  [
    [1, [1, 13, 14, 15, 16, 29, 30, LONGEST]],
    [2, [3, 14, 31]],
    [4, [8, 14, LONGEST]],
    [8, [5, 17]],
    [16, [19]],
  ],
);
/** Lanes, and nonces per item that fill part of a group or several groups. */
const lanesAndNonces: readonly (readonly [lanes: number, nonces: number])[] = byTier(
  [[1, 7]],
  [
    [1, 4],
    [1, 7],
    [2, 5],
    [4, 4],
    [4, 32],
    [8, 6],
  ],
);

describe.each([
  ['c-shani', shaNi, '_mm_sha256rnds2_epu32'],
  ['c-neon-sha', armWithAes, 'vsha256h2q_u32'],
] as const)('sha256.compress, %s', (_, foreign, instruction) => {
  test.for(lanesAndLengths)('%i lanes: same digests as node:crypto', ([lanes, lengths], ctx) => {
    const absent = missing(foreign);
    if (absent) return ctx.skip(absent);
    const kernel = hashes(lengths);
    expect(kernelText(kernel, { target: 'c', lanes, cpu: foreign.cpu })).toContain(instruction);

    const messages = Array.from({ length: COUNT }, () => randomBytes(LONGEST * 4));
    const words = Uint32Array.from(messages.flatMap(wordsOf));
    const { out } = runForeign(foreign, kernel, lanes, COUNT, {
      words,
      out: new Uint32Array(COUNT * 8 * lengths.length),
    });
    const digests = messages.flatMap((message) =>
      lengths.map((length) =>
        createHash('sha256')
          .update(message.subarray(0, 4 * length))
          .digest(),
      ),
    );
    expect(out).toEqual(Uint32Array.from(digests.flatMap(wordsOf)));
  });
});

/** Last words of double hashes. */
describe('sha256.doubleLastWords, c-neon-sha', () => {
  test.for(lanesAndNonces)('%i lanes, %i nonces per item: same words as node:crypto', ([lanes, count], ctx) => {
    const absent = missing(armWithAes);
    if (absent) return ctx.skip(absent);
    const kernel = items(
      'lasts',
      { chunk: { header: [u32, 19] }, buffers: { nonces: read(u32), out: rw(u32) } },
      ({ item, chunk, buffers }) => {
        const places = Array.from({ length: count }, (_, i) => item.mul(count).add(i));
        const lasts = sha256.doubleLastWords(places.map((at) => [...chunk.header, buffers.nonces.at(at)]));
        lasts?.forEach((last, i) => void buffers.out.set(places[i] as (typeof places)[0], last));
      },
    );
    expect(kernelText(kernel, { target: 'c', lanes, cpu: armWithAes.cpu })).toContain('sha256su1 v');

    const [head, tails] = [randomBytes(76), Array.from({ length: COUNT * count }, () => randomBytes(4))];
    const nonces = Uint32Array.from(tails.flatMap(wordsOf));
    const buffers = { nonces, out: new Uint32Array(nonces.length) };
    const { out } = runForeign(armWithAes, kernel, lanes, COUNT, buffers, { header: wordsOf(head) });
    const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
    expect(out).toEqual(Uint32Array.from(tails, (tail) => sha(sha(Buffer.concat([head, tail]))).readUInt32BE(28)));
  });
});

test('sha256.doubleLastWords has no native body for nonces that all items share, and is right', (ctx) => {
  const absent = missing(armWithAes);
  if (absent) return ctx.skip(absent);
  const header = randomBytes(92);
  const kernel = items(
    'shared',
    { chunk: { words: [u32, 23] }, buffers: { out: rw(u32) } },
    ({ item, chunk: { words }, buffers }) => {
      const nonces = words.slice(19);
      const lasts = sha256.doubleLastWords(nonces.map((nonce) => [...words.slice(0, 19), nonce]));
      lasts?.forEach((last, i) => void buffers.out.set(item.mul(nonces.length).add(i), last));
    },
  );
  expect(kernelText(kernel, { target: 'c', cpu: armWithAes.cpu })).not.toContain('sha256su1');
  const { out } = runForeign(armWithAes, kernel, 1, 1, { out: new Uint32Array(4) }, { words: wordsOf(header) });
  const sha = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
  const of = (at: number) => sha(sha(Buffer.concat([header.subarray(0, 76), header.subarray(at, at + 4)])));
  expect([...(out ?? [])]).toEqual([76, 80, 84, 88].map((at) => of(at).readUInt32BE(28)));
});

function wordsOf(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32BE(4 * i));
}

describe.each([
  ['c-f16c', f16c(['avx2']), '_mm256_cvtps_ph', 8],
  ['c-f16c with AVX-512', f16c(['avx2', 'avx512f']), '_mm512_cvtps_ph', 16],
  ['c-neon', armWithAes, 'vcvt_f16_f32', 4],
] as const)('f16, %s', (_, foreign, instruction, widest) => {
  test.skipIf(isShort).for([1, 2, 4, 8, 16].filter((lanes) => lanes <= widest))(
    '%i lanes: same bits as without it',
    (lanes, ctx) => {
      const absent = missing(foreign);
      if (absent) return ctx.skip(absent);
      const kernel = items('halves', { buffers: { words: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
        const word = buffers.words.at(item);
        buffers.out.set(item.mul(2), f16Bits(word.bits(f32).to(f16)));
        buffers.out.set(item.mul(2).add(1), f16Of(word).to(f32).bits(u32));
      });
      expect(kernelText(kernel, { target: 'c', lanes: widest, cpu: foreign.cpu })).toContain(instruction);

      // Floats of 16 bits, what is halfway between them, and their neighbours; none is a NaN, whose bits may differ.
      const spread = Array.from({ length: 4000 }, (_, i) => (i * 104_729 * 19) % 0x7f80_0000);
      const words = Uint32Array.from(
        spread.flatMap((bits, i) => {
          const half = 0x3300_0000 + (bits % 0x1480_0000) - (bits % 0x1000);
          return [bits + (i % 2) * 0x8000_0000, half, half + 1, half - 1].filter((word) => word % 0x8000 < 0x7c01);
        }),
      );
      const buffers = { words, out: new Uint32Array(2 * words.length) };
      const generic = { ...foreign, cpu: { arch: foreign.cpu.arch, features: new Set<string>() } };
      expect(runForeign(foreign, kernel, lanes, words.length, buffers)).toEqual(
        runForeign(generic, kernel, lanes, words.length, buffers),
      );
    },
  );
});

function f16c(more: readonly string[]): Foreign {
  return {
    cpu: { arch: 'x86', features: new Set(['sse4_1', 'f16c', ...more]) },
    compiler: ['gcc', '-msse4.1', '-mf16c', ...more.map((name) => `-m${name}`)],
  };
}
