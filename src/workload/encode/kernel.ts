import { type Expr, type Float, type In, type RwBuffer, u64Of } from '../../kernel/index.js';
import type { QubitOrder } from './encoding.js';

/**
 * What the kernels of all encodings have in common. States are written as quads of words, 16 bytes by each thread, next
 * to its neighbours': one amplitude in f64, two in f32.
 */
export interface StateSpec {
  readonly qubits: number;
  readonly real: Float;
  /** What sums, sines and tables are computed in: f64 wherever the device has it, so that f32 is rounded once. */
  readonly wide: Float;
  readonly order: QubitOrder;
}

/** Amplitudes of a tile's piece of a state: 8192, so that 64 states of 16 qubits are four waves of an H200. */
export const PIECE_BITS = 13;

export const amplitudesPerQuad = (real: Float): 1 | 2 => (real === 'f64' ? 1 : 2);

/** A tile's piece of the states: which sample, where in its state. */
export interface PieceOfState {
  readonly sample: Expr<'u32'>;
  /** From 0. */
  readonly piece: Expr<'u32'>;
  /** Quads of a piece. */
  readonly quads: number;
  /** The piece's first quad among all states. */
  readonly firstQuad: Expr<'u32'>;
  /** Which amplitude of its state is number `k` of a quad of this piece. */
  indexOf(quad: Expr<'u32'>, k: number): Expr<'u32'>;
}

/** Pieces that a state is made in. */
export const piecesOfState = (qubits: number): number => 2 ** Math.max(0, qubits - PIECE_BITS);

export function pieceOfState(tile: Expr<'u32'>, { qubits, real }: StateSpec): PieceOfState {
  const bits = Math.min(qubits, PIECE_BITS);
  const above = qubits - bits;
  const perQuad = amplitudesPerQuad(real);
  const piece = tile.and(2 ** above - 1);
  const quads = 2 ** bits / perQuad;
  return {
    sample: tile.shr(above),
    piece,
    quads,
    firstQuad: tile.mul(quads),
    indexOf: (quad, k) => piece.shl(bits).add(quad.mul(perQuad)).add(k),
  };
}

/** One amplitude; an imaginary part that is always 0 is left out. */
export interface Amplitude {
  readonly re: Expr<Float>;
  readonly im?: Expr<Float>;
}

/** Stores the amplitudes of a quad. */
export function putQuad(states: RwBuffer<'u32'>, quad: In<'u32'>, amplitudes: readonly Amplitude[]): void {
  const words = amplitudes.flatMap(({ re, im }) => [...wordsOf(re), ...(im ? wordsOf(im) : wordsOf(re).map(() => 0))]);
  states.set4(quad, words);
}

/** The amplitudes of a quad. */
export function quadAt(states: RwBuffer<'u32'>, quad: In<'u32'>, real: Float): Required<Amplitude>[] {
  const [a, b, c, d] = states.at4(quad);
  if (real === 'f64') return [{ re: u64Of(a, b).bits('f64'), im: u64Of(c, d).bits('f64') }];
  return [
    { re: a.bits('f32'), im: b.bits('f32') },
    { re: c.bits('f32'), im: d.bits('f32') },
  ];
}

function wordsOf(value: Expr<Float>): Expr<'u32'>[] {
  if (value.type === 'f32') return [value.bits('u32')];
  const bits = value.bits('u64');
  return [bits.lo, bits.hi];
}

/** The lowest bits of an index, read from the other end. */
export function mirroredBits(index: Expr<'u32'>, bits: number): Expr<'u32'> {
  let all = index;
  const swap = (width: number, mask: number): void => {
    all = all.shr(width).and(mask).or(all.and(mask).shl(width));
  };
  swap(1, 0x5555_5555);
  swap(2, 0x3333_3333);
  swap(4, 0x0f0f_0f0f);
  return all.byteSwap().shr(32 - bits);
}
