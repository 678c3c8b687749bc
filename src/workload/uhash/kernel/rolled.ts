import {
  type AesTables,
  aes,
  bitSelect,
  type Cell,
  cells,
  type Expr,
  type ExprLike,
  loop,
  table,
  when,
} from '../../../kernel/index.js';
import { roundConstants } from '../../../kernel/std/hash/sha256.js';

/**
 * The three compressions as loops: 21 KB of GPU code instead of 54, and less to compile. The once-per-nonce steps always
 * use these.
 */

type Word = Expr<'u32'>;
type Words = readonly ExprLike<'u32'>[];

/** Two rounds of both halves, twice: the halves swap in between, so that the keys stay in place. */
export function rolledAes(state: readonly Word[], block: readonly Word[], aesTables: AesTables): Word[] {
  const [a, b, c, d] = [0, 4, 8, 12].map((at) => block.slice(at, at + 4)) as [Word[], Word[], Word[], Word[]];
  const [low, high] = [cells('u32', state.slice(0, 4)), cells('u32', state.slice(4))];
  loop(2, () => {
    const first = aes.rounds(values(low), [a, b], aesTables);
    const second = aes.rounds(values(high), [c, d], aesTables);
    put(low, second);
    put(high, first);
  });
  return [...values(low), ...values(high)];
}

/** SHA-256's compression over big-endian words: sixteen rounds at a time, then the next sixteen words of the message. */
export function rolledSha256(state: Words, block: Words): Word[] {
  const constants = table('u32', roundConstants);
  const [working, message] = [cells('u32', state), cells('u32', block)];
  loop(4, (i) => {
    const w = values(message);
    let [a, b, c, d, e, f, g, h] = values(working) as Eight;
    w.forEach((word, t) => {
      const t1 = h
        .add(sum(e, 6, 11, 25))
        .add(bitSelect(e, f, g))
        .add(word)
        .add(constants.at(i.mul(16).add(t)));
      const t2 = sum(a, 2, 13, 22).add(a.and(b).or(c.and(a.or(b))));
      [h, g, f, e, d, c, b, a] = [g, f, e, d.add(t1), c, b, a, t1.add(t2)];
    });
    put(working, [a, b, c, d, e, f, g, h]);
    when(i.lt(3), () => {
      for (let t = 0; t < 16; t++) {
        const at = (ahead: number) => w[(t + ahead) % 16] as Word;
        const [one, other] = [at(14), at(1)];
        const mixed = one.rotr(17).xor(one.rotr(19)).xor(one.shr(10)).add(at(9));
        w[t] = mixed.add(other.rotr(7).xor(other.rotr(18)).xor(other.shr(3))).add(at(0));
      }
      put(message, w);
    });
  });
  return values(working).map((word, i) => word.add(state[i] as ExprLike<'u32'>));
}

type Eight = [Word, Word, Word, Word, Word, Word, Word, Word];

const sum = (word: Word, ...by: [number, number, number]): Word =>
  word.rotr(by[0]).xor(word.rotr(by[1])).xor(word.rotr(by[2]));

/** BLAKE3's compression, a round at a time. `rest` follows the state: the IV and four more words. */
export function rolledBlake3(state: Words, rest: Words, block: Words): Word[] {
  const [working, message] = [cells('u32', [...state, ...rest]), cells('u32', block)];
  loop(7, () => {
    const [v, m] = [values(working), values(message)];
    QUARTERS.forEach(([a, b, c, d], q) => {
      const mix = (word: Word, turn: number, next: number): void => {
        v[a] = at(v, a).add(at(v, b)).add(word);
        v[d] = at(v, d).xor(at(v, a)).rotr(turn);
        v[c] = at(v, c).add(at(v, d));
        v[b] = at(v, b).xor(at(v, c)).rotr(next);
      };
      mix(at(m, 2 * q), 16, 12);
      mix(at(m, 2 * q + 1), 8, 7);
    });
    put(working, v);
    put(
      message,
      PERMUTATION.map((from) => at(m, from)),
    );
  });
  const v = values(working);
  return v.slice(0, 8).map((word, i) => word.xor(at(v, i + 8)));
}

const PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
const QUARTERS = [
  ...[0, 1, 2, 3].map((i) => [i, i + 4, i + 8, i + 12] as const),
  ...[0, 1, 2, 3].map((i) => [i, 4 + ((i + 1) % 4), 8 + ((i + 2) % 4), 12 + ((i + 3) % 4)] as const),
];

const at = (words: readonly Word[], i: number): Word => words[i] as Word;
const values = (of: readonly Cell<'u32'>[]): Word[] => of.map((one) => one.get());

function put(into: readonly Cell<'u32'>[], words: readonly Word[]): void {
  into.forEach((one, i) => {
    one.set(at(words, i));
  });
}
