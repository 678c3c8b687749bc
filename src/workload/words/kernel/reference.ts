/**
 * What a right word is, written down as directly as it can be: it shares nothing with the tables, kernels and increments
 * that make words in bulk, and is what they are checked against.
 */

/** The word with an index: from the position that changes fastest on, `index mod size`, then `index div size`. */
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

/** Whether a row of an output is the word with that index, and its separator. */
export function referenceRow(
  job: ReferenceJob,
  { index, bytes }: { readonly index: bigint; readonly bytes: Uint8Array },
): true | string {
  const expected = referenceText(job, index);
  if (bytes.length === expected.length && bytes.every((byte, at) => byte === expected.charCodeAt(at))) return true;
  return `it is ${JSON.stringify(String.fromCharCode(...bytes))} and should be ${JSON.stringify(expected)}`;
}

/** What a row should be. */
export function referenceText({ mask, separator, leftmostFastest }: ReferenceJob, index: bigint): string {
  return referenceWord(mask, index, leftmostFastest) + separator;
}

export interface ReferenceJob {
  readonly mask: readonly (readonly string[])[];
  /** What follows each word: a line feed, NUL, or nothing. */
  readonly separator: string;
  readonly leftmostFastest?: boolean;
}
