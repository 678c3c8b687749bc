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
    characters[position] = charset[Number(rest % BigInt(charset.length))] ?? '';
    rest /= BigInt(charset.length);
  }
  return characters.join('');
}

/** Whether a row of an output is the word with that index, and its separator. */
export function referenceRow(
  { mask, separator, leftmostFastest = false }: ReferenceJob,
  { index, bytes }: { readonly index: bigint; readonly bytes: Uint8Array },
): true | string {
  const expected = referenceWord(mask, index, leftmostFastest) + separator;
  const got = String.fromCharCode(...bytes);
  return got === expected || `it is ${JSON.stringify(got)} and should be ${JSON.stringify(expected)}`;
}

export interface ReferenceJob {
  readonly mask: readonly (readonly string[])[];
  /** What follows each word: a line feed, NUL, or nothing. */
  readonly separator: string;
  readonly leftmostFastest?: boolean;
}
