import { cells, loop } from '../../language/control.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { isRolled, type RolledOption, std } from '../../language/std-function.js';
import type { Scalar } from '../../language/types.js';

type Word = Expr<'u32'>;
type Words = readonly ExprLike<'u32'>[];

/** ChaCha20 (RFC 8439) over little-endian words. A block is about 1,000 operations, unrolled. */
export const chacha20 = {
  /** "expand 32-byte k". */
  constants: [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as readonly number[],

  /**
   * The block function: 16 words of the key stream, from eight words of key, the number of the block and three words of nonce.
   */
  block(key: Words, counter: ExprLike<'u32'>, nonce: Words, options: RolledOption = {}): Word[] {
    const words = [...chacha20.constants, ...key, counter, ...nonce].map((word) => operand('u32', word));
    return (isRolled(options, words) ? rolled : unrolled)(...words) as Word[];
  },
};

const results = (): Scalar[] => Array<Scalar>(16).fill('u32');
const DOUBLE_ROUNDS = 10;

const unrolled = std({
  name: 'chacha20.block',
  results,
  generic: (...args) => {
    let state = args as Word[];
    for (let i = 0; i < DOUBLE_ROUNDS; i++) state = doubleRound(state);
    return sum(state, args as Word[]);
  },
});

const rolled = std({
  name: 'chacha20.block',
  results,
  generic: (...args) => {
    const working = cells('u32', args as Word[]);
    const values = () => working.map((word) => word.get());
    loop(DOUBLE_ROUNDS, () => {
      const next = doubleRound(values());
      for (const [i, word] of working.entries()) word.set(next[i] as Word);
    });
    return sum(values(), args as Word[]);
  },
});

const sum = (a: readonly Word[], b: readonly Word[]): Word[] => a.map((word, i) => word.add(b[i] as Word));

/** Words that are mixed together: columns, then diagonals. */
const quarters = [0, 1].flatMap((turn) =>
  [0, 1, 2, 3].map(
    (i) => [0, 1, 2, 3].map((row) => 4 * row + ((i + turn * row) % 4)) as [number, number, number, number],
  ),
);

function doubleRound(state: readonly Word[]): Word[] {
  const v = [...state];
  const at = (i: number) => v[i] as Word;
  for (const [a, b, c, d] of quarters) {
    for (const [first, second] of [
      [16, 12],
      [8, 7],
    ] as const) {
      v[a] = at(a).add(at(b));
      v[d] = at(d).xor(at(a)).rotl(first);
      v[c] = at(c).add(at(d));
      v[b] = at(b).xor(at(c)).rotl(second);
    }
  }
  return v;
}
