import { MillraceError } from '../../kernel/error.js';

/**
 * Where a job's work lies: indices [0, N), N up to 2^128. Indices are bigints everywhere; a number counts only what one
 * launch does, at most 2^32, so that neither 2^32 nor 2^53 is a trap.
 */

/** Consecutive indices, `start` to `start + length`. */
export interface Range {
  readonly start: bigint;
  readonly length: bigint;
}

/** What one launch does: at most 2^32 indices, never across a multiple of 2^32. */
export interface Piece {
  readonly start: bigint;
  readonly count: number;
}

export const MOST_INDICES = 1n << 128n;
export const MOST_ITEMS = 2 ** 32;

/** The whole space of `size` indices. Throws `usage` when that is no space. */
export function spaceOf(size: bigint): Range {
  if (size >= 1n && size <= MOST_INDICES) return { start: 0n, length: size };
  throw new MillraceError({
    code: 'usage',
    message: 'a space has at least one index and at most 2^128',
    asked: `a space of ${size} indices`,
    advice: size < 1n ? 'give the number of indices to try' : 'split the search over several jobs',
  });
}

/** The indices from `start` up to `end`, which is not one of them. */
export const between = (start: bigint, end: bigint): Range => ({ start, length: end - start });

export const endOf = ({ start, length }: Range): bigint => start + length;

export const rangeOf = ({ start, count }: Piece): Range => ({ start, length: BigInt(count) });

/** The first piece of a range that is not empty: at most `most` items, and no further than the next multiple of 2^32. */
export function firstPiece({ start, length }: Range, most = MOST_ITEMS): Piece {
  const room = (1n << 32n) - (start & 0xffff_ffffn);
  return { start, count: Math.min(most, Number(least(room, length))) };
}

/**
 * What a launch is told of a piece. `base` is all there is below 2^64; a space beyond it brings `high` to its kernel as a
 * chunk value of its own. Both are the same for all items of the piece.
 */
export function launchBase({ start }: Piece): { readonly base: bigint; readonly high: bigint } {
  return { base: BigInt.asUintN(64, start), high: start >> 64n };
}

/** part ÷ whole as a number from 0 to 1, exact to 2^-53 however large both are; 1 for nothing of nothing. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 1 : Number((part << 53n) / whole) / 2 ** 53;
}

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const greatest = (a: bigint, b: bigint): bigint => (a > b ? a : b);
