import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { bitSelect } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import type { Scalar } from '../../language/types.js';
import { type MessageBytes, type MessageForm, messageBlocks } from './message.js';
import { integerRoot } from './prime-roots.js';
import { sha1 } from './sha1.js';

type Word = Expr<'u32'>;
type Words = readonly ExprLike<'u32'>[];
type Digest = readonly [Word, Word, Word, Word, Word];
type Five = [Word, Word, Word, Word, Word];

/** RIPEMD-160 over little-endian words. A compression is about 1,300 operations, unrolled. */
export const ripemd160 = {
  /** The initial state: the same five words as SHA-1's. */
  iv: sha1.iv,

  /** Compresses one block of 16 words into the state. */
  compress(state: Words, block: Words): Digest {
    return compress(...[...state, ...block].map((word) => operand('u32', word))) as unknown as Digest;
  },

  /**
   * Returns the digest of a message of `bytes` bytes, five words. `message` holds them as words; bytes of the last word past
   * the end are ignored. A length that only the kernel knows is at most 55.
   */
  hash(message: Words, bytes: MessageBytes = message.length * 4): Digest {
    let state: Words = ripemd160.iv;
    for (const block of messageBlocks(form, message, bytes)) state = ripemd160.compress(state, block);
    return state as Digest;
  },
};

const form: MessageForm = { name: 'ripemd160.hash', order: 'little', marker: 0x80, blockBytes: 64, lengthBytes: 8 };

/** The functions of rounds 1 to 5 of the left line. The right line has them in the opposite order. */
const mixes: readonly ((x: Word, y: Word, z: Word) => Word)[] = [
  (x, y, z) => x.xor(y).xor(z),
  (x, y, z) => bitSelect(x, y, z),
  (x, y, z) => x.or(y.not()).xor(z),
  (x, y, z) => bitSelect(z, x, y),
  (x, y, z) => x.xor(y.or(z.not())),
];

/** By round, 2^30 times the square roots (left) and cube roots (right) of these; 0 gives 0. */
const leftConstants = [0n, 2n, 3n, 5n, 7n].map((n) => Number(integerRoot(n << 60n, 2)));
const rightConstants = [2n, 3n, 5n, 7n, 0n].map((n) => Number(integerRoot(n << 90n, 3)));

/** Rotations by round and word of the block. */
const turns: readonly (readonly number[])[] = [
  [11, 14, 15, 12, 5, 8, 7, 9, 11, 13, 14, 15, 6, 7, 9, 8],
  [12, 13, 11, 15, 6, 9, 9, 7, 12, 15, 11, 13, 7, 8, 7, 7],
  [13, 15, 14, 11, 7, 7, 6, 8, 13, 14, 13, 12, 5, 5, 6, 9],
  [14, 11, 12, 14, 8, 6, 5, 5, 15, 12, 15, 14, 9, 9, 8, 6],
  [15, 12, 13, 13, 9, 5, 8, 6, 14, 11, 12, 11, 8, 6, 5, 5],
];

/** The order of words in the next round. */
const permutation = [7, 4, 13, 1, 10, 6, 15, 3, 12, 0, 9, 5, 2, 14, 11, 8] as const;
const numbers = Array.from({ length: 16 }, (_, i) => i);

const compress = std({
  name: 'ripemd160.compress',
  results: () => Array<Scalar>(5).fill('u32'),
  generic: (...args) => {
    const state = args.slice(0, 5) as Five;
    const block = args.slice(5) as Word[];
    const left = runLine(state, block, { first: numbers, constants: leftConstants, mixes });
    const first = numbers.map((i) => (9 * i + 5) % 16);
    const right = runLine(state, block, { first, constants: rightConstants, mixes: mixes.toReversed() });
    return state.map((_, i) => {
      const from = (words: Five, ahead: number) => words[(i + ahead) % 5] as Word;
      return from(state, 1).add(from(left, 2)).add(from(right, 3));
    });
  },
});

interface Line {
  /** The order of words in the first round. */
  readonly first: readonly number[];
  readonly constants: readonly number[];
  readonly mixes: typeof mixes;
}

function runLine(state: Five, block: readonly Word[], { first, constants, mixes: own }: Line): Five {
  let [a, b, c, d, e] = state;
  let order = first;
  own.forEach((mix, round) => {
    if (round > 0) order = order.map((i) => permutation[i] as number);
    for (const number of order) {
      const sum = a.add(mix(b, c, d)).add((block[number] as Word).add(constants[round] as number));
      [a, e, d, c, b] = [e, d, c.rotl(10), b, sum.rotl(turns[round]?.[number] as number).add(e)];
    }
  });
  return [a, b, c, d, e];
}
