import {
  cell,
  type Expr,
  type ExprLike,
  f64,
  fma,
  lit,
  loop,
  max,
  min,
  type Near,
  read,
  select,
  sincos,
  type TileContext,
  tiles,
  type Unsigned,
  u32,
  type WideFloat,
} from '../../../kernel/index.js';
import { type Amplitude, amplitudesPerQuad, loadQuad, statesOf, storeQuad } from '../kernel/kernel.js';
import { type EngineSpec, PIECE_BITS } from './geometry.js';

/** Bits of a state that a tile holds: with the tables for 30 qubits, 11 would exceed 32 KiB in f64. */
export const TILE_BITS = 10;

const MAX_QUBITS = 30;
const MAX_ANGLES = MAX_QUBITS + (MAX_QUBITS * (MAX_QUBITS - 1)) / 2;
const unused = { qubits: 1, wide: 'f64', order: 'little', pieceBits: PIECE_BITS } as const;

/**
 * The first pass of iqp: exp(iθ) in workgroup memory, and the Walsh–Hadamard transform of the lowest bits. θ is summed in
 * units of 2^-64 turns (2^-32 in f32), which is exact; see `kernel/iqp.ts`. `scale` is 2^-qubits.
 */
export function iqpPhases(spec: EngineSpec) {
  const { real } = spec;
  const turns: Unsigned = real === 'f64' ? 'u64' : 'u32';
  const buffers = { x: read(f64), states: statesOf({ ...spec, ...unused }) };
  return tiles('qdp-iqp', { job: { qubits: u32, scale: f64 }, buffers, lanes: 1 }, (context) => {
    const { tile, job, near, each } = context;
    const { x, states } = context.buffers;
    const { qubits } = job;
    const bits = min(qubits, TILE_BITS);
    const above = qubits.sub(bits);
    const length = qubits.add(qubits.mul(qubits.sub(1)).shr(1));
    const angles = near(turns, MAX_ANGLES);
    const first = tile.shr(above).mul(length);
    each(length, (k) => angles.set(k, angleToTurns(x.at(first.add(k)), turns)));

    const high = tile.and(lit('u32', 1).shl(above).sub(1));
    const phaseAt = phaseTables(context, qubits, angles, high);
    const size = lit('u32', 1).shl(bits);
    const [re, im] = [near(real, 2 ** TILE_BITS), near(real, 2 ** TILE_BITS)];
    each(size, (index) => {
      const value = turnsToComplex(phaseAt(index), real, job.scale.to(real));
      re.set(index, value.re);
      im.set(index, value.im);
    });
    transformNear(context, [re, im], lit('u32', 0), bits, size);
    const perQuad = amplitudesPerQuad(real);
    const quads = size.shr(perQuad - 1);
    each(quads, (quad) => {
      storeQuad(states, tile.mul(quads), quad, amplitudesIn(re, im, quad.mul(perQuad), perQuad));
    });
  });
}

