import type { TableDecl } from '../../ir/program.js';
import { toWords, type Value, wordsOf } from '../../language/types.js';

/** Lays out constant tables one after the other. Returns the position of each, and all bytes as a WAT string. */
export function constantTables(tables: readonly TableDecl[]): { at: Map<number, number>; bytes: number; text: string } {
  const at = new Map<number, number>();
  let words: number[] = [];
  for (const table of tables) {
    if (table.word !== undefined) continue;
    if (words.length % 2 === 1 && wordsOf(table.type) === 2) words.push(0);
    at.set(table.id, words.length * 4);
    words = words.concat(table.values.flatMap((node) => toWords(table.type, node.detail.value as Value)));
  }
  const byte = (word: number, k: number): string => `\\${((word >>> (8 * k)) & 0xff).toString(16).padStart(2, '0')}`;
  const text = words.map((word) => [0, 1, 2, 3].map((k) => byte(word, k)).join('')).join('');
  return { at, bytes: words.length * 4, text };
}
