import {
  cell,
  type Expr,
  type ExprLike,
  lit,
  loop,
  min,
  type ReadBuffer,
  read,
  rw,
  select,
  type TileContext,
  tiles,
  u64Of,
  type WideFloat,
  when,
} from '../../../kernel/index.js';
import {
  amplitudesPerQuad,
  type PieceOfState,
  pieceOfState,
  reversedBits,
  type StateSpec,
  type StatesBuffer,
  statesOf,
  storeQuad,
} from './kernel.js';

/**
 * x / ‖x‖. The norm is the sum over pieces of 8192 values, in order, each in the order of the language's `sum`: the same
 * bits whether one tile does a whole sample or several kernels share it.
 */
export interface AmplitudeSpec extends StateSpec {
  /** Values per sample; the other amplitudes are 0. */
  readonly length: number;
}

const PIECE = 2 ** 13;
/** Partial sums of the language's `sum`: element i is added to number i mod 256, and these are added in pairs. */
const PARTIALS = 256;
/**
 * Values that a GPU thread loads before it uses the first: 64 bytes. 64 samples are 512 workgroups, four per multiprocessor,
 * and memory latency is 0.9 µs: with two loads, the compiler's choice, 16 KiB are in flight, which gives 2.4 TB/s.
 */
const LOADS_IN_FLIGHT = 8;

/** Returns the number of pieces of a sample. Each has its own sum. */
export const piecesOfSample = (length: number): number => Math.ceil(length / PIECE);

/** Most sums that a tile of `scaledPieces` adds. More are added by `totalNorms` before it, in the order of `sum`. */
export const MAX_SUMS = 64;

/** A tile per sample: for CPUs, where the sample is in the cache when it is read again, and for short samples. */
export function wholeAmplitude(spec: AmplitudeSpec) {
  const { real, wide, qubits, length } = spec;
  const buffers = { x: read(real), norms: rw(wide), states: statesOf(spec) };
  return tiles('encode-amplitude', { buffers, lanes: 1 }, (context) => {
    const { tile, each, once } = context;
    const { x, norms, states } = context.buffers;
    const first = tile.mul(length);
    const total = cell(wide, 0);
    const pieces = piecesOfSample(length);
    const add = (piece: ExprLike<'u32'>): void => {
      total.set(total.add(squares(context, x, spec, first, piece)));
    };
    if (pieces === 1) add(0);
    else loop(pieces, add);
    once(() => norms.set(tile, total));
    const inverse = lit(wide, 1).div(total.sqrt());
    const quads = 2 ** qubits / amplitudesPerQuad(real);
    const whole = { firstQuad: tile.mul(quads), indexOf: indexIn(real), quads };
    storeScaled(each, { states, x }, spec, first, whole, inverse);
  });
}

/** The sum of squares of each piece of each sample: tile = sample × pieces + piece. */
export function pieceNorms(spec: AmplitudeSpec) {
  const { real, wide, length } = spec;
  const pieces = piecesOfSample(length);
  return tiles('encode-norms', { buffers: { x: read(real), sums: rw(wide) }, lanes: 1 }, (context) => {
    const { tile, once } = context;
    const { x, sums } = context.buffers;
    const sample = tile.div(pieces);
    const piece = tile.rem(pieces);
    const own = squares(context, x, spec, sample.mul(length), piece);
    once(() => sums.set(tile, own));
  });
}

/** Adds the sums of many pieces: a tile per sample. */
export function totalNorms({ wide, length }: AmplitudeSpec) {
  const pieces = piecesOfSample(length);
  return tiles(
    'encode-total',
    { buffers: { sums: read(wide), totals: rw(wide) }, lanes: 1 },
    ({ tile, sum, once, buffers: { sums, totals } }) => {
      const first = tile.mul(pieces);
      const total = sum(wide, pieces, (i) => sums.at(first.add(i)));
      once(() => totals.set(tile, total));
    },
  );
}

/** Divides by the norm: a tile per piece of a state. `sums` are the sample's, to be added in order. */
export function scaledPieces(spec: AmplitudeSpec, sumsPerSample: number) {
  const { real, wide, length } = spec;
  const buffers = { x: read(real), sums: read(wide), norms: rw(wide), states: statesOf(spec) };
  return tiles('encode-scale', { buffers, lanes: 1 }, ({ tile, each, once, buffers: { x, sums, norms, states } }) => {
    const own = pieceOfState(tile, spec);
    const total = cell(wide, 0);
    loop(sumsPerSample, (i) => {
      total.set(total.add(sums.at(own.sample.mul(sumsPerSample).add(i))));
    });
    once(() => {
      when(own.piece.eq(0), () => norms.set(own.sample, total));
    });
    const inverse = lit(wide, 1).div(total.sqrt());
    storeScaled(each, { states, x }, spec, own.sample.mul(length), own, inverse);
  });
}

const indexIn =
  (real: WideFloat): PieceOfState['indexOf'] =>
  (quad, k) =>
    quad.mul(amplitudesPerQuad(real)).add(k);

