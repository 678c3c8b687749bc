import type { Origin } from '../language/origin.js';

/** Appends a comment to each line whose origin has another comment than the line before it. */
export function withComments(
  text: string,
  lineOrigins: readonly (Origin | undefined)[],
  mark: string,
  comment: (origin: Origin) => string,
): string {
  let last = '';
  return text
    .split('\n')
    .map((line, at) => {
      const origin = lineOrigins[at];
      const note = origin ? comment(origin) : '';
      if (note === '' || note === last) return line;
      last = note;
      return `${line.padEnd(COMMENT_COLUMN)} ${mark} ${note}`;
    })
    .join('\n');
}

const COMMENT_COLUMN = 79;
