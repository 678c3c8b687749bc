import type { Table } from '../../language/control.js';
import { table } from '../../language/control.js';
import { type Expr, type ExprLike, operand } from '../../language/expr.js';
import { std } from '../../language/std-function.js';
import { currentTrace, type Trace } from '../../language/trace.js';
import type { Scalar } from '../../language/types.js';
import { aesNiBody, neonBody, vaesBody } from './aes-native.js';

type Word = Expr<'u32'>;
type Words = readonly ExprLike<'u32'>[];

/**
 * AES rounds over four little-endian words, one per column, row 0 in the low byte. Keys are used as given: there is no key
 * schedule and no whitening here. Generic bodies use one table (256 words; the other three are rotations of it). Processors
 * with AES instructions process a whole gang.
 */
export const aes = {
  /** S-box and MixColumns in one: entry b holds the bytes 2S, S, S, 3S, lowest first, of S = S-box(b). */
  table: roundTable() as readonly number[],

  /** SubBytes, ShiftRows, MixColumns, AddRoundKey: x86's AESENC. */
  round(state: Words, key: Words): Word[] {
    return aes.rounds(state, [key]);
  },

  /**
   * Does one round for each key, in order. One call is best, since a native body then transposes lanes only once.
   *
   * `copies` is for GPUs, whose workgroup memory serves one word of each of its 32 banks at a time. In a table in which each
   * entry is repeated `copies` times, threads with different `lane`s access different banks. 32 copies are 32 KiB and never
   * conflict; with one copy, 32 random look-ups take as long as 3.4 on average.
   */
  rounds(state: Words, keys: readonly Words[], { copies = 1, lane = 0, tables = 1 }: AesTables = {}): Word[] {
    const words = [...state, ...keys.flat()].map((word) => operand('u32', word));
    const isPlain = copies === 1 && tables === 1;
    return isPlain ? (aesRounds(...words) as Word[]) : roundsByTable(words, { copies, lane, tables });
  },

  /** Does the last round of AES, without MixColumns: x86's AESENCLAST. */
  lastRound(state: Words, key: Words): Word[] {
    const words = state.map((word) => operand('u32', word));
    const [boxes] = roundTablesOf(currentTrace(), 1, 1) as [Table<'u32'>];
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
        .xor(key[column] as ExprLike<'u32'>);
    });
  },
};

/** Options for speed on a GPU; results are the same. */
export interface AesTables {
  /** How often each entry is repeated in its table, a power of two. */
  readonly copies?: number;
  /** The number of the copy that this item uses, from 0. */
  readonly lane?: ExprLike<'u32'>;
  /** The number of rotations of the table that are stored, of four. The others are computed after the look-up. */
  readonly tables?: 1 | 2 | 4;
}

export const aesRounds = std({
  name: 'aes.rounds',
  results: () => Array<Scalar>(4).fill('u32'),
  generic: (...args) => roundsByTable(args as Word[], { copies: 1, lane: 0, tables: 1 }),
  native: { 'c-vaes': vaesBody, 'c-aesni': aesNiBody, 'c-neon-aes': neonBody },
});

/** Returns the state after as many rounds as there are keys. `words` holds state and keys, one after the other. */
function roundsByTable(words: readonly Word[], { copies, lane, tables }: Required<AesTables>): Word[] {
  const boxes = roundTablesOf(currentTrace(), copies, tables);
  const spot = operand('u32', lane).shl(2);
  // The index is a byte address over 4, so that scaling it is free: this saves an instruction per look-up on a GPU.
  const index = (word: Word, row: Row): Word =>
    copies === 1
      ? word.byte(row)
      : scaledByte(word, row, Math.log2(copies) + 2)
          .or(spot)
          .shr(2);
  const entry = (word: Word, row: Row): Word => (boxes[row % tables] as Table<'u32'>).at(index(word, row));
  let state = words.slice(0, 4);
  for (let at = 4; at < words.length; at += 4) {
    const before = state;
    state = before.map((_, column) => {
      const [a, b, c, d] = ([0, 1, 2, 3] as const).map((row) => entry(before[(column + row) % 4] as Word, row)) as [
        Word,
        Word,
        Word,
        Word,
      ];
      const key = words[at + column] as Word;
      if (tables === 4) return a.xor(b).xor(c).xor(d).xor(key);
      if (tables === 2) return a.xor(b).xor(c.xor(d).rotl(16)).xor(key);
      return a.xor(b.rotl(8)).xor(c.rotl(16)).xor(d.rotl(24)).xor(key);
    });
  }
  return state;
}

type Row = 0 | 1 | 2 | 3;

/** Returns a byte of a word, shifted left by `bits`, with one shift. */
function scaledByte(word: Word, row: number, bits: number): Word {
  const right = 8 * row - bits;
  return (right > 0 ? word.shr(right) : word.shl(-right)).and(0xff << bits);
}

const tablesByTrace = new WeakMap<Trace, Map<string, Table<'u32'>[]>>();

/**
 * Returns the table and its rotations by 8, 16 and 24 bits, as many as `tables`; the same ones for all calls in a kernel.
 */
function roundTablesOf(trace: Trace, copies: number, tables: number): Table<'u32'>[] {
  const ofTrace = tablesByTrace.get(trace) ?? new Map<string, Table<'u32'>[]>();
  tablesByTrace.set(trace, ofTrace);
  const key = `${copies} ${tables}`;
  const made =
    ofTrace.get(key) ??
    Array.from({ length: tables }, (_, row) =>
      table(
        'u32',
        aes.table.flatMap((entry) => Array<number>(copies).fill(rotated(entry, 8 * row))),
      ),
    );
  ofTrace.set(key, made);
  return made;
}

const rotated = (word: number, by: number): number => ((word << by) | (word >>> (32 - by))) >>> 0;

/** Computes the table from the definition: inverse in GF(2^8) mod x^8 + x^4 + x^3 + x + 1, then an affine map. */
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
