import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { kernelRunners, type Runner } from '../../../../test/run-kernel.js';
import { byTier, isShort } from '../../../../test/tier.js';
import { kernelText } from '../../abi/lower.js';
import { read, rw } from '../../language/buffers.js';
import { loop, when } from '../../language/control.js';
import type { Expr } from '../../language/expr.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { sha256 } from '../hash/sha256.js';
import { keccak, sha3 } from './keccak.js';
import { md5 } from './md5.js';
import type { MessageBytes } from './message.js';
import { ripemd160 } from './ripemd160.js';
import { sha1 } from './sha1.js';
import { sha512 } from './sha512.js';

type Word = Expr<'u32'>;
type Value = Word | Expr<'u64'>;

interface HashFunction {
  /** Its name in node:crypto, if it is there. */
  readonly reference?: string;
  readonly order: 'little' | 'big';
  readonly block: number;
  /** The longest message of a length that only the kernel knows. */
  readonly most: number;
  hash(message: readonly Word[], bytes: MessageBytes): readonly Value[];
}

const functions = {
  md5: { reference: 'md5', order: 'little', block: 64, most: 55, hash: (m, n) => md5.hash(m, n) },
  sha1: { reference: 'sha1', order: 'big', block: 64, most: 55, hash: (m, n) => sha1.hash(m, n) },
  ripemd160: { reference: 'ripemd160', order: 'little', block: 64, most: 55, hash: (m, n) => ripemd160.hash(m, n) },
  sha256: { reference: 'sha256', order: 'big', block: 64, most: 55, hash: (m, n) => sha256.hash(m, n) },
  sha512: { reference: 'sha512', order: 'big', block: 128, most: 111, hash: (m, n) => sha512.hash(m, n) },
  'sha512, as a loop': {
    reference: 'sha512',
    order: 'big',
    block: 128,
    most: 111,
    hash: (m, n) => sha512.hash(m, n, { rolled: true }),
  },
  'sha3-256': { reference: 'sha3-256', order: 'little', block: 136, most: 135, hash: (m, n) => sha3.hash256(m, n) },
  'sha3-512': { reference: 'sha3-512', order: 'little', block: 72, most: 71, hash: (m, n) => sha3.hash512(m, n) },
  'keccak-256': { order: 'little', block: 136, most: 135, hash: (m, n) => keccak.hash256(m, n) },
  'keccak-512': { order: 'little', block: 72, most: 71, hash: (m, n) => keccak.hash512(m, n) },
} as const satisfies Readonly<Record<string, HashFunction>>;
type Name = keyof typeof functions;
const names = Object.keys(functions) as Name[];
const inCrypto = names.filter((name) => 'reference' in functions[name]);
const referenceOf = (name: Name, bytes: Uint8Array): string =>
  createHash((functions[name] as HashFunction).reference ?? '')
    .update(bytes)
    .digest('hex');

const { interpreter, native } = await kernelRunners();

/** Returns the digests of messages; if `lengths` is `varying`, one kernel hashes messages of all lengths. */
async function digestsOf(
  name: Name,
  messages: readonly Uint8Array[],
  { runner = interpreter, isVarying = false }: { runner?: Runner; isVarying?: boolean } = {},
): Promise<string[]> {
  const { order, hash } = functions[name] as HashFunction;
  const longest = Math.max(...messages.map(({ length }) => length));
  const wordsEach = Math.ceil(longest / 4);
  const all = Buffer.alloc(Math.max(4, 4 * wordsEach * messages.length), 0xa5); // bytes past the end do not matter
  messages.forEach((message, i) => {
    all.set(message, 4 * wordsEach * i);
  });
  const words = Uint32Array.from({ length: all.length / 4 }, (_, i) =>
    order === 'little' ? all.readUInt32LE(4 * i) : all.readUInt32BE(4 * i),
  );
  let width = 0;
  const kernel = items(
    'digest',
    { buffers: { words: read(u32), bytes: read(u32), out: rw(u32) } },
    ({ item, buffers }) => {
      const message = Array.from({ length: wordsEach }, (_, i) => buffers.words.at(item.mul(wordsEach).add(i)));
      const digest = hash(message, isVarying ? buffers.bytes.at(item) : longest).flatMap((value) => {
        if (value.type === 'u32') return [value as Word];
        const { lo, hi } = value as Expr<'u64'>;
        return order === 'little' ? [lo, hi] : [hi, lo];
      });
      width = digest.length;
      for (const [i, word] of digest.entries()) buffers.out.set(item.mul(width).add(i), word);
    },
  );
  kernel.trace(); // sets the width
  const bytes = Uint32Array.from(messages, ({ length }) => length);
  const setup = {
    count: messages.length,
    buffers: { words, bytes, out: new Uint32Array(width * messages.length) },
  };
  const { out } = await runner.run(kernel, setup);
  return messages.map((_, i) => {
    const digest = Buffer.alloc(4 * width);
    (out as Uint32Array).subarray(width * i, width * (i + 1)).forEach((word, k) => {
      if (order === 'little') digest.writeUInt32LE(word, 4 * k);
      else digest.writeUInt32BE(word, 4 * k);
    });
    return digest.toString('hex');
  });
}