/** A later pass, in place: transforms `bits` bits from `from` on, for 2^columns adjacent columns at a time. */
export function hadamardPass(spec: EngineSpec) {
  const { real } = spec;
  const perQuad = amplitudesPerQuad(real);
  const job = { qubits: u32, from: u32, bits: u32, columns: u32 } as const;
  const buffers = { states: statesOf({ ...spec, ...unused }) };
  return tiles('qdp-hadamard', { job, buffers, lanes: 1 }, (context) => {
    const { tile, near, each } = context;
    const { qubits, from, bits, columns } = context.job;
    const { states } = context.buffers;
    const mask = (width: Expr<'u32'>): Expr<'u32'> => lit('u32', 1).shl(width).sub(1);
    const groups = from.sub(columns);
    const tilesOfState = qubits.sub(bits).sub(columns);
    const own = tile.and(mask(tilesOfState));
    const base = tile
      .shr(tilesOfState)
      .shl(qubits)
      .add(own.and(mask(groups)).shl(columns))
      .add(own.shr(groups).shl(from.add(bits)));
    const home = (i: Expr<'u32'>): Expr<'u32'> => base.add(i.and(mask(columns))).add(i.shr(columns).shl(from));
    const [re, im] = [near(real, 2 ** TILE_BITS), near(real, 2 ** TILE_BITS)];
    const size = lit('u32', 1).shl(bits.add(columns));
    each(size.shr(perQuad - 1), (quad) => {
      const i = quad.mul(perQuad);
      loadQuad(states, home(i).div(perQuad), real).forEach((amplitude, k) => {
        re.set(i.add(k), amplitude.re);
        im.set(i.add(k), amplitude.im);
      });
    });
    transformNear(context, [re, im], columns, bits, size);
    each(size.shr(perQuad - 1), (quad) => {
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

/** Transforms `bits` bits from `from` on of an index below `size`, two at a time: each thread owns four values. */
function transformNear(
  { each }: NearContext,
  parts: readonly Near<WideFloat>[],
  from: Expr<'u32'>,
  bits: Expr<'u32'>,
  size: Expr<'u32'>,
): void {
  const pass = (bit: Expr<'u32'>, own: 2 | 4): void => {
    const step = lit('u32', 1).shl(bit);
    each(size.shr(own / 2), (i) => {
      const first = i
        .shr(bit)
        .shl(bit.add(own / 2))
        .add(i.and(step.sub(1)));
      for (const part of parts) {
        const values = Array.from({ length: own }, (_, k) => part.at(first.add(step.mul(k))));
        const pairs = (list: readonly Expr<WideFloat>[], apart: number): Expr<WideFloat>[] =>
          list.map((value, k) => {
            const other = list[k ^ apart] as Expr<WideFloat>;
            return k & apart ? other.sub(value) : value.add(other);
          });
        const once = pairs(values, 1);
        (own === 4 ? pairs(once, 2) : once).forEach((value, k) => {
          part.set(first.add(step.mul(k)), value);
        });
      }
    });
  };
  loop(bits.shr(1), (pair) => pass(from.add(pair.mul(2)), 4));
  loop(bits.and(1), () => pass(from.add(bits).sub(1), 2));
}

/** Returns θ by bit string within a tile; see `kernel/iqp.ts`. Bits that a small state lacks are 0 in every index. */
function phaseTables(
  { near, each }: NearContext,
  qubits: Expr<'u32'>,
  angles: Near<Unsigned>,
  high: Expr<'u32'>,
): (index: Expr<'u32'>) => Expr<Unsigned> {
  const type = angles.type;
  const none = lit(type, 0) as Expr<Unsigned>;
  const [below, above] = [Math.ceil(TILE_BITS / 2), Math.floor(TILE_BITS / 2)];
  const where = (index: Expr<'u32'>, bit: ExprLike<'u32'>, value: Expr<Unsigned>): Expr<Unsigned> =>
    select(index.shr(bit).and(1).ne(0), value, none);
  /** The angle of a pair of bits, i < j; 0 if the state has no bit j. */
  const pair = (i: Expr<'u32'>, j: Expr<'u32'>): Expr<Unsigned> => {
    const isPair = i.lt(j).and(j.lt(qubits));
    const at = i
      .mul(qubits)
      .sub(i.mul(i.add(1)).shr(1))
      .add(j.sub(i).add(qubits).sub(1));
    return select(isPair, angles.at(select(isPair, at, 0)), none);
  };
  const sum = (values: readonly Expr<Unsigned>[]): Expr<Unsigned> =>
    values.reduce((total, value) => total.add(value), none);
  const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, k) => from + k);
  const highBits = max(qubits, TILE_BITS).sub(TILE_BITS);

  // The angle of each bit: its own, and its pairs with the tile's bits. Pairs of two of the tile's bits count once.
  const singles = near(type, MAX_QUBITS);
  each(MAX_QUBITS, (bit) => {
    const total = cell(type, select(bit.lt(qubits), angles.at(min(bit, qubits.sub(1))), none));
    loop(highBits, (k) => total.set(total.add(where(high, k, pair(bit, k.add(TILE_BITS))))));
    const isSet = bit.lt(TILE_BITS).or(high.shr(bit.sub(TILE_BITS).and(31)).and(1).ne(0));
    singles.set(bit, select(isSet, total.get(), none));
  });

  const [lower, upper] = [near(type, 2 ** below), near(type, 2 ** above)];
  const between = near(type, above * 2 ** below);
  const over = (index: Expr<'u32'>, from: number, to: number): Expr<Unsigned> =>
    sum(
      range(from, to).flatMap((i) => [
        where(index, i - from, singles.at(i)),
        ...range(i + 1, to).map((j) =>
          where(index, i - from, where(index, j - from, pair(lit('u32', i), lit('u32', j)))),
        ),
      ]),
    );
  each(2 ** below, (u) => lower.set(u, over(u, 0, below)));
  each(2 ** above, (v) => {
    const total = cell(type, over(v, below, TILE_BITS));
    loop(highBits, (k) => total.set(total.add(singles.at(k.add(TILE_BITS)))));
    upper.set(v, total.get());
  });
  each(above * 2 ** below, (at) => {
    const j = at.shr(below).add(below);
    between.set(at, sum(range(0, below).map((i) => where(at, i, pair(lit('u32', i), j)))));
  });
  return (index) => {
    const u = index.and(2 ** below - 1);
    const v = index.shr(below);
    const pairs = range(0, above).map((bit) => where(v, bit, between.at(u.add(bit * 2 ** below))));
    return sum([lower.at(u), upper.at(v), ...pairs]);
  };
}

/** 1/2π in two parts, and 1.5 · 2^52, which rounds a number added to it. */
const TURN = [0.15915494309189535, -9.839338337591243e-18] as const;
const ROUNDER = 1.5 * 2 ** 52;

/** Converts an angle to a fraction of a turn. */
function angleToTurns(x: Expr<'f64'>, type: Unsigned): Expr<Unsigned> {
  const whole = fma(x, TURN[0], ROUNDER).sub(ROUNDER);
  const part = fma(x, TURN[0], whole.neg()).add(x.mul(TURN[1]));
  const scale = type === 'u64' ? 2 ** 64 : 2 ** 32;
  const size = select(part.lt(0), part.neg(), part).mul(scale).to(type);
  return select(part.lt(0), lit(type, 0).sub(size), size);
}

/** Converts a fraction of a turn to a complex number of magnitude `scale`. */
function turnsToComplex(turns: Expr<Unsigned>, real: WideFloat, scale: Expr<WideFloat>): Required<Amplitude> {
  const width = turns.type === 'u64' ? 64 : 32;
  const isBehind = turns.shr(width - 1).ne(0);
  const size = select(isBehind, lit(turns.type, 0).sub(turns), turns);
  const { sin, cos } = sincos(size.to(real).mul((2 * Math.PI) / 2 ** width));
  return { re: cos.mul(scale), im: sin.mul(select(isBehind, scale.neg(), scale)) };
}
