import { createCipheriv, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { armWithAes, missing, runForeign, x86WithAesNi } from '../../../../test/foreign.js';
import { hexOfWords, kernelRunners, wordsOfHex } from '../../../../test/run-kernel.js';
import { byTier } from '../../../../test/tier.js';
import { kernelText } from '../../abi/lower.js';
import { read, rw } from '../../language/buffers.js';
import type { ExprLike } from '../../language/expr.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { aes } from './aes.js';

const { interpreter, native } = await kernelRunners();

interface Vector {
  readonly primitive: string;
  readonly state: string;
  readonly key?: string;
  readonly block?: string;
  readonly out: string;
}
const vectors = JSON.parse(
  readFileSync(new URL('../../../../test/data/uhash/primitives.json', import.meta.url), 'utf8'),
) as Vector[];

/** UniversalHash's compression: keys are the quarters of a block, in a different order for each half of the state. */
const compress = items(
  'compress',
  { buffers: { state: read(u32), block: read(u32), out: rw(u32) } },
  ({ item, buffers }) => {
    const s = [...buffers.state.at4(item.mul(2)), ...buffers.state.at4(item.mul(2).add(1))];
    const k = [0, 1, 2, 3].map((quarter) => buffers.block.at4(item.mul(4).add(quarter)));
    const pick = (order: number[]) => order.map((i) => k[i]!);
    buffers.out.set4(item.mul(2), aes.rounds(s.slice(0, 4), pick([0, 1, 2, 3])));
    buffers.out.set4(item.mul(2).add(1), aes.rounds(s.slice(4), pick([2, 3, 0, 1])));
  },
);
const compressVectors = vectors.filter(({ primitive }) => primitive === 'aes_compress');
const compressSetup = {
  count: compressVectors.length,
  buffers: {
    state: Uint32Array.from(compressVectors.flatMap(({ state }) => wordsOfHex(state))),
    block: Uint32Array.from(compressVectors.flatMap(({ block }) => wordsOfHex(block!))),
    out: new Uint32Array(8 * compressVectors.length),
  },
};

/** All of AES-128, with round keys from the host. */
const encrypt = items('encrypt', { job: { key: [u32, 44] }, buffers: { text: rw(u32) } }, ({ job, item, buffers }) => {
  const keys = Array.from({ length: 11 }, (_, i) => job.key.slice(4 * i, 4 * i + 4) as readonly ExprLike<'u32'>[]);
  const whitened = buffers.text.at4(item).map((word, i) => word.xor(keys[0]![i]!));
  buffers.text.set4(item, aes.lastRound(aes.rounds(aes.round(whitened, keys[1]!), keys.slice(2, 10)), keys[10]!));
});

/** FIPS 197's key schedule, with the S-box from the table. */
function expandKey(key: Buffer): number[] {
  const box = (word: number) =>
    [0, 8, 16, 24].reduce((sum, at) => sum | (((aes.table[(word >>> at) & 255]! >>> 8) & 255) << at), 0);
  const w = [0, 4, 8, 12].map((at) => key.readUInt32LE(at));
  let constant = 1;
  for (let i = 4; i < 44; i++) {
    let last = w[i - 1]!;
    if (i % 4 === 0) {
      last = box((last >>> 8) | (last << 24)) ^ constant;
      constant = (constant << 1) ^ (constant & 0x80 ? 0x11b : 0);
    }
    w.push((w[i - 4]! ^ last) >>> 0);
  }
  return w;
}

function encrypted(key: Buffer, text: Buffer): string {
  const cipher = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
  return Buffer.concat([cipher.update(text), cipher.final()]).toString('hex');
}

describe('generic bodies', () => {
  test('match the rounds of UniversalHash', async () => {
    const { out } = await interpreter.run(compress, compressSetup);
    expect(hexOfWords(out as Uint32Array)).toBe(compressVectors.map((vector) => vector.out).join(''));
  });

  test.each(vectors.filter(({ primitive }) => primitive === 'aes_expand_4_rounds'))(
    'do four rounds with $key',
    async (vector) => {
      const key = wordsOfHex(vector.key!);
      const kernel = items('rounds', { buffers: { state: rw(u32) } }, ({ item, buffers }) => {
        buffers.state.set4(item, aes.rounds(buffers.state.at4(item), [key, key, key, key]));
      });
      const { state } = await interpreter.run(kernel, {
        count: 1,
        buffers: { state: Uint32Array.from(wordsOfHex(vector.state)) },
      });
      expect(hexOfWords(state as Uint32Array)).toBe(vector.out);
    },
  );

  test('encrypt AES-128 like node:crypto', async () => {
    const [key, text] = [randomBytes(16), randomBytes(16 * 4)];
    const setup = {
      job: { key: expandKey(key) },
      count: 4,
      buffers: { text: Uint32Array.from(wordsOfHex(text.toString('hex'))) },
    };
    const outcome = await interpreter.run(encrypt, setup);
    expect(hexOfWords(outcome.text as Uint32Array)).toBe(encrypted(key, text));
  });

  test.each([{ copies: 8 }, { copies: 32, tables: 2 }, { tables: 4 }, { copies: 4, tables: 4 }] as const)(
    'give the same results with %o',
    async (tables) => {
      const kernel = items('spread', compress.signature, ({ item, buffers }) => {
        const state = buffers.state.at4(item.mul(2));
        const keys = [0, 1, 2, 3].map((quarter) => buffers.block.at4(item.mul(4).add(quarter)));
        const lane = 'copies' in tables ? item.rem(tables.copies) : item.and(0);
        buffers.out.set4(item.mul(2), aes.rounds(state, keys, { ...tables, lane }));
      });
      const spread = await interpreter.run(kernel, compressSetup);
      const plain = await interpreter.run(compress, compressSetup);
      const lowHalves = (out: ArrayLike<number>) => Array.from(out).filter((_, i) => i % 8 < 4);
      expect(lowHalves(spread.out as Uint32Array)).toEqual(lowHalves(plain.out as Uint32Array));
    },
  );

  test('share one table', () => {
    expect(encrypt.trace().tables).toHaveLength(1);
  });
});

describe('native bodies', () => {
  // More than a gang, and not a multiple of one.
  const count = 100;
  const random = () => new Uint32Array(Uint8Array.from(randomBytes(count * 32)).buffer);
  const buffers = {
    state: random(),
    block: Uint32Array.from([...random(), ...random()]),
    out: new Uint32Array(count * 8),
  };

  // Compilers take longer for wider gangs.
  for (const lanes of byTier([4], [1, 2, 4, 8, 16])) {
    test(`of this processor match node:crypto and the generic body, ${lanes} lanes`, async (ctx) => {
      if (native.absent) return ctx.skip(native.absent);
      const [key, text] = [randomBytes(16), randomBytes(16 * count)];
      const setup = {
        job: { key: expandKey(key) },
        count,
        buffers: { text: Uint32Array.from(wordsOfHex(text.toString('hex'))) },
      };
      const outcome = await native.run(encrypt, setup, { lanes });
      expect(hexOfWords(outcome.text as Uint32Array)).toBe(encrypted(key, text));
      const [fast, slow] = [
        await native.run(compress, { count, buffers }, { lanes }),
        await interpreter.run(compress, { count, buffers }),
      ];
      expect(fast.out).toEqual(slow.out);
    });
  }

  test('can be turned off', async (ctx) => {
    if (native.absent) return ctx.skip(native.absent);
    const plain = await native.run(compress, { count, buffers }, { lanes: byTier(1, 4), nativeBodies: false });
    const slow = await interpreter.run(compress, { count, buffers });
    expect(plain.out).toEqual(slow.out);
  });

  for (const [name, foreign, lanes] of [
    ['ARM', armWithAes, byTier([4], [1, 4, 8])],
    ['x86 without VAES', x86WithAesNi, byTier([4], [4, 8])],
  ] as const) {
    test(`of ${name} match the generic body`, async (ctx) => {
      const reason = missing(foreign);
      if (reason) return ctx.skip(reason);
      expect(kernelText(compress, { target: 'c', cpu: foreign.cpu })).toMatch(/vaeseq_u8|_mm_aesenc_si128/);
      const expected = await interpreter.run(compress, { count, buffers });
      for (const width of lanes) expect(runForeign(foreign, compress, width, count, buffers).out).toEqual(expected.out);
    });
  }
});
