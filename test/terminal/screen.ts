/** A terminal that wraps, scrolls, and reflows when resized. Supports the control sequences that Millrace writes. */
export class VirtualScreen {
  #columns: number;
  #rows: number;
  #lines: string[][] = [[]];
  /** The cursor: row counted from the first line, and column. */
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.#columns = columns;
    this.#rows = rows;
  }

  /** All lines, including those scrolled off the screen. */
  get lines(): string[] {
    return this.#lines.map((cells) => cells.join('').trimEnd());
  }

  write(text: string): void {
    for (const part of text.matchAll(PARTS)) {
      const [whole, given = '', command, character] = part;
      if (character === '\r') this.#column = 0;
      else if (character === '\n') this.#down();
      else if (character !== undefined) this.#put(character);
      else this.#control(command ?? '', Number(given || 1), whole);
    }
  }

  /** Wraps lines that no longer fit, as most terminals do. */
  resize(columns: number, rows: number): void {
    const before = this.#lines;
    this.#lines = [];
    for (const [at, cells] of before.entries()) {
      if (at === this.#row) this.#row = this.#lines.length + Math.floor(this.#column / columns);
      for (let from = 0; from === 0 || from < cells.length; from += columns) {
        this.#lines.push(cells.slice(from, from + columns));
      }
    }
    this.#column %= columns;
    this.#columns = columns;
    this.#rows = rows;
  }

  #control(command: string, count: number, whole: string): void {
    const top = Math.max(0, this.#lines.length - this.#rows);
    if (command === 'A') this.#row = Math.max(top, this.#row - count);
    else if (command === 'K') this.#line.length = Math.min(this.#line.length, this.#column);
    else if (command === 'J') {
      this.#line.length = Math.min(this.#line.length, this.#column);
      this.#lines.length = this.#row + 1;
    } else if (command !== 'm') throw new Error(`unknown to this terminal: ${JSON.stringify(whole)}`);
  }

  get #line(): string[] {
    while (this.#lines.length <= this.#row) this.#lines.push([]);
    return this.#lines[this.#row]!;
  }

  #down(): void {
    this.#row += 1;
    void this.#line;
  }

  #put(character: string): void {
    // A terminal wraps at the next character, not when the line is full.
    if (this.#column === this.#columns) {
      this.#column = 0;
      this.#down();
    }
    const cells = this.#line;
    while (cells.length < this.#column) cells.push(' ');
    cells[this.#column] = character;
    this.#column += 1;
  }
}

/** Matches a control sequence or a character. */
const PARTS = new RegExp(`${String.fromCharCode(27)}\\[([0-9;?]*)([A-Za-z])|([\\s\\S])`, 'gu');
