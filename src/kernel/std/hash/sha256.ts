import { ValueStage } from '../../ir/program.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { bitSelect } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import { currentTrace } from '../../language/trace.js';
import type { Scalar } from '../../language/types.js';
import { type MessageBytes, type MessageForm, messageBlocks } from '../digest/message.js';
import { primeRootFractions } from '../digest/prime-roots.js';
import { armBody } from './sha256-arm.js';
import { armLastWordsBody } from './sha256-arm-last-words.js';
import { shaNiBody } from './sha256-shani.js';

type Word = Expr<'u32'>;
/** Eight words, the most significant first. */
export type Digest = readonly [Word, Word, Word, Word, Word, Word, Word, Word];

/** SHA-256 (FIPS 180-4) over big-endian words. */
export const sha256 = {
  /** The initial state: fractional parts of the square roots of the first eight primes. */
  iv: [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  ] as readonly number[],

  /** Compresses one block of 16 words into the state. */
  compress(state: readonly ExprLike<'u32'>[], block: readonly ExprLike<'u32'>[]): Digest {
    return compress(...[...state, ...block].map((word) => operand('u32', word))) as unknown as Digest;
  },

  /**
   * Compresses one block into each of several states. Values that depend on the block alone are computed once for all of
   * them. (With SHA instructions there is nothing to share.)
   */
  compressEach(states: readonly (readonly ExprLike<'u32'>[])[], block: readonly ExprLike<'u32'>[]): Digest[] {
    if (Object.keys(natives).some((key) => currentTrace().natives.has(key))) {
      return states.map((state) => sha256.compress(state, block));
    }
    const words = compressEach(...[...block, ...states.flat()].map((word) => operand('u32', word)));
    return states.map((_, i) => words.slice(8 * i, 8 * i + 8) as unknown as Digest);
  },

  /** Returns the words that complete a message of `bits` bits, a multiple of 32: a one bit, zeros, the length. */
  padding(bits: number): number[] {
    const words = bits / 32;
    const zeros = (16 - ((words + 3) % 16)) % 16;
    return [0x80000000, ...Array<number>(zeros).fill(0), Math.floor(bits / 2 ** 32), bits >>> 0];
  },

  /**
   * Returns the digest of a message of `bytes` bytes. `message` holds them as words, the first byte of each at its high end;
   * bytes of the last word past the end are ignored. A length that only the kernel knows is at most 55.
   */
  hash(message: readonly ExprLike<'u32'>[], bytes: MessageBytes = message.length * 4): Digest {
    let state: readonly ExprLike<'u32'>[] = sha256.iv;
    for (const block of messageBlocks(form, message, bytes)) state = sha256.compress(state, block);
    return state as Digest;
  },

  /** Returns the SHA-256 of the SHA-256. */
  double(message: readonly ExprLike<'u32'>[]): Digest {
    return sha256.hash(sha256.hash(message));
  },

  /**
   * Returns the last words of `double` for messages that differ only in their last word, on targets with a native body that
   * is cheaper than whole digests. Undefined on other targets, and for few messages.
   */
  doubleLastWords(messages: readonly (readonly ExprLike<'u32'>[])[]): readonly Word[] | undefined {
    const [first = []] = messages;
    const words = first.slice(0, -1).map((word) => operand('u32', word));
    const isHeader = words.length === 19 && words.every(({ node }) => node.stage < ValueStage.varying);
    if (!isHeader || messages.length < MIN_MESSAGES || !currentTrace().natives.has(LAST_WORDS_KEY)) return undefined;
    const state = sha256.compress(sha256.iv, words.slice(0, 16));
    const block = [...words.slice(16), operand('u32', 0), ...sha256.padding(640).map((word) => operand('u32', word))];
    const begun = run(state, expand(block, 4));
    const nonces = messages.map((message) => operand('u32', message[19] as ExprLike<'u32'>));
    return restOfDouble(...begun, ...extend(block, 20).slice(16), ...state, ...nonces) as Word[];
  },
};

const form: MessageForm = { name: 'sha256.hash', order: 'big', marker: 0x80, blockBytes: 64, lengthBytes: 8 };

/** True if the digest, read as Bitcoin does (byte 31 first), is strictly below the target (most significant word first). */
export function belowTarget(digest: Digest, target: readonly ExprLike<'u32'>[]): Expr<'bool'> {
  // From the least significant word up: a word decides unless it is equal; then the ones below it decide.
  let below: Expr<'bool'> | undefined;
  for (let i = 7; i >= 0; i--) {
    const word = (digest[7 - i] as Word).byteSwap();
    const limit = operand('u32', target[i] as ExprLike<'u32'>);
    below = below ? word.lt(limit).or(word.eq(limit).and(below)) : word.lt(limit);
  }
  return below as Expr<'bool'>;
}

