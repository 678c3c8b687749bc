import { MillraceError } from '../../kernel/error.js';

/**
 * Strict reader for the text of an exported job. It scans the text once, takes one value at a time, and passes to
 * JSON.parse only pieces whose length and nesting it has measured: 10 MB of `[` would make JSON.parse use 750 MB.
 */
export class ExportReader {
  readonly #text: string;
  #position = 0;

  constructor(text: string) {
    if (text.length > MAX_CHARACTERS) throw tooLargeError();
    this.#text = text;
  }

  /** Yields the names of an object's members. The caller reads the value of each before it asks for the next. */
  *members(): Generator<string> {
    this.#expect('{');
    if (this.#skip('}')) return;
    do {
      const name = this.value(MAX_NAME_CHARACTERS);
      if (typeof name !== 'string') throw importError(`expected a name at character ${this.#position}`);
      this.#expect(':');
      yield name;
    } while (this.#skip(','));
    this.#expect('}');
  }

  /** Yields the elements of an array, each of at most `maxCharacters`. */
  *elements(maxCharacters: number): Generator<unknown> {
    this.#expect('[');
    if (this.#skip(']')) return;
    do yield this.value(maxCharacters);
    while (this.#skip(','));
    this.#expect(']');
  }

  /** Reads the next value, of at most `maxCharacters`. */
  value(maxCharacters: number): unknown {
    this.#skipSpace();
    const start = this.#position;
    const end = this.#endOfValue(start + maxCharacters);
    this.#position = end;
    try {
      return JSON.parse(this.#text.slice(start, end)) as unknown;
    } catch (cause) {
      throw importError(`the value at character ${start} is not JSON`, cause);
    }
  }

  end(): void {
    this.#skipSpace();
    if (this.#position < this.#text.length)
      throw importError(`expected the end of the text at character ${this.#position}`);
  }

  /** Returns where the value ends by its brackets and quotes; JSON.parse decides whether it is valid. */
  #endOfValue(limit: number): number {
    const text = this.#text;
    let depth = 0;
    let isString = false;
    for (let at = this.#position; at < text.length; at++) {
      if (at >= limit) throw importError(`the value at character ${this.#position} is too long`);
      const character = text[at];
      if (isString) {
        if (character === '\\') at++;
        else if (character === '"') isString = false;
        if (!isString && depth === 0) return at + 1;
      } else if (character === '"') isString = true;
      else if (character === '[' || character === '{') {
        if (++depth > MAX_DEPTH)
          throw importError(`the value at character ${this.#position} is nested more than ${MAX_DEPTH} deep`);
      } else if (character === ']' || character === '}') {
        if (depth === 0) return at;
        if (--depth === 0) return at + 1;
      } else if (depth === 0 && (character === ',' || character === ':' || isSpace(character))) return at;
    }
    return text.length;
  }

  #skipSpace(): void {
    while (isSpace(this.#text[this.#position])) this.#position++;
  }

  /** Skips a character if it is the next one. */
  #skip(character: string): boolean {
    this.#skipSpace();
    const isNext = this.#text[this.#position] === character;
    if (isNext) this.#position++;
    return isNext;
  }

  #expect(character: string): void {
    if (!this.#skip(character)) throw importError(`expected ${character} at character ${this.#position}`);
  }
}

/** Enough for 2 million hits of a few values each. */
export const MAX_CHARACTERS = 256 * 2 ** 20;
const MAX_NAME_CHARACTERS = 64;
const MAX_DEPTH = 64;

const isSpace = (character: string | undefined): boolean =>
  character === ' ' || character === '\n' || character === '\r' || character === '\t';

export const tooLargeError = (): MillraceError => importError(`it is larger than ${MAX_CHARACTERS / 2 ** 20} MiB`);

export const importError = (message: string, cause?: unknown): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `not an exported job: ${message}`,
    asked: 'to import a job',
    advice: 'give a file that `millrace jobs export` wrote, unchanged',
    cause,
  });
