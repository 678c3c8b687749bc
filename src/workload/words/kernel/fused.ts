import { type Expr, type ExprLike, lit, loop, radix, table } from '../../../kernel/index.js';
import { Status, WordsError } from '../generator/status.js';
import type { Mask } from '../space/mask.js';
import { widthOf, wordCount } from '../space/mask.js';
import { type Order, slowestFirst } from '../space/order.js';

/**
 * The words of a mask as a function for your own kernels: from an index to the bytes, in registers, so that a word is
 * hashed, compared or counted without being stored.
 *
 *   const words = fusedWords(parseMask('?l?l?l?l?d?d?d?d'));
 *   const kernel = items('find', { job: { wanted: [u32, 8] }, hit: {} }, ({ job, index, emit }) => {
 *     const digest = sha256.hash(words.at(index).map((word) => word.byteSwap())); …
 *
 * Adjacent positions are looked up together; each lookup costs a multiplication to split the index in mixed radix. `each`
 * saves both for all but one lookup:
 *
 *   const kernel = items('find', { job: { wanted: [u32, 4] }, hit: { inner: u32 } }, ({ job, index, emit }) => {
 *     words.each(index, (word, inner) => when(md5.matches(word, words.bytes, job.wanted), () => emit({ inner }))); …
 *   search(kernel, { space: words.items, … })
 */
export function fusedWords(mask: Mask, order: Order = 'canonical'): FusedWords {
  const bytes = widthOf(mask);
  if (bytes === undefined) {
    const advice = 'use a mask whose characters have one length at each position';
    throw new WordsError(Status.badParameter, 'words of the mask differ in length', 'a mask inside a kernel', advice);
  }
  const groups = groupsOf(mask, order);
  const sizes = groups.map(({ texts }) => texts.length);
  const size = wordCount(mask);
  // Positions with one character change nothing: the loop is over the fastest of the others.
  const innerAt = Math.max(
    0,
    sizes.findIndex((count) => count > 1),
  );
  const inner = groups[innerAt] as PositionGroup;
  const isOuter = (_: unknown, at: number): boolean => at !== innerAt;
  const perItem = inner.texts.length;
  const items = size / BigInt(perItem);
  return {
    bytes,
    size,
    perItem,
    items,
    digits: sizes.length,
    digitsAt: (index) => {
      let rest = index;
      return sizes.map((size) => {
        const digit = Number(rest % BigInt(size));
        rest /= BigInt(size);
        return digit;
      });
    },
    at: (index, start) => assembleWord(groups, digitsOf(index, sizes, size, start), emptyWord(bytes)),
    each: (index, body, start) => {
      const digits = digitsOf(index, sizes.filter(isOuter), items, start?.filter(isOuter));
      const outer = assembleWord(groups.filter(isOuter), digits, emptyWord(bytes));
      loop(perItem, (digit) => body(assembleWord([inner], [digit], outer), digit));
    },
  };
}

export interface FusedWords {
  /** Bytes of a word. */
  readonly bytes: number;
  readonly size: bigint;
  /**
   * Returns the word with an index, as little-endian u32s, the last one padded with zeros. `start` has the digits of a
   * chunk's first word, for spaces larger than 2^64; the index then counts from that word.
   */
  at(index: Expr<'u32'> | Expr<'u64'>, start?: readonly ExprLike<'u32'>[]): Expr<'u32'>[];
  /**
   * Calls `body` for the words of an item, in a loop: the fastest positions, up to four of them, with up to 1,024 words.
   * Everything else is computed once per item. Index and `start` count items: `start` has the digits of word
   * `item · perItem`. Word `inner` of an item is word `item · perItem + inner` of the mask.
   *
   * With the order `hashcat` the loop changes the first bytes of the word, which is best for MD5 and SHA-2: fewer operations
   * depend on them.
   */
  each(
    index: Expr<'u32'> | Expr<'u64'>,
    body: (word: Expr<'u32'>[], inner: Expr<'u32'>) => void,
    start?: readonly ExprLike<'u32'>[],
  ): void;
  /** The words of an item of `each`, and the number of items: `size` is their product. */
  readonly perItem: number;
  readonly items: bigint;
  /** The number of digits in `start`, and the digits of a word. */
  readonly digits: number;
  digitsAt(index: bigint): number[];
}

/** Adjacent positions that are looked up together: at most four bytes. */
interface PositionGroup {
  readonly column: number;
  /** By digit, the bytes as a little-endian number. */
  readonly texts: readonly number[];
  readonly bytes: number;
}

/** 4 KiB per table, so that all tables of a kernel fit into workgroup memory or the nearest cache. */
const MAX_TABLE_ENTRIES = 1024;

/** Returns the groups, fastest first. */
function groupsOf(mask: Mask, order: Order): PositionGroup[] {
  const columns: number[] = [];
  mask.reduce((column, [first = '']) => columns.push(column) && column + first.length, 0);
  const groups: PositionGroup[] = [];
  let open: { column: number; texts: readonly string[] } | undefined;
  const close = (): void => {
    if (open)
      groups.push({ column: open.column, texts: open.texts.map(littleEndian), bytes: open.texts[0]?.length ?? 0 });
  };
  for (const position of slowestFirst(mask, order).reverse()) {
    const charset = mask[position] ?? [];
    const column = columns[position] ?? 0;
    const fits = open && open.texts.length * charset.length <= MAX_TABLE_ENTRIES;
    if (open && fits && (open.texts[0]?.length ?? 0) + (charset[0]?.length ?? 0) <= 4) {
      const { texts } = open;
      const isBefore = column < open.column;
      const texts2 = charset.flatMap((slow) => texts.map((fast) => (isBefore ? slow + fast : fast + slow)));
      open = { column: Math.min(column, open.column), texts: texts2 };
    } else {
      close();
      open = { column, texts: charset };
    }
  }
  close();
  return groups;
}

const littleEndian = (text: string): number =>
  [...text].reduce((sum, character, at) => sum + character.charCodeAt(0) * 2 ** (8 * at), 0);

function digitsOf(
  index: Expr<'u32'> | Expr<'u64'>,
  sizes: readonly number[],
  below: bigint,
  start: readonly ExprLike<'u32'>[] | undefined,
): Expr<'u32'>[] {
  const indexLimit = 1n << (index.type === 'u32' ? 32n : 64n);
  const options = { ...(start && { start }), ...(!start && below < indexLimit && { below }) };
  return radix(index as Expr<'u64'>, sizes, options).digits;
}

const emptyWord = (bytes: number): Expr<'u32'>[] => Array.from({ length: Math.ceil(bytes / 4) }, () => lit('u32', 0));

/** Returns the word with the characters of some groups added. */
function assembleWord(
  groups: readonly PositionGroup[],
  digits: readonly Expr<'u32'>[],
  onto: readonly Expr<'u32'>[],
): Expr<'u32'>[] {
  const words = [...onto];
  const put = (at: number, value: Expr<'u32'>): void => {
    const before = words[at];
    if (before) words[at] = before.or(value);
  };
  for (const [k, { column, texts, bytes: length }] of groups.entries()) {
    const value = texts.length === 1 ? lit('u32', texts[0] ?? 0) : table('u32', texts).at(digits[k] as Expr<'u32'>);
    const [at, shift] = [column >> 2, 8 * (column & 3)];
    put(at, value.shl(shift));
    if (shift + 8 * length > 32) put(at + 1, value.shr(32 - shift));
  }
  return words;
}
