import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';

export interface SourceLine {
  readonly file: string;
  readonly row: number;
  /** `kernel.ts:12` */
  readonly place: string;
  /** The text without indentation; '' if the file cannot be read. */
  readonly source: string;
}

/** The source text of the user's files. */
export class Sources {
  readonly #files = new Map<string, readonly string[]>();

  /** Returns the line at a position, `file:line:column`. */
  at(position: string): SourceLine {
    const [, file = position, row = '0'] = /^(.*):(\d+):\d+$/.exec(position) ?? [];
    const source = this.#linesOf(file)[Number(row) - 1]?.trim() ?? '';
    return { file, row: Number(row), place: `${basename(file)}:${row}`, source };
  }

  #linesOf(file: string): readonly string[] {
    let lines = this.#files.get(file);
    if (!lines) {
      lines = readLines(file);
      this.#files.set(file, lines);
    }
    return lines;
  }
}

function readLines(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return []; // a bundle names files that are not here
  }
}

/**
 * Returns the text of a kernel's file if the playground can open it: it imports nothing but `millrace`. Undefined otherwise.
 */
export function playgroundCode(path: string): string | undefined {
  if (statSync(path).size > MAX_BYTES) return undefined;
  const text = readFileSync(path, 'utf8');
  const modules = Array.from(
    text.matchAll(/\b(?:from|import|require)\b\s*(?:\(\s*)?['"`]([^'"`]*)['"`]/g),
    ([, name]) => name,
  );
  return modules.every((name) => name === 'millrace') ? text : undefined;
}

/** The most that the address of a playground holds. */
const MAX_BYTES = 100_000;