/** The part of a tile's context that sums use. */
type SumContext = Pick<
  TileContext<Record<never, never>, Record<never, never>, Record<never, never>, Record<never, never>>,
  'sum' | 'each' | 'near'
>;

function squares(
  { sum, each, near }: SumContext,
  x: ReadBuffer<WideFloat>,
  spec: AmplitudeSpec,
  firstOfSample: Expr<'u32'>,
  piece: ExprLike<'u32'>,
): Expr<WideFloat> {
  const { real, wide, length, store } = spec;
  const start = lit('u32', PIECE).mul(piece);
  const from = valuesFrom(x, spec, firstOfSample.add(start));
  const squareAt = (i: Expr<'u32'>): Expr<WideFloat> => {
    const value = from.at(i).to(wide);
    return value.mul(value);
  };
  if (length % PIECE !== 0) return sum(wide, min(lit('u32', length).sub(start), PIECE), squareAt);
  // The rest computes `sum(wide, PIECE, squareAt)` in the same order, in forms that suit the processor better.
  const partial = near(wide, PARTIALS);
  if (store === 'quads') {
    each(PARTIALS, (i) => {
      const total = cell(wide, 0);
      for (let row = 0; row < PIECE / PARTIALS; row += LOADS_IN_FLIGHT) {
        const loaded = range(LOADS_IN_FLIGHT).map((k) => cell(real, from.at(i.add((row + k) * PARTIALS))));
        for (const one of loaded) {
          const value = one.to(wide);
          total.set(total.add(value.mul(value)));
        }
      }
      partial.set(i, total);
    });
    return sum(wide, PARTIALS, (i) => partial.at(i));
  }
  // A form that compilers vectorize.
  each(PARTIALS, (i) => partial.set(i, squareAt(i)));
  loop(PIECE / PARTIALS - 1, (row) => {
    const before = row.add(1).mul(PARTIALS);
    each(PARTIALS, (i) => partial.set(i, partial.at(i).add(squareAt(before.add(i)))));
  });
  return sum(wide, PARTIALS, (i) => partial.at(i));
}

/** Returns the values from `first` on; on a CPU as a slice if samples have a multiple of four values, see `storeQuad`. */
function valuesFrom(
  x: ReadBuffer<WideFloat>,
  { store, length }: AmplitudeSpec,
  first: Expr<'u32'>,
): { at(i: ExprLike<'u32'>): Expr<WideFloat> } {
  return store === 'floats' && length % 4 === 0 ? x.slice(first.shr(2)) : { at: (i) => x.at(first.add(i)) };
}

function storeScaled(
  each: SumContext['each'],
  { states, x }: { readonly states: StatesBuffer; readonly x: ReadBuffer<WideFloat> },
  spec: AmplitudeSpec,
  firstValue: Expr<'u32'>,
  { firstQuad, indexOf, quads }: Pick<PieceOfState, 'firstQuad' | 'indexOf' | 'quads'>,
  inverse: Expr<WideFloat>,
): void {
  const { qubits, real, order, length, store } = spec;
  const isFull = length === 2 ** qubits;
  const from = valuesFrom(x, spec, firstValue);
  const valuesOf = (quad: Expr<'u32'>) =>
    range(amplitudesPerQuad(real)).map((k) => {
      const own = indexOf(quad, k);
      const index = order === 'big' ? reversedBits(own, qubits) : own;
      const value = from.at(isFull ? index : min(index, length - 1));
      return { index, value: store === 'quads' ? cell(real, value) : value };
    });
  const together = store === 'quads' ? Math.min(LOADS_IN_FLIGHT, Math.max(1, quads / PARTIALS)) : 1;
  each(quads / together, (i) => {
    const loaded = range(together).map((k) => {
      const quad = i.add(k * (quads / together));
      return { quad, values: valuesOf(quad) };
    });
    const zero =
      together > 1
        ? zeroAfter(
            loaded.flatMap(({ values }) => values.map(({ value }) => value)),
            inverse,
          )
        : undefined;
    loaded.forEach(({ quad, values }, which) => {
      const amplitudes = values.map(({ index, value }, k) => {
        const scaled = value.to(inverse.type).mul(inverse).to(real);
        const re = isFull ? scaled : select(index.lt(length), scaled, 0);
        return { re, ...(zero && which === 0 && k === 0 && { im: zero }) };
      });
      storeQuad(states, firstQuad, quad, amplitudes);
    });
  });
}

/**
 * Returns 0, computed so that it depends on all of these values. Otherwise NVIDIA's assembler moves each load down to its
 * store, one at a time. The assembler does not know that a norm is never negative.
 */
function zeroAfter(values: readonly Expr<WideFloat>[], inverse: Expr<WideFloat>): Expr<WideFloat> {
  const word = (value: Expr<WideFloat>): Expr<'u32'> =>
    value.type === 'f32' ? value.bits('u32') : value.bits('u64').lo;
  const any = values.map(word).reduce((all, one) => all.or(one));
  const none = select(inverse.lt(0), any, 0);
  return values[0]?.type === 'f32' ? none.bits('f32') : u64Of(none, 0).bits('f64');
}

const range = (count: number): number[] => Array.from({ length: count }, (_, k) => k);
