import { type Expr, type Float, lit, type RwBuffer, rw, u64Of } from '../../../kernel/index.js';
import type { QubitOrder } from './encoding.js';

/**
 * What the kernels of all encodings have in common. On GPUs states are written as quads of words, 16 bytes by each thread,
 * next to its neighbours': one amplitude in f64, two in f32. On CPUs they are written as the floats that they are: compilers
 * make vectors of those, and none of halves of floats. The bytes are the same.
 */
export interface StateSpec {
  readonly qubits: number;
  readonly real: Float;
  /** What sums, sines and tables are computed in: f64 wherever the device has it, so that f32 is rounded once. */
  readonly wide: Float;
  readonly order: QubitOrder;
  readonly store: 'quads' | 'floats';
  /** Amplitudes of a tile's piece of a state, as a power of two; it changes no results. */
  readonly pieceBits: number;
}

/** On GPUs 8192, so that 64 states of 16 qubits are 512 workgroups; a CPU has its tables to itself for longer. */
export const pieceBitsFor = (processor: 'cpu' | 'gpu'): number => (processor === 'cpu' ? 16 : 13);

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
export const piecesOfState = (qubits: number, pieceBits: number): number => 2 ** Math.max(0, qubits - pieceBits);

export function pieceOfState(tile: Expr<'u32'>, { qubits, real, pieceBits }: StateSpec): PieceOfState {
  const bits = Math.min(qubits, pieceBits);
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

/** Where states go. */
export type StatesBuffer = RwBuffer<'u32'> | RwBuffer<Float>;
type WordsSpec = ReturnType<typeof rw<'u32'>>;

/** It is declared as words everywhere, whatever it is: `storeQuad` and `loadQuad` know. */
export const statesOf = ({ store, real }: StateSpec): WordsSpec =>
  store === 'quads' ? rw('u32') : (rw(real) as unknown as WordsSpec);

/**
 * Stores the amplitudes of a quad, number `quad` behind `base`, which is even. A CPU gets there by an address: indices of
 * 32 bits may wrap, for all that its compiler knows, and then it makes no vectors.
 */
export function storeQuad(
  states: StatesBuffer,
  base: Expr<'u32'>,
  quad: Expr<'u32'>,
  amplitudes: readonly Amplitude[],
): void {
  if (states.type !== 'u32') {
    const from = states.slice(amplitudes.length === 1 ? base.shr(1) : base);
    const first = quad.mul(2 * amplitudes.length);
    amplitudes.forEach(({ re, im }, k) => {
      from.set(first.add(2 * k), re);
      from.set(first.add(2 * k + 1), im ?? lit(re.type, 0));
    });
    return;
  }
  const words = amplitudes.flatMap(({ re, im }) => [...wordsOf(re), ...(im ? wordsOf(im) : wordsOf(re).map(() => 0))]);
  states.set4(base.add(quad), words);
}

/** The amplitudes of a quad. */
export function loadQuad(states: StatesBuffer, quad: Expr<'u32'>, real: Float): Required<Amplitude>[] {
  if (states.type !== 'u32') {
    const count = amplitudesPerQuad(real);
    const part = (k: number): Expr<Float> => states.at(quad.mul(2 * count).add(k));
    return Array.from({ length: count }, (_, k) => ({ re: part(2 * k), im: part(2 * k + 1) }));
  }
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
export function reversedBits(index: Expr<'u32'>, bits: number): Expr<'u32'> {
  let all = index;
  const swap = (width: number, mask: number): void => {
    all = all.shr(width).and(mask).or(all.and(mask).shl(width));
  };
  swap(1, 0x5555_5555);
  swap(2, 0x3333_3333);
  swap(4, 0x0f0f_0f0f);
  return all.byteSwap().shr(32 - bits);
}
