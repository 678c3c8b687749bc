import {
  type Expr,
  type ExprLike,
  fma,
  lit,
  type Near,
  read,
  select,
  sincos,
  type TileContext,
  tiles,
  type Unsigned,
  type WideFloat,
} from '../../../kernel/index.js';
import { type Amplitude, amplitudesPerQuad, loadQuad, type StateSpec, statesOf, storeQuad } from './kernel.js';

/**
 * The kernels of iqp: exp(iθ) of all bit strings, then a Walsh–Hadamard transform, several bits at a time in workgroup
 * memory. For 16 qubits that is two passes over the state instead of 16.
 *
 * θ is a sum of up to 465 angles, so it is kept as a whole number of 2^-64 turns (2^-32 in f32): such sums are exact, in
 * any order, and wrap where angles do.
 */
export interface IqpSpec extends StateSpec {
  /** Bits of a state that a tile holds: 11 take 32 KiB in f64. */
  readonly tileBits: number;
}

/** Bits of the index that a pass transforms. The first one takes the lowest. */
export interface Pass {
  readonly from: number;
  readonly bits: number;
}

/** Bits that later passes leave for columns, so that a tile reads 64 or more contiguous bytes. */
const COLUMN_BITS = 2;

export function passesOf({ qubits, tileBits }: IqpSpec): Pass[] {
  const passes: Pass[] = [{ from: 0, bits: Math.min(qubits, tileBits) }];
  for (let from = tileBits; from < qubits; ) {
    const bits = Math.min(qubits - from, tileBits - COLUMN_BITS);
    passes.push({ from, bits });
    from += bits;
  }
  return passes;
}

/** Workgroup memory of the first pass: values, angles, and four small tables. */
export function nearBytesOf(qubits: number, real: WideFloat, tileBits: number): number {
  const low = Math.min(qubits, tileBits);
  const half = Math.ceil(low / 2);
  const angles = qubits + (qubits * (qubits - 1)) / 2 + 2 * qubits + 2 * 2 ** half + (low - half) * 2 ** half;
  return (2 * 2 ** low + angles) * (real === 'f64' ? 8 : 4);
}

/** The first pass: computes exp(iθ) in workgroup memory and transforms it there. */
export function iqpPhases(spec: IqpSpec) {
  const { qubits, real, tileBits } = spec;
  const bits = Math.min(qubits, tileBits);
  const above = qubits - bits;
  const length = qubits + (qubits * (qubits - 1)) / 2;
  const buffers = { x: read(real), states: statesOf(spec) };
  return tiles('encode-iqp', { buffers, lanes: 1 }, (context) => {
    const { tile, near, each } = context;
    const { x, states } = context.buffers;
    const turns: Unsigned = real === 'f64' ? 'u64' : 'u32';
    const angles = near(turns, length);
    const first = tile.shr(above).mul(length);
    each(length, (k) => angles.set(k, angleToTurns(x.at(first.add(k)), spec.wide, turns)));

    const phaseAt = phaseTables(context, spec, angles, tile.and(2 ** above - 1), bits);
    const [re, im] = [near(real, 2 ** bits), near(real, 2 ** bits)];
    each(2 ** bits, (index) => {
      const value = turnsToComplex(phaseAt(index), real, 2 ** -qubits);
      re.set(index, value.re);
      im.set(index, value.im);
    });
    transformNear(context, [re, im], 0, bits, bits);
    const perQuad = amplitudesPerQuad(real);
    each(2 ** bits / perQuad, (quad) => {
      const amplitudes = amplitudesIn(re, im, quad.mul(perQuad), perQuad);
      storeQuad(states, tile.mul(2 ** bits / perQuad), quad, amplitudes);
    });
  });
}

