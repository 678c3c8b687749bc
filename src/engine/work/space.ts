import { MillraceError } from '../../kernel/error.js';

/**
 * A job's space: indices [0, N), N up to 2^128. Indices are always bigints. A number counts only the items of one
 * launch, at most 2^32, so no index overflows 2^32 or 2^53.
 */

/** Consecutive indices, `start` to `start + length`. */
export interface Range {
  readonly start: bigint;
  readonly length: bigint;
}

/** The indices of one launch: at most 2^32, never across a multiple of 2^32. */
export interface Piece {
  readonly start: bigint;
  readonly count: number;
}

export const MAX_INDICES = 1n << 128n;
export const MAX_ITEMS = 2 ** 32;

/** Returns the space of `size` indices. Throws `usage` if the size is out of range. */
export function spaceOf(size: bigint): Range {
  if (size >= 1n && size <= MAX_INDICES) return { start: 0n, length: size };
  throw new MillraceError({
    code: 'usage',
    message: `a space cannot have ${size} indices: expected 1 to 2^128`,
    asked: `a space of ${size} indices`,
    advice: size < 1n ? 'give the number of indices to try' : 'split the search over several jobs',
  });
}

/** Returns the indices from `start` to `end`, exclusive. */
export const between = (start: bigint, end: bigint): Range => ({ start, length: end - start });

export const endOf = ({ start, length }: Range): bigint => start + length;

export const rangeOf = ({ start, count }: Piece): Range => ({ start, length: BigInt(count) });

/** Returns the first piece of a nonempty range: at most `max` items, and not past the next multiple of 2^32. */
export function firstPiece({ start, length }: Range, max = MAX_ITEMS): Piece {
  const untilBoundary = (1n << 32n) - (start & 0xffff_ffffn);
  return { start, count: Math.min(max, Number(minBigint(untilBoundary, length))) };
}

/**
 * Returns the start of a piece for a launch. Below 2^64 `base` is the whole index; a larger space passes `high` to its
 * kernel as a chunk value. Both are the same for all items of the piece.
 */
export function launchBase({ start }: Piece): { readonly base: bigint; readonly high: bigint } {
  return { base: BigInt.asUintN(64, start), high: start >> 64n };
}

/** Returns part ÷ whole as a number from 0 to 1, exact to 2^-53 for any size. 0 ÷ 0 is 1. */
export function shareOf(part: bigint, whole: bigint): number {
  return whole === 0n ? 1 : Number((part << 53n) / whole) / 2 ** 53;
}

export const minBigint = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const maxBigint = (a: bigint, b: bigint): bigint => (a > b ? a : b);
