import { MillraceError } from '../../../kernel/error.js';
import { type Block, hex32, targetFromBits } from '../kernel/reference.js';

/**
 * The course's text files: an input lists blocks without their nonces, an output lists the nonces. Lines end in LF or
 * CRLF, and hex may be upper or lower case. Output is written with LF and lower case only. Anything else is an
 * `input-format` error that names the line.
 */
export function parseInput(text: string, name = 'the input'): Block[] {
  const lines = new LineReader(text, name);
  const count = lines.number('the number of blocks');
  const blocks: Block[] = [];
  // The count is only compared, never allocated: a file with fewer blocks than its count ends in an error.
  while (blocks.length < count) blocks.push(parseBlock(lines, `of block ${blocks.length + 1} of ${count}`));
  lines.end();
  return blocks;
}

/** Parses the nonces of an output file. */
export function parseOutput(text: string, name = 'the output'): number[] {
  const lines = new LineReader(text, name);
  const count = lines.number('the number of blocks');
  const nonces: number[] = [];
  while (nonces.length < count) {
    nonces.push(swap(lines.word(`the nonce of block ${nonces.length + 1} of ${count}`)));
  }
  lines.end();
  return nonces;
}

/** Writes each nonce as its four bytes in header order, not as a number: 0xb01fb2ed is `edb21fb0`. */
export function formatOutput(nonces: readonly number[]): string {
  return `${[`${nonces.length}`, ...nonces.map(nonceText)].join('\n')}\n`;
}

export const nonceText = (nonce: number): string => hex32(swap(nonce));

function parseBlock(lines: LineReader, which: string): Block {
  const version = lines.word(`the version ${which}`);
  const previousHash = lines.hash(`the previous hash ${which}`);
  const time = lines.word(`the time ${which}`);
  const bits = lines.word(`the nbits ${which}`, targetFromBits);
  const count = lines.number(`the number of transactions ${which}`);
  const transactions: string[] = [];
  while (transactions.length < count) {
    transactions.push(lines.hash(`transaction ${transactions.length + 1} of ${count} ${which}`));
  }
  return { version, previousHash, time, bits, transactions };
}

/** Reads a text line by line, each line as the type expected there. */
class LineReader {
  readonly #text: string;
  readonly #name: string;
  #at = 0;
  #line = 0;

  constructor(text: string, name: string) {
    this.#text = text;
    this.#name = name;
  }

  /** A decimal from 1 to 9999999999. */
  number(what: string): number {
    const line = this.#next(what, 'a decimal number, 1 or more');
    if (!/^[0-9]{1,10}$/.test(line) || Number(line) === 0) {
      throw this.#wrong(`${what}, a decimal number, 1 or more`, quote(line));
    }
    return Number(line);
  }

  /** Eight hex digits. `check` may throw to reject the value. */
  word(what: string, check?: (value: number) => unknown): number {
    const line = this.#hex(what, 8);
    const value = Number.parseInt(line, 16);
    try {
      check?.(value);
    } catch (error) {
      throw error instanceof MillraceError
        ? this.#wrong(`${what}, a valid compact target`, `${quote(line)} (${error.summary})`)
        : error;
    }
    return value;
  }

  hash(what: string): string {
    return this.#hex(what, 64).toLowerCase();
  }

  end(): void {
    if (this.#at >= this.#text.length) return;
    const rest = this.#next('', '');
    throw this.#wrong('the end of the file', quote(rest));
  }

  #hex(what: string, digits: number): string {
    const line = this.#next(what, `${digits} hex digits`);
    if (line.length !== digits || !/^[0-9a-fA-F]+$/.test(line)) {
      throw this.#wrong(`${what}, ${digits} hex digits`, quote(line));
    }
    return line;
  }

  #next(what: string, form: string): string {
    this.#line += 1;
    if (this.#at >= this.#text.length) throw this.#wrong(`${what}, ${form}`, 'the end of the file');
    const end = this.#text.indexOf('\n', this.#at);
    const stop = end < 0 ? this.#text.length : end;
    const line = this.#text.slice(this.#at, stop);
    this.#at = stop + 1;
    return line.endsWith('\r') && end >= 0 ? line.slice(0, -1) : line;
  }

  #wrong(expected: string, found: string): MillraceError {
    return new MillraceError({
      code: 'input-format',
      message: `${this.#name}, line ${this.#line}: expected ${expected}; found ${found}`,
      asked: `to read ${this.#name}`,
      advice: 'correct this line; `millrace block --help` shows the format',
    });
  }
}

/** Shortens a line and escapes it for a terminal. Hash lines have 64 digits, so 72 characters show that one is too long. */
function quote(line: string): string {
  if (line === '') return 'an empty line';
  const shown = line.length > 72 ? `${line.slice(0, 72)}…` : line;
  const safe = shown.replace(/[^\x20-\x7e…]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `"${safe}" (${line.length} character${line.length === 1 ? '' : 's'})`;
}

function swap(word: number): number {
  return (((word & 0xff) << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}
