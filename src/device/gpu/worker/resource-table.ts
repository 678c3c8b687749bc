import type { WorkerLine } from './line.js';

/** Device memory, host memory or a program, with the last command of each line that uses it. */
export class TrackedResource<T> {
  readonly value: T;
  readonly #last = new Map<WorkerLine, number>();
  /** The number of resident grids that use it. */
  #grids = 0;

  constructor(value: T) {
    this.value = value;
  }

  /** Records that the next command of the line uses it. */
  recordUse(line: WorkerLine): void {
    this.#last.set(line, line.takenCount + 1);
  }

  /** Records that a resident grid uses it, until `releaseFromGrid`. */
  retainForGrid(): void {
    this.#grids++;
  }

  releaseFromGrid(): void {
    this.#grids--;
  }

  /**
   * True if all commands that used it have completed and no resident grid uses it. If a command has not, requests a mark
   * that will report when it has.
   */
  checkIdle(): boolean {
    let idle = this.#grids === 0;
    for (const [line, last] of this.#last) {
      if (line.passedCount >= last) continue;
      line.ensureMark(last);
      idle = false;
    }
    return idle;
  }
}

/** Objects that the main thread refers to by number and may free while commands still use them. */
export class ResourceTable<T> {
  readonly #entries = new Map<number, TrackedResource<T>>();
  #pendingFrees: TrackedResource<T>[] = [];
  readonly #free: (value: T) => void;

  constructor(free: (value: T) => void) {
    this.#free = free;
  }

  /** True if some are freed only when commands that use them have completed. */
  get hasPendingFrees(): boolean {
    return this.#pendingFrees.length > 0;
  }

  add(number: number, value: T): void {
    this.#entries.set(number, new TrackedResource(value));
  }

  get(number: number): TrackedResource<T> {
    const held = this.#entries.get(number);
    if (!held) throw new TypeError(`there is no memory or program number ${number}`);
    return held;
  }

  remove(number: number): void {
    const held = this.#entries.get(number);
    if (!held) return;
    this.#entries.delete(number);
    this.#pendingFrees.push(held);
  }

  /** Frees what nothing uses any more. True if anything was freed. */
  sweep(): boolean {
    const staying = this.#pendingFrees.filter((resource) => !resource.checkIdle());
    if (staying.length === this.#pendingFrees.length) return false;
    const going = this.#pendingFrees.filter((resource) => !staying.includes(resource));
    this.#pendingFrees = staying;
    for (const { value } of going) this.#free(value);
    return true;
  }
}
