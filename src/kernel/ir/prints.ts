import { fromWords, type Type, type Value } from '../language/types.js';

/**
 * What kernels print is collected in a buffer, which a kernel that prints has after its own. Word 0 counts the calls. A record
 * is the item's number, the number of the call in the source, and the value as two words, the low one first. Calls beyond
 * the last record are only counted.
 */
export const PRINT_BUFFER = '_prints'; // a name that no buffer of a user can have
export const PRINT_HEADER_WORDS = 4;
export const PRINT_RECORD_WORDS = 4;
export const MAX_PRINTS = 1024;
export const PRINT_BYTES = 4 * (PRINT_HEADER_WORDS + MAX_PRINTS * PRINT_RECORD_WORDS);

/** A call of `print` in the source of a kernel. */
export interface PrintCall {
  readonly label: string;
  readonly type: Type;
  /** `file:line:column` */
  readonly line: string;
}

export interface PrintedValue {
  readonly call: PrintCall;
  /** The item's number within its launch. */
  readonly item: number;
  readonly value: Value;
}

/** Returns what a launch has printed, item by item, and the number of calls for which there was no record. */
export function printedIn(
  words: Uint32Array,
  calls: readonly PrintCall[],
): { readonly values: readonly PrintedValue[]; readonly omitted: number } {
  const count = words[0] ?? 0;
  const recorded = Math.min(count, MAX_PRINTS);
  const values = Array.from({ length: recorded }, (_, record) => printedAt(words, record, calls) ?? []).flat();
  return { values: values.sort((a, b) => a.item - b.item), omitted: count - recorded };
}

/** Returns the record that is complete with the store to word `at`; undefined if that is not the last word of one. */
export function printedWith(words: Uint32Array, at: number, calls: readonly PrintCall[]): PrintedValue | undefined {
  const record = (at + 1 - PRINT_HEADER_WORDS) / PRINT_RECORD_WORDS - 1;
  return Number.isInteger(record) && record >= 0 ? printedAt(words, record, calls) : undefined;
}

function printedAt(words: Uint32Array, record: number, calls: readonly PrintCall[]): PrintedValue | undefined {
  const at = PRINT_HEADER_WORDS + record * PRINT_RECORD_WORDS;
  const call = calls[words[at + 1] ?? 0];
  return call && { call, item: words[at] ?? 0, value: fromWords(call.type, words, at + 2) };
}
