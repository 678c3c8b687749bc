import { type Expr, lit, loop, min, select, type TileContext, u32, type WideFloat } from '../../../kernel/index.js';
import { amplitudesPerQuad, type StateSpec } from '../kernel/kernel.js';

/**
 * The kernels of the Python engine. Unlike those of `kernel/`, which are traced for one shape, they take the number of
 * qubits as a job value: one library has all sizes. Results have the same bits.
 */
export type EngineSpec = Pick<StateSpec, 'real' | 'store'>;

/** log2 of the amplitudes in a tile's piece of a state. */
export const PIECE_BITS = 13;

/** What a tile makes of a state. */
export interface Piece {
  readonly sample: Expr<'u32'>;
  /** From 0. */
  readonly piece: Expr<'u32'>;
  /** The piece's first quad among all states. */
  readonly firstQuad: Expr<'u32'>;
  readonly quads: Expr<'u32'>;
  /** 1 if the piece has 2^13 amplitudes, which makes it a case of its own, with constant counts; otherwise 0. */
  readonly isWhole: Expr<'u32'>;
  /** Returns the index in its state of amplitude `k` of a quad. */
  indexOf(quad: Expr<'u32'>, k: number): Expr<'u32'>;
}

export function pieceOf(tile: Expr<'u32'>, qubits: Expr<'u32'>, real: WideFloat): Piece {
  const perQuad = amplitudesPerQuad(real);
  const bits = min(qubits, PIECE_BITS);
  const above = qubits.sub(bits);
  const piece = tile.and(lit('u32', 1).shl(above).sub(1));
  const quads = lit('u32', 1)
    .shl(bits)
    .shr(perQuad - 1);
  return {
    sample: tile.shr(above),
    piece,
    firstQuad: tile.mul(quads),
    quads,
    isWhole: select(qubits.ge(PIECE_BITS), lit('u32', 1), 0),
    indexOf: (quad, k) => piece.shl(bits).add(quad.mul(perQuad)).add(k),
  };
}

export const wholeQuads = (real: WideFloat): number => 2 ** PIECE_BITS / amplitudesPerQuad(real);

type Each = TileContext<Record<never, never>, Record<never, never>, Record<never, never>, Record<never, never>>['each'];

/** Runs `body` for each quad of a piece, with a constant count where the piece is whole: compilers unroll and vectorize it. */
export function eachQuad(each: Each, own: Piece, real: WideFloat, body: (quad: Expr<'u32'>) => void): void {
  loop(own.isWhole, () => each(wholeQuads(real), body));
  loop(lit('u32', 1).sub(own.isWhole), () => each(own.quads, body));
}

export const qubitsJob = { qubits: u32 } as const;
