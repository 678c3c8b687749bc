import { type Cell, cells, loop, table, when } from '../../language/control.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { bitSelect, u64Of } from '../../language/operations.js';
import { isRolled, type RolledOption, std } from '../../language/std-function.js';
import type { Scalar } from '../../language/types.js';
import { type MessageBytes, type MessageForm, messageBlocks } from './message.js';
import { primeRootFractions } from './prime-roots.js';

type Word = Expr<'u64'>;
type Words = readonly ExprLike<'u64'>[];
type Eight = [Word, Word, Word, Word, Word, Word, Word, Word];
type Digest = Readonly<Eight>;

/**
 * SHA-512 (FIPS 180-4) over big-endian words of 64 bits. A compression is about 2,400 operations, unrolled: 610 statements, or
 * 2,570 where 64-bit integers are pairs of words. As a loop of 16 rounds it has 230 or 790.
 */
export const sha512 = {
  /** The initial state: fractional parts of the square roots of the first eight primes. */
  iv: primeRootFractions(2, 8, 64) as readonly bigint[],

  /** Compresses one block of 16 words into the state. */
  compress(state: Words, block: Words, options: RolledOption = {}): Digest {
    const words = [...state, ...block].map((word) => operand('u64', word));
    return (isRolled(options, words) ? rolled : unrolled)(...words) as unknown as Digest;
  },

  /**
   * Returns the digest of a message of `bytes` bytes, eight words. `message` holds them as words of 32 bits, the first byte of
   * each at its high end; bytes of the last word past the end are ignored. A length that only the kernel knows is at most 111.
   */
  hash(
    message: readonly ExprLike<'u32'>[],
    bytes: MessageBytes = message.length * 4,
    options: RolledOption = {},
  ): Digest {
    let state: Words = sha512.iv;
    for (const block of messageBlocks(form, message, bytes)) {
      const words = Array.from({ length: 16 }, (_, i) => u64Of(block[2 * i + 1] ?? 0, block[2 * i] ?? 0));
      state = sha512.compress(state, words, options);
    }
    return state as Digest;
  },
};

const form: MessageForm = { name: 'sha512.hash', order: 'big', marker: 0x80, blockBytes: 128, lengthBytes: 16 };

/** Fractional parts of the cube roots of the first 80 primes. */
const roundConstants: readonly bigint[] = primeRootFractions(3, 80, 64);

const results = (): Scalar[] => Array<Scalar>(8).fill('u64');

const unrolled = std({
  name: 'sha512.compress',
  results,
  generic: (...args) => {
    const state = args.slice(0, 8) as Eight;
    const w = args.slice(8) as Word[];
    while (w.length < 80) w.push(nextWord((back) => w[w.length - back] as Word));
    const end = w.reduce((words, word, t) => round(words, word.add(roundConstants[t] as bigint)), state);
    return end.map((word, i) => word.add(state[i] as Word));
  },
});

/** Sixteen rounds at a time, then the next sixteen words of the message. */
const rolled = std({
  name: 'sha512.compress',
  results,
  generic: (...args) => {
    const state = args.slice(0, 8) as Word[];
    const constants = table('u64', roundConstants);
    const [working, message] = [cells('u64', state), cells('u64', args.slice(8) as Word[])];
    loop(5, (i) => {
      const w = valuesOf(message);
      const first = i.shl(4);
      const end = w.reduce(
        (words, word, t) => round(words, word.add(constants.at(first.add(t)))),
        valuesOf(working) as Eight,
      );
      put(working, end);
      when(i.lt(4), () => {
        w.forEach((_, t) => {
          w[t] = nextWord((back) => w[(t + 16 - back) % 16] as Word);
        });
        put(message, w);
      });
    });
    return valuesOf(working).map((word, i) => word.add(state[i] as Word));
  },
});

const valuesOf = (of: readonly Cell<'u64'>[]): Word[] => of.map((one) => one.get());

function put(into: readonly Cell<'u64'>[], words: readonly Word[]): void {
  for (const [i, one] of into.entries()) one.set(words[i] as Word);
}

/** Returns the next word of the message; `before(n)` is the one n before it. */
const nextWord = (before: (back: number) => Word): Word =>
  smallSigma1(before(2))
    .add(before(7))
    .add(smallSigma0(before(15)))
    .add(before(16));

function round([a, b, c, d, e, f, g, h]: Eight, word: Word): Eight {
  const t1 = h
    .add(bigSigma1(e))
    .add(bitSelect(e, f, g))
    .add(word);
  const t2 = bigSigma0(a).add(a.and(b).or(c.and(a.or(b))));
  return [t1.add(t2), a, b, c, d.add(t1), e, f, g];
}

const bigSigma0 = (x: Word) => x.rotr(28).xor(x.rotr(34)).xor(x.rotr(39));
const bigSigma1 = (x: Word) => x.rotr(14).xor(x.rotr(18)).xor(x.rotr(41));
const smallSigma0 = (x: Word) => x.rotr(1).xor(x.rotr(8)).xor(x.shr(7));
const smallSigma1 = (x: Word) => x.rotr(19).xor(x.rotr(61)).xor(x.shr(6));
