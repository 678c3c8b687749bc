import type { NativeText } from '../std-function.js';

/** Placeholders replaced below. */
export function armBody(_constants: readonly number[]): NativeText {
  return { text: () => '' };
}
export function shaNiBody(_constants: readonly number[]): NativeText {
  return { text: () => '' };
}
