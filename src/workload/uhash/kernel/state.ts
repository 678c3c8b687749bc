import type { Cell, Expr, RwBuffer } from '../../../kernel/index.js';

type Word = Expr<'u32'>;

/** A chain's state in memory: 8 words per slot, as two quads. */
export const stateAt = (state: RwBuffer<'u32'>, slot: Word): Word[] => [
  ...state.at4(slot.mul(2)),
  ...state.at4(slot.mul(2).add(1)),
];

export function setState(state: RwBuffer<'u32'>, slot: Word, words: readonly (Word | Cell<'u32'>)[]): void {
  halves(words).forEach((half, at) => {
    state.set4(slot.mul(2).add(at), half);
  });
}

export const halves = <T>(words: readonly T[]): T[][] => [words.slice(0, 4), words.slice(4, 8)];

export function put(into: readonly Cell<'u32'>[], words: readonly Word[]): void {
  into.forEach((cell, i) => {
    cell.set(words[i] as Word);
  });
}
