import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { byTier } from '../../../../test/tier.js';
import { interpret } from '../../ir/interpret.js';
import { read, rw } from '../../language/buffers.js';
import { type Expr, type ExprLike, lit } from '../../language/expr.js';
import { items } from '../../language/items.js';
import { select } from '../../language/operations.js';
import { u32 } from '../../language/types.js';
import { belowTarget, type Digest, sha256 } from './sha256.js';

type Word = Expr<'u32'>;

const wordsOf = (bytes: Uint8Array) =>
  Array.from({ length: bytes.length / 4 }, (_, i) => Buffer.from(bytes).readUInt32BE(4 * i));
const hexOf = (words: Iterable<number>) => Array.from(words, (word) => word.toString(16).padStart(8, '0')).join('');
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** Calls `body` with `width` words of the input for each item and returns its results. */
function each(inputs: readonly (readonly number[])[], body: (words: Word[]) => readonly ExprLike<'u32'>[]): number[][] {
  const width = inputs[0]?.length ?? 0;
  let outWidth = 0;
  const kernel = items('each', { buffers: { in: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
    const results = body(Array.from({ length: width }, (_, i) => buffers.in.at(item.mul(width).add(i))));
    outWidth = results.length;
    results.forEach((word, i) => void buffers.out.set(item.mul(outWidth).add(i), word));
  });
  const program = kernel.trace();
  const out = new Uint32Array(inputs.length * outWidth);
  const bytes = (words: Uint32Array) => new Uint8Array(words.buffer);
  interpret(program, {
    job: {},
    count: inputs.length,
    buffers: { in: bytes(Uint32Array.from(inputs.flat())), out: bytes(out) },
  });
  return inputs.map((_, i) => [...out.subarray(i * outWidth, (i + 1) * outWidth)]);
}

const hashOf = (message: readonly number[]) => hexOf(each([message], (words) => sha256.hash(words))[0]!);

describe('published digests', () => {
  // FIPS 180-2, B.1, as a block with its padding: hash() takes whole words only.
  test('abc', () => {
    const block = [0x61626380, ...Array<number>(14).fill(0), 24];
    const [digest] = each([block], (words) => sha256.compress(sha256.iv, words));
    expect(hexOf(digest!)).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });

  // FIPS 180-2, B.2; NIST's example of 896 bits; the empty message.
  test.each([
    [
      'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    ],
    [
      'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu',
      'cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1',
    ],
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ])('%s', (text, digest) => {
    expect(hashOf(wordsOf(Buffer.from(text)))).toBe(digest);
  });

  test('the header of the first block, hashed twice', () => {
    const header =
      '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f61' +
      '7fc81bc3888a51323a9fb8aa4b1e5e4a29ab5f49ffff001d1dac2b7c';
    const [digest] = each([wordsOf(Buffer.from(header, 'hex'))], (words) => sha256.double(words));
    expect(hexOf(digest!)).toBe('6fe28c0ab6f1b372c1a6a246ae63f74f931e8365e15a089c68d6190000000000');
  });
});

describe('compared with node:crypto', () => {
  test('digests of random messages of 0 to 50 words', () => {
    // Each length is a kernel: those around the ends of blocks, or all.
    const all = Array.from({ length: 51 }, (_, words) => words);
    for (const words of byTier([0, 1, 13, 14, 16, 29, 30, 50], all)) {
      const messages = Array.from({ length: byTier(3, 8) }, () => randomBytes(words * 4));
      const digests = each(messages.map(wordsOf), (message) => sha256.hash(message));
      expect(digests.map(hexOf)).toEqual(messages.map((message) => sha(message).toString('hex')));
    }
  });

  test('double digests', () => {
    const messages = Array.from({ length: 20 }, () => randomBytes(80));
    const digests = each(messages.map(wordsOf), (message) => sha256.double(message));
    expect(digests.map(hexOf)).toEqual(messages.map((message) => sha(sha(message)).toString('hex')));
  });

  test('a message known while tracing', () => {
    const message = randomBytes(100);
    const [digest] = each([[0]], () => sha256.hash(wordsOf(message)));
    expect(hexOf(digest!)).toBe(sha(message).toString('hex'));
  });
});

describe('padding', () => {
  test('of 0 to 64 words is a one bit, the fewest zeros, and the length', () => {
    for (let words = 0; words <= 64; words++) {
      const zeroBytes = (119 - ((words * 4) % 64)) % 64; // after the byte 0x80, to 8 bytes below a multiple of 64
      const length = Buffer.alloc(8);
      length.writeBigUInt64BE(BigInt(words * 32));
      const expected = Buffer.concat([Buffer.from([0x80]), Buffer.alloc(zeroBytes), length]);
      expect(hexOf(sha256.padding(words * 32))).toBe(expected.toString('hex'));
      expect((words + sha256.padding(words * 32).length) % 16).toBe(0);
    }
  });

  test('carries lengths past 2^32 bits', () => {
    expect(sha256.padding(2 ** 35 + 64).slice(-2)).toEqual([8, 64]);
  });
});

describe('belowTarget', () => {
  /** The number that Bitcoin reads a digest as, and back. */
  const numberOf = (digest: Buffer) => BigInt(`0x${Buffer.from(digest).reverse().toString('hex')}`);
  const bytesOf = (number: bigint) => Buffer.from(number.toString(16).padStart(64, '0'), 'hex');
  const ask = (pairs: readonly (readonly [digest: bigint, target: bigint])[]) =>
    each(
      pairs.map(([digest, target]) => [...wordsOf(bytesOf(digest).reverse()), ...wordsOf(bytesOf(target))]),
      (words) => [select(belowTarget(words.slice(0, 8) as unknown as Digest, words.slice(8)), lit(u32, 1), 0)],
    ).map(([answer]) => answer === 1);

  test('is strict at every word: equal, one below, one above', () => {
    const highest = (1n << 256n) - 1n;
    const random = () => numberOf(randomBytes(32));
    const pairs: [bigint, bigint][] = [
      [0n, 0n],
      [0n, 1n],
      [1n, 0n],
      [highest, highest],
      [highest - 1n, highest],
      [highest, highest - 1n],
      [0n, highest],
    ];
    for (let word = 0n; word < 8n; word++) {
      const step = 1n << (32n * word);
      for (let i = 0; i < 20; i++) {
        const target = random() % (highest - step) || step;
        pairs.push([target, target], [target + step, target]);
        if (target >= step) pairs.push([target - step, target]);
        // Equal above this word, one apart in it, and the words below compare the other way.
        const base = (target >> (32n * (word + 1n))) << (32n * (word + 1n));
        const above = base + step;
        pairs.push([above - 1n, above], [above, above - 1n], [above - 1n, above + step]);
      }
    }
    for (let i = 0; i < 200; i++) pairs.push([random(), random()]);
    expect(ask(pairs)).toEqual(pairs.map(([digest, target]) => digest < target));
  });
});

test('compressEach gives each state the same result as compress', () => {
  const random = () => Array.from({ length: 40 }, () => randomBytes(4).readUInt32BE());
  const inputs = Array.from({ length: 3 }, random);
  const alone = each(inputs, (words) =>
    [0, 8, 16].flatMap((at) => sha256.compress(words.slice(at, at + 8), words.slice(24))),
  );
  const together = each(inputs, (words) =>
    sha256
      .compressEach(
        [0, 8, 16].map((at) => words.slice(at, at + 8)),
        words.slice(24),
      )
      .flat(),
  );
  expect(together).toEqual(alone);
});
