/**
 * Defines the right word, as directly as possible. It shares no code with the tables, kernels and increments that make
 * words in bulk, which are checked against it.
 */

/** Returns the word with an index: `index mod size`, then `index div size`, from the fastest position on. */
export function referenceWord(mask: readonly (readonly string[])[], index: bigint, leftmostFastest = false): string {
  const characters: string[] = [];
  let rest = index;
  const fastestFirst = [...mask.keys()];
  if (!leftmostFastest) fastestFirst.reverse();
  for (const position of fastestFirst) {
    const charset = mask[position] ?? [];
    const size = BigInt(charset.length);
    characters[position] = charset[Number(rest % size)] ?? '';
    rest /= size;
  }
  return characters.join('');
}

/** True if a row of an output is the word with that index, and its separator. */
export function referenceRow(
  job: ReferenceJob,
  { index, bytes }: { readonly index: bigint; readonly bytes: Uint8Array },
): true | string {
  const expected = referenceText(job, index);
  if (bytes.length === expected.length && bytes.every((byte, at) => byte === expected.charCodeAt(at))) return true;
  return `got ${JSON.stringify(String.fromCharCode(...bytes))}, expected ${JSON.stringify(expected)}`;
}

/** Returns the expected row. */
export function referenceText({ mask, separator, leftmostFastest }: ReferenceJob, index: bigint): string {
  return referenceWord(mask, index, leftmostFastest) + separator;
}

export interface ReferenceJob {
  readonly mask: readonly (readonly string[])[];
  /** Follows each word: a line feed, NUL, or nothing. */
  readonly separator: string;
  readonly leftmostFastest?: boolean;
}
