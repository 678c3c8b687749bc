import type { Table } from '../control.js';
import { table } from '../control.js';
import { type Expr, type In, operand } from '../expr.js';
import { std } from '../std-function.js';
import { currentTrace, type Trace } from '../trace.js';
import type { Scalar } from '../types.js';
import { aesNiBody, neonBody, vaesBody } from './aes-native.js';

type Word = Expr<'u32'>;
type Words = readonly In<'u32'>[];

/**
 * AES rounds over four little-endian words, one per column, row 0 in the low byte. Keys are given as they are: there is
 * no key schedule and no whitening here. Generic bodies look one table up (256 words, the other three are rotations of
 * it); processors with AES instructions do a whole gang.
 */
export const aes = {
  /** S-box and MixColumns in one: entry b holds the bytes 2S, S, S, 3S, lowest first, of S = S-box(b). */
  table: roundTable() as readonly number[],

  /** SubBytes, ShiftRows, MixColumns, AddRoundKey: x86's AESENC. */
  round(state: Words, key: Words): Word[] {
    return aes.rounds(state, [key]);
  },

  /** One round for each key, in order. Best as one call: a native body turns lanes into columns and back only once. */
  rounds(state: Words, keys: readonly Words[]): Word[] {
    return rounds(...[...state, ...keys.flat()].map((word) => operand('u32', word))) as Word[];
  },

  /** The round that ends AES, without MixColumns: x86's AESENCLAST. */
  lastRound(state: Words, key: Words): Word[] {
    const words = state.map((word) => operand('u32', word));
    const boxes = roundTableOf(currentTrace());
    return words.map((_, column) => {
      const box = (row: 0 | 1 | 2 | 3) =>
        boxes
          .at((words[(column + row) % 4] as Word).byte(row))
          .byte(1) // the S-box itself
          .shl(8 * row);
      return box(0)
        .xor(box(1))
        .xor(box(2))
        .xor(box(3))
        .xor(key[column] as In<'u32'>);
    });
  },
};

const rounds = std({
  name: 'aes.rounds',
  results: () => Array<Scalar>(4).fill('u32'),
  generic(...args) {
    const words = args as Word[];
    const boxes = roundTableOf(currentTrace());
    let state = words.slice(0, 4);
    for (let at = 4; at < words.length; at += 4) {
      const before = state;
      state = before.map((_, column) => {
        const row = (r: 0 | 1 | 2 | 3) => boxes.at((before[(column + r) % 4] as Word).byte(r)).rotl(8 * r);
        return row(0)
          .xor(row(1))
          .xor(row(2))
          .xor(row(3))
          .xor(words[at + column] as Word);
      });
    }
    return state;
  },
  native: { 'c-vaes': vaesBody, 'c-aesni': aesNiBody, 'c-neon-aes': neonBody },
});

const tables = new WeakMap<Trace, Table<'u32'>>();

/** One table for a kernel, however often it calls. */
function roundTableOf(trace: Trace): Table<'u32'> {
  const known = tables.get(trace);
  if (known) return known;
  const made = table('u32', aes.table);
  tables.set(trace, made);
  return made;
}

/** From the definition: inverse in GF(2^8) mod x^8 + x^4 + x^3 + x + 1, then an affine map. */
function roundTable(): number[] {
  const double = (x: number) => ((x << 1) ^ (x & 0x80 ? 0x11b : 0)) & 0xff;
  // 3 generates the field's non-zero elements: power[i] = 3^i, and the inverse of 3^i is 3^(255 - i).
  const power: number[] = [1];
  for (let i = 1; i < 255; i++) {
    const last = power[i - 1] as number;
    power.push(last ^ double(last));
  }
  const log = new Map(power.map((x, i) => [x, i]));
  return Array.from({ length: 256 }, (_, b) => {
    const inverse = b === 0 ? 0 : (power[(255 - (log.get(b) as number)) % 255] as number);
    let s = 0x63;
    for (const turn of [0, 1, 2, 3, 4]) s ^= ((inverse << turn) | (inverse >> (8 - turn))) & 0xff;
    return (double(s) | (s << 8) | (s << 16) | ((double(s) ^ s) << 24)) >>> 0;
  });
}
