import { type Expr, lit, type RwBuffer, rw, u64Of, type WideFloat } from '../../../kernel/index.js';
import type { QubitOrder } from './encoding.js';

/**
 * The parameters that kernels of all encodings share. On GPUs, states are written as quads of words, 16 adjacent bytes per
 * thread: one amplitude in f64, two in f32. On CPUs they are written as floats, which compilers vectorize; they do not
 * vectorize words that are parts of floats. The bytes are the same.
 */
export interface StateSpec {
  readonly qubits: number;
  readonly real: WideFloat;
  /** The type of sums, sines and tables: f64 if the device has it, so that f32 is rounded once. */
  readonly wide: WideFloat;
  readonly order: QubitOrder;
  readonly store: 'quads' | 'floats';
  /** log2 of the amplitudes in a tile's piece of a state; does not change results. */
  readonly pieceBits: number;
}

/** On GPUs 8192, so that 64 states of 16 qubits are 512 workgroups. More on CPUs, which reuse their tables longer. */
export const pieceBitsFor = (processor: 'cpu' | 'gpu'): number => (processor === 'cpu' ? 16 : 13);

export const amplitudesPerQuad = (real: WideFloat): 1 | 2 => (real === 'f64' ? 1 : 2);

/** A tile's piece of the states: the sample, and the position in its state. */
export interface PieceOfState {
  readonly sample: Expr<'u32'>;
  /** From 0. */
  readonly piece: Expr<'u32'>;
  /** Quads of a piece. */
  readonly quads: number;
  /** The piece's first quad among all states. */
  readonly firstQuad: Expr<'u32'>;
  /** Returns the index in its state of amplitude `k` of a quad of this piece. */
  indexOf(quad: Expr<'u32'>, k: number): Expr<'u32'>;
}

/** Returns the number of pieces of a state. */
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
  readonly re: Expr<WideFloat>;
  readonly im?: Expr<WideFloat>;
}

/** The buffer of states. */
export type StatesBuffer = RwBuffer<'u32'> | RwBuffer<WideFloat>;
type WordsSpec = ReturnType<typeof rw<'u32'>>;

/** Declares the buffer of states, typed as words even if it has floats: `storeQuad` and `loadQuad` handle both. */
export const statesOf = ({ store, real }: StateSpec): WordsSpec =>
  store === 'quads' ? rw('u32') : (rw(real) as unknown as WordsSpec);

/**
 * Stores the amplitudes of a quad, at `base + quad`; `base` is even. A CPU uses a slice from `base` on: its compiler must
 * assume that indices of 32 bits may wrap, and then does not vectorize.
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

/** Loads the amplitudes of a quad. */
export function loadQuad(states: StatesBuffer, quad: Expr<'u32'>, real: WideFloat): Required<Amplitude>[] {
  if (states.type !== 'u32') {
    const count = amplitudesPerQuad(real);
    const part = (k: number): Expr<WideFloat> => states.at(quad.mul(2 * count).add(k));
    return Array.from({ length: count }, (_, k) => ({ re: part(2 * k), im: part(2 * k + 1) }));
  }
  const [a, b, c, d] = states.at4(quad);
  if (real === 'f64') return [{ re: u64Of(a, b).bits('f64'), im: u64Of(c, d).bits('f64') }];
  return [
    { re: a.bits('f32'), im: b.bits('f32') },
    { re: c.bits('f32'), im: d.bits('f32') },
  ];
}

function wordsOf(value: Expr<WideFloat>): Expr<'u32'>[] {
  if (value.type === 'f32') return [value.bits('u32')];
  const bits = value.bits('u64');
  return [bits.lo, bits.hi];
}

/** Reverses the lowest `bits` bits of an index. */
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