/** A later pass, in place: transforms some bits of the index, for several adjacent columns at a time. */
export function hadamardPass(spec: IqpSpec, { from, bits }: Pass) {
  const { qubits, real, tileBits } = spec;
  const columns = Math.min(from, tileBits - bits);
  const size = 2 ** (bits + columns);
  const perQuad = amplitudesPerQuad(real);
  return tiles(`encode-hadamard-${from}`, { buffers: { states: statesOf(spec) }, lanes: 1 }, (context) => {
    const { tile, near, each } = context;
    const { states } = context.buffers;
    const groups = from - columns;
    const tilesOfState = qubits - bits - columns;
    const own = tile.and(2 ** tilesOfState - 1);
    const base = tile
      .shr(tilesOfState)
      .shl(qubits)
      .add(own.and(2 ** groups - 1).shl(columns))
      .add(own.shr(groups).shl(from + bits));
    const home = (i: Expr<'u32'>): Expr<'u32'> => base.add(i.and(2 ** columns - 1)).add(i.shr(columns).shl(from));
    const [re, im] = [near(real, size), near(real, size)];
    each(size / perQuad, (quad) => {
      const i = quad.mul(perQuad);
      loadQuad(states, home(i).div(perQuad), real).forEach((amplitude, k) => {
        re.set(i.add(k), amplitude.re);
        im.set(i.add(k), amplitude.im);
      });
    });
    transformNear(context, [re, im], columns, columns + bits, columns + bits);
    each(size / perQuad, (quad) => {
      const i = quad.mul(perQuad);
      storeQuad(states, lit('u32', 0), home(i).div(perQuad), amplitudesIn(re, im, i, perQuad));
    });
  });
}

type NearContext = Pick<
  TileContext<Record<never, never>, Record<never, never>, Record<never, never>, Record<never, never>>,
  'near' | 'each'
>;

const amplitudesIn = (re: Near<WideFloat>, im: Near<WideFloat>, first: Expr<'u32'>, count: number): Amplitude[] =>
  Array.from({ length: count }, (_, k) => ({ re: re.at(first.add(k)), im: im.at(first.add(k)) }));

/** Transforms bits `from` to `to` of an index of `all` bits, two bits per region: each thread owns four values. */
function transformNear(
  { each }: NearContext,
  parts: readonly Near<WideFloat>[],
  from: number,
  to: number,
  all: number,
): void {
  for (let bit = from; bit < to; bit += 2) {
    const both = bit + 1 < to;
    const own = both ? 4 : 2;
    each(2 ** all / own, (i) => {
      const first = i
        .shr(bit)
        .shl(bit + (both ? 2 : 1))
        .add(i.and(2 ** bit - 1));
      for (const part of parts) {
        const values = Array.from({ length: own }, (_, k) => part.at(first.add(k * 2 ** bit)));
        const pairs = (list: readonly Expr<WideFloat>[], step: number): Expr<WideFloat>[] =>
          list.map((value, k) => {
            const other = list[k ^ step] as Expr<WideFloat>;
            return k & step ? other.sub(value) : value.add(other);
          });
        const once = pairs(values, 1);
        (both ? pairs(once, 2) : once).forEach((value, k) => {
          part.set(first.add(k * 2 ** bit), value);
        });
      }
    });
  }
}

/**
 * Returns θ by bit string within a tile; the high bits are the tile's. The low bits are split again, u below and v above:
 * a table for each, and one for the pairs of u and each bit of v. So θ takes 8 additions for 11 bits, not 66.
 */
