import { MillraceError } from '../../error.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { std } from '../../language/std-function.js';
import type { Scalar } from '../../language/types.js';
import { neonBody } from './blake3-neon.js';

type Word = Expr<'u32'>;
type Chaining = readonly ExprLike<'u32'>[];

/** Inputs of the compression function in addition to its chaining value and block. */
export interface Blake3Block {
  /** Number of the chunk (or of the output block, in the extended output of the root), low word first. */
  readonly counter?: readonly [ExprLike<'u32'>, ExprLike<'u32'>];
  /** Bytes of the block that belong to the message; the words after them are zero. */
  readonly length?: ExprLike<'u32'>;
  readonly flags?: ExprLike<'u32'>;
}

/**
 * BLAKE3 over little-endian words. A compression is about 800 operations, unrolled. Blocks that depend on the job alone cost
 * nothing, since the host computes them. A varying message should have fewer than six blocks on targets with the limit of
 * 5,000 statements.
 */
export const blake3 = {
  /** The same eight words as SHA-256's initial state. */
  iv: [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
  ] as readonly number[],

  flags: { chunkStart: 1, chunkEnd: 2, parent: 4, root: 8, keyedHash: 16 },

  /** The compression function: eight words of chaining value, sixteen of message, sixteen out. */
  compress(chaining: readonly ExprLike<'u32'>[], block: readonly ExprLike<'u32'>[], rest: Blake3Block = {}): Word[] {
    const { counter = [0, 0], length = 64, flags = 0 } = rest;
    const low = runRounds([...chaining, ...blake3.iv.slice(0, 4), ...counter, length, flags], block);
    return [...xorHalves(low), ...low.slice(8).map((word, i) => word.xor(chaining[i] as ExprLike<'u32'>))];
  },

  /** The rounds with all eight words of the IV in place of counter, length and flags, as in UniversalHash. */
  compressIv(state: readonly ExprLike<'u32'>[], block: readonly ExprLike<'u32'>[]): Word[] {
    return xorHalves(runRounds([...state, ...blake3.iv], block));
  },

  /**
   * Returns the 32-byte hash of a message of `bytes` bytes. `message` holds them as words; bytes of the last word past the
   * end are ignored. Above a chunk (1,024 bytes) it is BLAKE3's tree; the host computes chunks that depend on the job alone.
   */
  hash(message: readonly ExprLike<'u32'>[], bytes = message.length * 4): Word[] {
    const words = Math.ceil(bytes / 4);
    if (!Number.isInteger(bytes) || bytes < 0 || bytes > MAX_BYTES || message.length < words) {
      throw new MillraceError({
        code: 'kernel-value',
        message:
          bytes > MAX_BYTES
            ? `blake3.hash of ${bytes} bytes: more than ${MAX_BYTES}`
            : `blake3.hash of ${bytes} bytes got ${message.length} words`,
        asked: 'the hash of a message',
        advice: `give ceil(bytes / 4) words, at most ${MAX_BYTES} bytes: each block is traced`,
      });
    }
    const whole = message.slice(0, words);
    if (bytes % 4 !== 0) whole[words - 1] = operand('u32', whole[words - 1] ?? 0).and(2 ** (8 * (bytes % 4)) - 1);
    return subtree(whole, bytes, 0, blake3.flags.root) as Word[];
  },
};

/** Tracing a block takes about 1 ms. */
const MAX_BYTES = 65_536;
const CHUNK_BYTES = 1024;

/** Returns the chaining value over chunks from number `first` on; the left part of a tree is the largest full one. */
function subtree(message: Chaining, bytes: number, first: number, root: number): Chaining {
  if (bytes <= CHUNK_BYTES) return chunk(message, bytes, first, root);
  let left = CHUNK_BYTES;
  while (left * 2 < bytes) left *= 2;
  const children = [
    ...subtree(message.slice(0, left / 4), left, first, 0),
    ...subtree(message.slice(left / 4), bytes - left, first + left / CHUNK_BYTES, 0),
  ];
  return blake3.compress(blake3.iv, children, { flags: blake3.flags.parent | root }).slice(0, 8);
}

function chunk(message: Chaining, bytes: number, number: number, root: number): Chaining {
  const { chunkStart, chunkEnd } = blake3.flags;
  const blocks = Math.max(1, Math.ceil(bytes / 64));
  const padded = [...message, ...Array<number>(blocks * 16 - message.length).fill(0)];
  let chaining: Chaining = blake3.iv;
  for (let i = 0; i < blocks; i++) {
    const isLast = i === blocks - 1;
    const flags = (i === 0 ? chunkStart : 0) | (isLast ? chunkEnd | root : 0);
    const length = isLast ? bytes - 64 * i : 64;
    const rest = { counter: [number, 0], length, flags } as const;
    chaining = blake3.compress(chaining, padded.slice(16 * i, 16 * i + 16), rest).slice(0, 8);
  }
  return chaining;
}

/** The first half of the output: both halves of the working state, combined. */
const xorHalves = (v: readonly Word[]): Word[] => v.slice(0, 8).map((word, i) => word.xor(v[i + 8] as Word));

const runRounds = (state: readonly ExprLike<'u32'>[], block: readonly ExprLike<'u32'>[]): Word[] =>
  blake3Rounds(...[...state, ...block].map((word) => operand('u32', word))) as Word[];

/** The position of each message word in the next round. */
const permutation = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
/** Working words that are mixed together: columns, then diagonals. */
const quarters = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
] as const;

/** Takes sixteen working words and sixteen message words; returns the working words after seven rounds. */
export const blake3Rounds = std({
  name: 'blake3.rounds',
  results: () => Array<Scalar>(16).fill('u32'),
  generic(...args) {
    const v = args.slice(0, 16) as Word[];
    let m = args.slice(16) as Word[];
    for (let round = 0; round < 7; round++) {
      if (round > 0) m = permutation.map((from) => m[from] as Word);
      quarters.forEach((quarter, q) => {
        mix(v, quarter, m[2 * q] as Word, m[2 * q + 1] as Word);
      });
    }
    return v;
  },
  native: { 'c-neon': neonBody({ quarters, permutation }) },
});

function mix(v: Word[], [a, b, c, d]: (typeof quarters)[number], x: Word, y: Word): void {
  const at = (i: number) => v[i] as Word;
  v[a] = at(a).add(at(b)).add(x);
  v[d] = at(d).xor(at(a)).rotr(16);
  v[c] = at(c).add(at(d));
  v[b] = at(b).xor(at(c)).rotr(12);
  v[a] = at(a).add(at(b)).add(y);
  v[d] = at(d).xor(at(a)).rotr(8);
  v[c] = at(c).add(at(d));
  v[b] = at(b).xor(at(c)).rotr(7);
}