/** Fractional parts of the cube roots of the first 64 primes. */
export const roundConstants: readonly number[] = primeRootFractions(3, 64, 32).map(Number);

const natives = { 'c-neon-sha': armBody(roundConstants), 'c-shani': shaNiBody(roundConstants) };

const compress = std({
  name: 'sha256.compress',
  results: () => Array<Scalar>(8).fill('u32'),
  generic: (...args) => rounds(args.slice(0, 8) as Word[], expand(args.slice(8) as Word[])),
  native: natives,
});

const compressEach = std({
  name: 'sha256.compressEach',
  results: (args) => Array<Scalar>(args.length - 16).fill('u32'),
  generic: (...args) => {
    const words = expand(args.slice(0, 16) as Word[]);
    const states = args.slice(16) as Word[];
    return Array.from({ length: states.length / 8 }, (_, i) => rounds(states.slice(8 * i, 8 * i + 8), words)).flat();
  },
});

const LAST_WORDS_KEY = 'c-neon-sha';
/** With fewer messages, start and end of the native body cost more than it saves. */
const MIN_MESSAGES = 4;
/** Arguments computed from the words before the nonce: a state, four words, a state. */
const SHARED_ARGS = 20;

/**
 * The last words of double hashes of 20 words, from the fifth round of their second block on. Arguments are the state after
 * four rounds and words 16 to 19, both with a fourth word of zero, the state before, and the fourth word of each message.
 */
const restOfDouble = std({
  name: 'sha256.restOfDouble',
  results: (args) => Array<Scalar>(args.length - SHARED_ARGS).fill('u32'),
  generic: (...args) => {
    const [a, b, c, d, e, f, g, h] = args.slice(0, 8) as [Word, Word, Word, Word, Word, Word, Word, Word];
    const [w16, w17, w18, w19] = args.slice(8, 12) as [Word, Word, Word, Word];
    const padding = sha256.padding(640).map((word) => operand('u32', word));
    return (args.slice(SHARED_ARGS) as Word[]).map((nonce) => {
      const words = extend([nonce, ...padding, w16, w17, w18.add(smallSigma0(nonce)), w19.add(nonce)], 61);
      const added = words.slice(1).map((word, t) => word.add(roundConstants[4 + t] as number));
      const state = run([a.add(nonce), b, c, d, e.add(nonce), f, g, h], added);
      return sha256.hash(state.map((word, i) => word.add(args[12 + i] as Word)))[7];
    });
  },
  native: { [LAST_WORDS_KEY]: armLastWordsBody({ ...sha256, constants: roundConstants }, SHARED_ARGS) },
});

/** The functions with native bodies. */
export const sha256Functions = [compress, restOfDouble];

/** Returns the terms that the first rounds add: a message word plus the round's constant. */
const expand = (block: readonly Word[], count = 64): Word[] =>
  extend(block, count)
    .slice(0, count)
    .map((word, t) => word.add(roundConstants[t] as number));

/** Returns message words up to `count`; each new word is made of four of the sixteen before it. */
function extend(block: readonly Word[], count: number): Word[] {
  const w = [...block];
  while (w.length < count) {
    const at = (back: number) => w[w.length - back] as Word;
    w.push(
      smallSigma1(at(2))
        .add(at(7))
        .add(smallSigma0(at(15)))
        .add(at(16)),
    );
  }
  return w;
}

const rounds = (state: readonly Word[], words: readonly Word[]): Word[] =>
  run(state, words).map((word, i) => word.add(state[i] as Word));

function run(state: readonly Word[], words: readonly Word[]): Word[] {
  let [a, b, c, d, e, f, g, h] = state as [Word, Word, Word, Word, Word, Word, Word, Word];
  for (const word of words) {
    const t1 = h
      .add(bigSigma1(e))
      .add(bitSelect(e, f, g))
      .add(word);
    const t2 = bigSigma0(a).add(majority(a, b, c));
    [h, g, f, e, d, c, b, a] = [g, f, e, d.add(t1), c, b, a, t1.add(t2)];
  }
  return [a, b, c, d, e, f, g, h];
}

const bigSigma0 = (x: Word) => x.rotr(2).xor(x.rotr(13)).xor(x.rotr(22));
const bigSigma1 = (x: Word) => x.rotr(6).xor(x.rotr(11)).xor(x.rotr(25));
const smallSigma0 = (x: Word) => x.rotr(7).xor(x.rotr(18)).xor(x.shr(3));
const smallSigma1 = (x: Word) => x.rotr(17).xor(x.rotr(19)).xor(x.shr(10));
const majority = (a: Word, b: Word, c: Word) => a.and(b).or(c.and(a.or(b)));