function phaseTables(
  { near, each }: NearContext,
  spec: IqpSpec,
  angles: Near<Unsigned>,
  high: Expr<'u32'>,
  bits: number,
): (index: Expr<'u32'>) => Expr<Unsigned> {
  const { qubits } = spec;
  const type = angles.type;
  const none = lit(type, 0);
  const [below, above] = [Math.ceil(bits / 2), Math.floor(bits / 2)];
  const where = (index: Expr<'u32'>, bit: ExprLike<'u32'>, value: Expr<Unsigned>): Expr<Unsigned> =>
    select(index.shr(bit).and(1).ne(0), value, none);
  const pair = (i: ExprLike<'u32'>, j: ExprLike<'u32'>): Expr<Unsigned> => angles.at(pairOf(spec, i, j));
  const sum = (values: readonly Expr<Unsigned>[]): Expr<Unsigned> =>
    values.reduce((total, value) => total.add(value), none as Expr<Unsigned>);
  const range = (from: number, to: number): number[] =>
    Array.from({ length: Math.max(0, to - from) }, (_, k) => from + k);
  const highBits = range(bits, qubits);

  // The angle of each bit: its own, and its pairs with the tile's bits. Pairs of two of the tile's bits count once.
  const singles = near(type, qubits);
  each(qubits, (bit) => {
    const pairs = highBits.map((other) => {
      const isPair = bit.lt(other).and(
        high
          .shr(other - bits)
          .and(1)
          .ne(0),
      );
      // The index must be valid even if this is not a pair.
      return select(isPair, pair(select(isPair, bit, 0), other), none);
    });
    const own = angles.at(spec.order === 'big' ? lit('u32', qubits - 1).sub(bit) : bit);
    const isSet = bit.lt(bits).or(high.shr(bit.sub(bits)).and(1).ne(0));
    singles.set(bit, select(isSet, own.add(sum(pairs)), none));
  });

  const [lower, upper] = [near(type, 2 ** below), near(type, 2 ** above)];
  const between = above > 0 ? near(type, above * 2 ** below) : undefined;
  const over = (index: Expr<'u32'>, from: number, to: number): Expr<Unsigned> =>
    sum(
      range(from, to).flatMap((i) => [
        where(index, i - from, singles.at(i)),
        ...range(i + 1, to).map((j) => where(index, i - from, where(index, j - from, pair(i, j)))),
      ]),
    );
  each(2 ** below, (u) => lower.set(u, over(u, 0, below)));
  each(2 ** above, (v) => upper.set(v, sum([over(v, below, bits), ...highBits.map((bit) => singles.at(bit))])));
  if (between) {
    each(above * 2 ** below, (at) => {
      const j = at.shr(below).add(below);
      between.set(at, sum(range(0, below).map((i) => where(at, i, pair(i, j)))));
    });
  }
  return (index) => {
    const u = index.and(2 ** below - 1);
    const v = index.shr(below);
    const pairs = between ? range(0, above).map((bit) => where(v, bit, between.at(u.add(bit * 2 ** below)))) : [];
    return sum([lower.at(u), upper.at(v), ...pairs]);
  };
}

/** Returns the position of the angle of a pair of bits, i < j: after the single ones, (0,1), (0,2) … (1,2) … by qubit. */
function pairOf({ qubits, order }: StateSpec, i: ExprLike<'u32'>, j: ExprLike<'u32'>): Expr<'u32'> {
  const value = (bit: ExprLike<'u32'>): Expr<'u32'> => (typeof bit === 'object' ? bit : lit('u32', bit));
  const other = (bit: ExprLike<'u32'>): Expr<'u32'> => lit('u32', qubits - 1).sub(bit);
  const [low, high] = order === 'big' ? [other(j), other(i)] : [value(i), value(j)];
  return low
    .mul(qubits)
    .sub(low.mul(low.add(1)).shr(1))
    .add(high.sub(low).add(qubits - 1));
}

/** 1/2π in two parts, and 1.5 · 2^(precision − 1), which rounds a number added to it. */
const constants = {
  f64: { turn: [0.15915494309189535, -9.839338337591243e-18], rounder: 1.5 * 2 ** 52 },
  f32: { turn: [0.15915493667125702, 6.4206382432985265e-9], rounder: 1.5 * 2 ** 23 },
} as const;

/** Converts an angle to a fraction of a turn. */
function angleToTurns(angle: Expr<WideFloat>, wide: WideFloat, type: Unsigned): Expr<Unsigned> {
  const { turn, rounder } = constants[wide];
  const x = angle.to(wide);
  const whole = fma(x, turn[0], rounder).sub(rounder);
  const part = fma(x, turn[0], whole.neg()).add(x.mul(turn[1]));
  const scale = type === 'u64' ? 2 ** 64 : 2 ** 32;
  const size = select(part.lt(0), part.neg(), part).mul(scale).to(type);
  return select(part.lt(0), lit(type, 0).sub(size), size);
}

/** Converts a fraction of a turn to a complex number of magnitude `scale`. */
function turnsToComplex(turns: Expr<Unsigned>, real: WideFloat, scale: number): Required<Amplitude> {
  const width = turns.type === 'u64' ? 64 : 32;
  const isBehind = turns.shr(width - 1).ne(0);
  const size = select(isBehind, lit(turns.type, 0).sub(turns), turns);
  const { sin, cos } = sincos(size.to(real).mul((2 * Math.PI) / 2 ** width));
  return { re: cos.mul(scale), im: sin.mul(select(isBehind, lit(real, -scale), scale)) };
}
