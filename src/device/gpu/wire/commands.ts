/**
 * Records of the ring, as the main thread writes them and the worker reads them. Numbers past 2^32 take two words, the
 * low one first. The words below follow the two that every record begins with (`ring.ts`).
 *
 *   open close mark note   nothing more
 *   free unlock unload     number
 *   wait                   line, mark
 *   follow                 the runtime's own stream (2)
 *   fill                   memory, word, offset (2), bytes (2)
 *   copy                   from, to, from-offset (2), to-offset (2), bytes (2)
 *   write read             memory, offset (2), bytes (2), host memory (0: none), 1 before an address, 0 before an offset,
 *                          either (2)
 *   launch                 program, buffers, memory of the count (0: none), offset (2), buffers' numbers …, the block …
 */
export const CommandKind = {
  open: 1,
  close: 2,
  mark: 3,
  note: 4,
  free: 5,
  unlock: 6,
  wait: 7,
  fill: 8,
  copy: 9,
  write: 10,
  read: 11,
  launch: 12,
  follow: 13,
  unload: 14,
} as const;
/** Words of a record before its content. */
export const RECORD_WORDS = 2;
/** Words of a record's content; a launch's are followed by its buffers and its block. */
export const WAIT_WORDS = 2;
export const FOLLOW_WORDS = 2;
export const FILL_WORDS = 6;
export const COPY_WORDS = 8;
export const TRANSFER_WORDS = 9;
export const LAUNCH_WORDS = 5;

export const kindOf = (first: number): number => first & 0xff;
export const lineOf = (first: number): number => first >>> 8;
export const firstWord = (kind: number, line: number): number => kind | (line << 8);

/** Numbers below 2^53 in two words. */
export const readWide = (words: Uint32Array, at: number): number => (words[at] ?? 0) + (words[at + 1] ?? 0) * 2 ** 32;
export function writeWide(words: Uint32Array, at: number, value: number): void {
  words[at] = value;
  words[at + 1] = Math.floor(value / 2 ** 32);
}
