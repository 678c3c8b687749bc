import {
  cell,
  type Expr,
  type Float,
  type In,
  lit,
  loop,
  min,
  type ReadBuffer,
  type RwBuffer,
  read,
  rw,
  select,
  tiles,
  when,
} from '../../kernel/index.js';
import {
  amplitudesPerQuad,
  mirroredBits,
  PIECE_BITS,
  type PieceOfState,
  pieceOfState,
  putQuad,
  type StateSpec,
} from './kernel.js';

/**
 * x / ‖x‖. The norm is the sum over pieces of 8192 values, in order, each in the order of the language's `sum`: the same
 * bits whether one tile does a whole sample or several kernels share it.
 */
export interface AmplitudeSpec extends StateSpec {
  /** Values of a sample; what the state has beyond is 0. */
  readonly length: number;
}

const PIECE = 2 ** PIECE_BITS;

/** Pieces of a sample's values, each with a sum of its own. */
export const piecesOfSample = (length: number): number => Math.ceil(length / PIECE);

/** Sums that a tile adds up by itself: more are added by a kernel between the two, in the order of `sum`. */
export const MOST_SUMS = 64;

/** A tile per sample: for CPUs, where the sample is in the cache when it is read again, and for short samples. */
export function wholeAmplitude(spec: AmplitudeSpec) {
  const { real, wide, qubits, length } = spec;
  const buffers = { x: read(real), norms: rw(wide), states: rw('u32') };
  return tiles(
    'encode-amplitude',
    { buffers, lanes: 1 },
    ({ tile, sum, each, once, buffers: { x, norms, states } }) => {
      const first = tile.mul(length);
      const total = cell(wide, 0);
      const pieces = piecesOfSample(length);
      const add = (piece: In<'u32'>): void => {
        total.set(total.add(squares(x, spec, first, piece, (count, term) => sum(wide, count, term))));
      };
      if (pieces === 1) add(0);
      else loop(pieces, add);
      once(() => norms.set(tile, total));
      const inverse = lit(wide, 1).div(total.sqrt());
      const quads = 2 ** qubits / amplitudesPerQuad(real);
      const whole = { firstQuad: tile.mul(quads), indexOf: indexIn(real) };
      each(quads, (quad) => putScaled(states, x, spec, first, whole, quad, inverse));
    },
  );
}

/** The sum of squares of each piece of each sample: tile = sample × pieces + piece. */
export function pieceNorms(spec: AmplitudeSpec) {
  const { real, wide, length } = spec;
  const pieces = piecesOfSample(length);
  return tiles(
    'encode-norms',
    { buffers: { x: read(real), sums: rw(wide) }, lanes: 1 },
    ({ tile, sum, once, buffers: { x, sums } }) => {
      const sample = tile.div(pieces);
      const piece = tile.rem(pieces);
      const own = squares(x, spec, sample.mul(length), piece, (count, term) => sum(wide, count, term));
      once(() => sums.set(tile, own));
    },
  );
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
  const buffers = { x: read(real), sums: read(wide), norms: rw(wide), states: rw('u32') };
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
    each(own.quads, (quad) => putScaled(states, x, spec, own.sample.mul(length), own, quad, inverse));
  });
}

const indexIn =
  (real: Float): PieceOfState['indexOf'] =>
  (quad, k) =>
    quad.mul(amplitudesPerQuad(real)).add(k);

function squares(
  x: ReadBuffer<Float>,
  { wide, length }: AmplitudeSpec,
  firstOfSample: Expr<'u32'>,
  piece: In<'u32'>,
  sum: (count: In<'u32'>, term: (i: Expr<'u32'>) => Expr<Float>) => Expr<Float>,
): Expr<Float> {
  const start = lit('u32', PIECE).mul(piece);
  const first = firstOfSample.add(start);
  const count = length % PIECE === 0 ? PIECE : min(lit('u32', length).sub(start), PIECE);
  return sum(count, (i) => {
    const value = x.at(first.add(i)).to(wide);
    return value.mul(value);
  });
}

function putScaled(
  states: RwBuffer<'u32'>,
  x: ReadBuffer<Float>,
  { qubits, real, order, length }: AmplitudeSpec,
  firstValue: Expr<'u32'>,
  { firstQuad, indexOf }: Pick<PieceOfState, 'firstQuad' | 'indexOf'>,
  quad: Expr<'u32'>,
  inverse: Expr<Float>,
): void {
  const isFull = length === 2 ** qubits;
  const amplitudes = Array.from({ length: amplitudesPerQuad(real) }, (_, k) => {
    const own = indexOf(quad, k);
    const index = order === 'big' ? mirroredBits(own, qubits) : own;
    const value = x.at(firstValue.add(isFull ? index : min(index, length - 1)));
    const scaled = value.to(inverse.type).mul(inverse).to(real);
    return { re: isFull ? scaled : select(index.lt(length), scaled, 0) };
  });
  putQuad(states, firstQuad.add(quad), amplitudes);
}