describe('published digests', () => {
  const alphanumeric = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
  const eighty = '1234567890'.repeat(8);
  const twoBlocks = 'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq';
  const published: readonly [Name, string, string][] = [
    // RFC 1321, A.5; device/conformance has the shorter messages.
    ['md5', alphanumeric, 'd174ab98d277d9f5a5611c2c9f419d9f'],
    ['md5', eighty, '57edf4a22be3c955ac49da2e2107b67a'],
    // RIPEMD-160's page.
    ['ripemd160', twoBlocks, '12a053384a9c0c88e405a06c27dcf49ada62eb2b'],
    ['ripemd160', alphanumeric, 'b0e20b6e3116640286ed3a87a5713079b21f5189'],
    ['ripemd160', eighty, '9b752e45573d4b39f4dbd3323cab82bf63326bfb'],
    // NIST's examples for FIPS 180-4 and FIPS 202.
    ['sha1', twoBlocks, '84983e441c3bd26ebaae4aa1f95129e5e54670f1'],
    [
      'sha512',
      'abc',
      'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a' +
        '2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
    ],
    [
      'sha512',
      'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu',
      '8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018' +
        '501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909',
    ],
    ['sha3-256', '', 'a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a'],
    // Keccak's submission, and Ethereum's test of a longer message.
    ['keccak-256', '', 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'],
    ['keccak-256', 'testing', '5f16f4c7f149ac4f9510d9cf8cf384038ad348b3bcdc01915f95de12df9d1b02'],
    [
      'keccak-512',
      '',
      '0eab42de4c3ceb9235fc91acffe746b29c29a8c366b7c60e4e67c466f36a4304' +
        'c00fa9caf9d87976ba469bcbe06713b435f091ef2769fb160cdab33d3670680e',
    ],
  ];
  const some = isShort ? published.filter(([, text]) => text === eighty || text === 'testing') : published;
  test.each(some)('%s of "%s"', async (name, text, digest) => {
    expect(await digestsOf(name, [Buffer.from(text)])).toEqual([digest]);
  });
});

describe('compared with node:crypto', () => {
  test.skipIf(isShort).each(inCrypto)('%s of messages around the ends of words and blocks', async (name) => {
    const { block, most } = functions[name];
    const lengths = [0, 1, 2, 3, 4, 5, most - 1, most, most + 1, block - 1, block, block + 1, 2 * most + 3, 3 * block];
    for (const length of lengths) {
      const messages = [randomBytes(length), randomBytes(length)];
      expect(await digestsOf(name, messages), `${length} bytes`).toEqual(
        messages.map((message) => referenceOf(name, message)),
      );
    }
  });

  test.each(byTier<Name[]>(['sha1'], inCrypto))('%s of a length that the kernel finds', async (name) => {
    const { most } = functions[name];
    const messages = Array.from({ length: most + 1 }, (_, length) => randomBytes(length));
    expect(await digestsOf(name, messages, { isVarying: true })).toEqual(
      messages.map((message) => referenceOf(name, message)),
    );
  });

  test.skipIf(isShort).each(inCrypto)('%s in a gang', async (name) => {
    if (native.absent) return;
    const messages = Array.from({ length: 37 }, () => randomBytes(13));
    expect(await digestsOf(name, messages, { runner: native })).toEqual(
      messages.map((message) => referenceOf(name, message)),
    );
  });
});

test('messages with too few words, or of a length that does not fit one block, are refused', () => {
  const hashing = (body: (item: Word) => void) => () =>
    items('refused', { buffers: { out: rw(u32) } }, ({ item }) => body(item)).trace();
  const words = (item: Word, count: number) => Array<Word>(count).fill(item);
  expect(hashing((item) => md5.hash(words(item, 1), 5))).toThrow('md5.hash of 5 bytes got 1 words');
  expect(hashing((item) => sha512.hash(words(item, 20_000)))).toThrow('sha512.hash of 80000 bytes');
  expect(hashing((item) => sha1.hash(words(item, 15), item))).toThrow('only the kernel knows got 15 words');
  expect(hashing((item) => sha3.hash512(words(item, 19), item))).toThrow('at most 71 bytes');
});

test('what the job alone determines is computed by the host', () => {
  const text = (hash: (words: readonly Word[]) => readonly Value[]) =>
    kernelText(
      items('early', { job: { message: [u32, 3] }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
        const [first] = hash(job.message);
        buffers.out.set(item, (first as Value).to(u32));
      }),
      { target: 'c', lanes: 1 },
    );
  const hashes = [
    (m: readonly Word[]) => md5.hash(m),
    ...(isShort ? [] : [(m: readonly Word[]) => sha3.hash256(m)]),
    ...(isShort ? [] : [(m: readonly Word[]) => sha512.hash(m, 12, { rolled: true })]),
  ];
  for (const hash of hashes) expect(text(hash)).not.toMatch(/>>|rotr|rotl/);
});

test.skipIf(isShort)('long messages of SHA-512 are loops on WGSL; unrolled on request, they are refused', () => {
  const kernel = (options: { rolled?: boolean }) =>
    items('long', { buffers: { out: rw(u32) } }, ({ item, buffers }) => {
      buffers.out.set(item, sha512.hash(Array<Word>(70).fill(item), 280, options)[0].lo);
    });
  expect(kernelText(kernel({}), { target: 'wgsl' })).toMatch(/\bfor \(|\bloop \{/);
  expect(() => kernelText(kernel({ rolled: false }), { target: 'wgsl' })).toThrow('the limit is 5000');
});

describe('md5.matches', () => {
  const digestOf = (message: Uint8Array): Uint32Array => {
    const digest = createHash('md5').update(message).digest();
    return Uint32Array.from({ length: 4 }, (_, i) => digest.readUInt32LE(4 * i));
  };
  type Changing = 'loop' | 'item' | 'both';
  /** Compares \x03bcdefgh to \x06bcdefgh. What changes is the first word in a loop, or from item to item, or both words. */
  const kernel = (changing: Changing) =>
    items('matches', { buffers: { wanted: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      const wanted = [0, 1, 2, 3].map((i) => buffers.wanted.at(i));
      const test = (first: Word, second: Word, at: Word) =>
        when(md5.matches([first.add(0x64636203), second.add(0x68676665)], 8, wanted), () => buffers.out.set(at, 1));
      if (changing === 'item') test(item, item.shr(31), item);
      else loop(4, (i) => void test(i, changing === 'both' ? i.shr(31) : item, i));
    });
  const run = async (runner: Runner, changing: Changing) => {
    const buffers = { wanted: digestOf(Buffer.from('\x05bcdefgh')), out: new Uint32Array(4) };
    const setup = { count: changing === 'item' ? 4 : 1, buffers };
    return [...((await runner.run(kernel(changing), setup)).out as Uint32Array)];
  };

  test.each(['loop', 'item', 'both'] as const)('is true for the one message with the digest: %s', async (changing) => {
    expect(await run(interpreter, changing)).toEqual([0, 0, 1, 0]);
  });

  test('compares the whole digest', async () => {
    // The last step takes word 9, so that no step is undone: the first value is right, each of the others is wrong once.
    const message = Buffer.alloc(40, 'x');
    const digests = [0, 1, 2, 3].map((wrong) => digestOf(message).map((word, i) => word ^ (i === wrong ? 1 << 9 : 0)));
    const compare = items('compare', { buffers: { wanted: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
      const wanted = [0, 1, 2, 3].map((i) => buffers.wanted.at(item.mul(4).add(i)));
      const words = Array.from({ length: 10 }, (_, i) => (i === 9 ? item.shr(31).or(0x78787878) : 0x78787878));
      when(md5.matches(words, 40, wanted), () => void buffers.out.set(item, 1));
    });
    const wanted = Uint32Array.from([...digests, digestOf(message)].flatMap((words) => [...words]));
    const { out } = await interpreter.run(compare, { count: 5, buffers: { wanted, out: new Uint32Array(5) } });
    expect([...(out as Uint32Array)]).toEqual([0, 0, 0, 0, 1]);
  });

  test.skipIf(isShort)('works in a gang', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    for (const changing of ['loop', 'item'] as const) expect(await run(native, changing)).toEqual([0, 0, 1, 0]);
  });

  test('leaves 46 steps in a loop over word 0', () => {
    const lines = kernelText(kernel('loop'), { target: 'ir' }).split('\n');
    const start = lines.findIndex((line) => /\bloop\b/.test(line));
    const end = lines.findIndex((line, i) => i > start && /\bwhen\b/.test(line));
    expect(lines.slice(start, end).filter((line) => /\brotr\b/.test(line))).toHaveLength(46);
  });
});
