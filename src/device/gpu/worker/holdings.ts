import type { WorkerLine } from './line.js';

/** Device memory, host memory or a program, with the last command of each line that uses it. */
export class Holding<T> {
  readonly value: T;
  readonly #last = new Map<WorkerLine, number>();
  /** The number of resident grids that use it. */
  #grids = 0;

  constructor(value: T) {
    this.value = value;
  }

  /** Records that the next command of the line uses it. */
  use(line: WorkerLine): void {
    this.#last.set(line, line.taken + 1);
  }

  /** Records that a resident grid uses it, until `letGo`. */
  keep(): void {
    this.#grids++;
  }

  letGo(): void {
    this.#grids--;
  }

  /**
   * True if all commands that used it have passed and no resident grid uses it. If a command has not passed, requests a
   * mark that will report when it has.
   */
  get idle(): boolean {
    let idle = this.#grids === 0;
    for (const [line, last] of this.#last) {
      if (line.passed >= last) continue;
      line.ensureMark(last);
      idle = false;
    }
    return idle;
  }
}

/** Objects that the main thread refers to by number and may free while commands still use them. */
export class Holdings<T> {
  readonly #held = new Map<number, Holding<T>>();
  #leaving: Holding<T>[] = [];
  readonly #free: (value: T) => void;

  constructor(free: (value: T) => void) {
    this.#free = free;
  }

  /** True if some wait for commands to pass before they are freed. */
  get leaving(): boolean {
    return this.#leaving.length > 0;
  }

  add(number: number, value: T): void {
    this.#held.set(number, new Holding(value));
  }

  get(number: number): Holding<T> {
    const held = this.#held.get(number);
    if (!held) throw new TypeError(`there is no memory or program number ${number}`);
    return held;
  }

  remove(number: number): void {
    const held = this.#held.get(number);
    if (!held) return;
    this.#held.delete(number);
    this.#leaving.push(held);
  }

  /** Frees what nothing uses any more. True if anything was freed. */
  sweep(): boolean {
    const staying = this.#leaving.filter((holding) => !holding.idle);
    if (staying.length === this.#leaving.length) return false;
    const going = this.#leaving.filter((holding) => !staying.includes(holding));
    this.#leaving = staying;
    for (const { value } of going) this.#free(value);
    return true;
  }
}
