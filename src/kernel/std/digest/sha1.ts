import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { bitSelect } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import type { Scalar } from '../../language/types.js';
import { type MessageBytes, type MessageForm, messageBlocks } from './message.js';
import { integerRoot } from './prime-roots.js';

type Word = Expr<'u32'>;
type Words = readonly ExprLike<'u32'>[];
type Digest = readonly [Word, Word, Word, Word, Word];

/** SHA-1 (FIPS 180-4) over big-endian words. A compression is about 1,000 operations, unrolled. */
export const sha1 = {
  /** The initial state: MD5's words, and one more. */
  iv: [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0] as readonly number[],

  /** Compresses one block of 16 words into the state. */
  compress(state: Words, block: Words): Digest {
    return compress(...[...state, ...block].map((word) => operand('u32', word))) as unknown as Digest;
  },

  /**
   * Returns the digest of a message of `bytes` bytes, five words. `message` holds them as words, the first byte of each at its
   * high end; bytes of the last word past the end are ignored. A length that only the kernel knows is at most 55.
   */
  hash(message: Words, bytes: MessageBytes = message.length * 4): Digest {
    let state: Words = sha1.iv;
    for (const block of messageBlocks(form, message, bytes)) state = sha1.compress(state, block);
    return state as Digest;
  },
};

const form: MessageForm = { name: 'sha1.hash', order: 'big', marker: 0x80, blockBytes: 64, lengthBytes: 8 };

const parity = (b: Word, c: Word, d: Word): Word => b.xor(c).xor(d);
const majority = (b: Word, c: Word, d: Word): Word => b.and(c).or(d.and(b.or(c)));

/** Constants are 2^30 times the square roots of 2, 3, 5 and 10. */
const rounds: readonly { mix(b: Word, c: Word, d: Word): Word; readonly constant: number }[] = [
  { mix: (b, c, d) => bitSelect(b, c, d), constant: rootOf(2n) },
  { mix: parity, constant: rootOf(3n) },
  { mix: majority, constant: rootOf(5n) },
  { mix: parity, constant: rootOf(10n) },
];

function rootOf(n: bigint): number {
  return Number(integerRoot(n << 60n, 2));
}

const compress = std({
  name: 'sha1.compress',
  results: () => Array<Scalar>(5).fill('u32'),
  generic: (...args) => {
    const state = args.slice(0, 5) as Word[];
    const w = args.slice(5) as Word[];
    let [a, b, c, d, e] = state as [Word, Word, Word, Word, Word];
    rounds.forEach(({ mix, constant }, round) => {
      for (let t = 20 * round; t < 20 * round + 20; t++) {
        const before = (back: number) => w[t - back] as Word;
        if (t >= 16) w.push(before(3).xor(before(8)).xor(before(14)).xor(before(16)).rotl(1));
        const sum = a
          .rotl(5)
          .add(mix(b, c, d))
          .add(e)
          .add((w[t] as Word).add(constant));
        [e, d, c, b, a] = [d, c, b.rotl(30), a, sum];
      }
    });
    return [a, b, c, d, e].map((word, i) => word.add(state[i] as Word));
  },
});
