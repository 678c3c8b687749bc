import { cell, when } from '../../language/control.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { bitSelect } from '../../language/operations.js';
import { std } from '../../language/std-function.js';
import { currentTrace } from '../../language/trace.js';
import type { Scalar } from '../../language/types.js';
import { type MessageBytes, type MessageForm, messageBlocks } from './message.js';

type Word = Expr<'u32'>;
type Words = readonly ExprLike<'u32'>[];
type Digest = readonly [Word, Word, Word, Word];

/** MD5 (RFC 1321) over little-endian words. A compression is about 450 operations, unrolled. */
export const md5 = {
  /** The initial state: the bytes 01 23 … ef fe … 10. */
  iv: [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476] as readonly number[],

  /** Compresses one block of 16 words into the state. */
  compress(state: Words, block: Words): Digest {
    return compress(...operands([...state, ...block])) as unknown as Digest;
  },

  /**
   * Returns the digest of a message of `bytes` bytes, four words. `message` holds them as words; bytes of the last word past
   * the end are ignored. A length that only the kernel knows is at most 55.
   */
  hash(message: Words, bytes: MessageBytes = message.length * 4): Digest {
    let state: Words = md5.iv;
    for (const block of messageBlocks(form, message, bytes)) state = md5.compress(state, block);
    return state as Digest;
  },

  /**
   * True if the message has the digest `wanted`. Cheaper than comparing digests: the steps after the last one that takes a
   * word that changes from round to round of the nearest loop are undone from `wanted` instead, outside of the loop. Three
   * more are left to the few messages whose first value is right. If word 0 alone changes, 46 steps of 64 are left.
   */
  matches(message: Words, bytes: MessageBytes, wanted: Words): Expr<'bool'> {
    const trace = currentTrace();
    return trace.withCallerOrigin(() => {
      const blocks = messageBlocks(form, message, bytes);
      const block = operands(blocks.pop() ?? []);
      let state = operands(md5.iv);
      for (const before of blocks) state = [...md5.compress(state, before)];
      const changing = block.map((word) => trace.changesInLoop(word.node));
      const lastStep = Math.max(
        3,
        steps.findLastIndex(({ word }) => changing[word]),
      );
      const goal = undoSteps(state, block, operands(wanted), lastStep);
      const early = runSteps(valuesOf(state), block, 0, lastStep - 2);
      const found = cell('bool', false);
      when(at(early, lastStep + 1).eq(at(goal, lastStep + 1)), () => {
        const late = runSteps(early, block, lastStep - 2, lastStep + 1);
        const isSame = (i: number) => at(late, i).eq(at(goal, i));
        found.set(
          isSame(lastStep + 2)
            .and(isSame(lastStep + 3))
            .and(isSame(lastStep + 4)),
        );
      });
      return found.get();
    });
  },
};

const form: MessageForm = { name: 'md5.hash', order: 'little', marker: 0x80, blockBytes: 64, lengthBytes: 8 };

const operands = (words: Words): Word[] => words.map((word) => operand('u32', word));
const at = (words: readonly Word[], i: number): Word => words[i] as Word;

interface Step {
  mix(b: Word, c: Word, d: Word): Word;
  /** The word of the block that it adds. */
  readonly word: number;
  readonly constant: number;
  readonly turn: number;
}

const rounds: readonly { readonly mix: Step['mix']; word(i: number): number; readonly turns: readonly number[] }[] = [
  { mix: (b, c, d) => bitSelect(b, c, d), word: (i) => i, turns: [7, 12, 17, 22] },
  { mix: (b, c, d) => bitSelect(d, b, c), word: (i) => 5 * i + 1, turns: [5, 9, 14, 20] },
  { mix: (b, c, d) => b.xor(c).xor(d), word: (i) => 3 * i + 5, turns: [4, 11, 16, 23] },
  { mix: (b, c, d) => c.xor(b.or(d.not())), word: (i) => 7 * i, turns: [6, 10, 15, 21] },
];

const steps: readonly Step[] = rounds.flatMap(({ mix, word, turns }, round) =>
  Array.from({ length: 16 }, (_, i) => ({
    mix,
    word: word(i) % 16,
    constant: Math.floor(2 ** 32 * Math.abs(Math.sin(16 * round + i + 1))),
    turn: turns[i % 4] as number,
  })),
);

const compress = std({
  name: 'md5.compress',
  results: () => Array<Scalar>(4).fill('u32'),
  generic: (...args) => {
    const state = args.slice(0, 4) as Word[];
    const values = runSteps(valuesOf(state), args.slice(4) as Word[], 0, 64);
    return wordOrder.map((i, k) => at(values, 64 + i).add(at(state, k)));
  },
});

/** A step makes one value from the four before it. The state is the last four values: a, d, c, b. */
const wordOrder = [0, 3, 2, 1] as const;
const valuesOf = (state: readonly Word[]): Word[] => wordOrder.map((i) => at(state, i));

/** Returns the values with those of steps `from` to `to` − 1 added; step t makes number t + 4. */
function runSteps(values: readonly Word[], block: readonly Word[], from: number, to: number): Word[] {
  const all = [...values];
  steps.slice(from, to).forEach(({ mix, word, constant, turn }, i) => {
    const t = from + i;
    const b = at(all, t + 3);
    const mixed = mix(b, at(all, t + 2), at(all, t + 1));
    all.push(at(all, t).add(mixed).add(at(block, word).add(constant)).rotl(turn).add(b));
  });
  return all;
}

/** Returns the values that lead from before step `lastStep` + 1 to the digest. Those of earlier steps are missing. */
function undoSteps(state: readonly Word[], block: readonly Word[], digest: readonly Word[], lastStep: number): Word[] {
  const all: Word[] = [];
  wordOrder.forEach((i, k) => {
    all[64 + k] = at(digest, i).sub(at(state, i));
  });
  for (let t = 63; t > lastStep; t--) {
    const { mix, word, constant, turn } = steps[t] as Step;
    const b = at(all, t + 3);
    all[t] = at(all, t + 4)
      .sub(b)
      .rotr(turn)
      .sub(mix(b, at(all, t + 2), at(all, t + 1)))
      .sub(at(block, word).add(constant));
  }
  return all;
}
