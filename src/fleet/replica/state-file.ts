import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { decodeValues, encodeValues, type PlainValue } from '../manifest/index.js';
import type { StateChange } from '../protocol/index.js';
import { writeSafely } from '../safe-file.js';

/**
 * What survives a coordinator besides the ledger: who is trusted, what waits for audits, which jobs are paused. Values by
 * scope and key, in a file to which each change appends a line. It is rewritten when most of its lines are out of date.
 */
export class StateFile {
  readonly #path: string;
  readonly #scopes = new Map<string, Map<string, PlainValue>>();
  #file: number;
  #lines = 0;
  #values = 0;

  constructor(path: string) {
    this.#path = path;
    for (const line of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) this.#read(line);
    // A last line that was cut short must not become part of the next one.
    this.#file = this.#rewrite();
  }

  /** The values of a scope, by key. */
  scope(name: string): ReadonlyMap<string, PlainValue> {
    return this.#scopes.get(name) ?? new Map();
  }

  /** Stores changes. They are on disk on return, unless they need not be. */
  apply(changes: readonly StateChange[], isDurable = true): void {
    if (changes.length === 0) return;
    for (const change of changes) this.#set(change);
    this.#append(changes.map(lineOf), isDurable);
  }

  get scopes(): Iterable<string> {
    return this.#scopes.keys();
  }

  /** Moves the values of a scope with the wanted keys to another scope, and removes the rest. On disk on return. */
  move(from: string, to: string, isWanted: (key: string) => boolean = () => true): void {
    const wanted = [...this.scope(from)].filter(([key]) => isWanted(key));
    this.apply(wanted.map(([key, value]) => ({ scope: to, key, value })));
    // If this is not on disk when power fails, the same is moved again.
    this.drop(from);
  }

  /** Removes everything of a scope. */
  drop(scope: string): void {
    const values = this.#scopes.get(scope);
    if (values === undefined) return;
    this.#values -= values.size;
    this.#scopes.delete(scope);
    this.#append([encodeValues({ scope })], true);
  }

  close(): void {
    closeSync(this.#file);
  }

  #set({ scope, key, value }: StateChange): void {
    const values = this.#scopes.get(scope) ?? new Map<string, PlainValue>();
    this.#values -= values.size;
    if (value === undefined) values.delete(key);
    else values.set(key, value);
    this.#values += values.size;
    if (values.size > 0) this.#scopes.set(scope, values);
    else this.#scopes.delete(scope);
  }

  #append(lines: readonly string[], isDurable: boolean): void {
    this.#lines += lines.length;
    if (this.#lines > 2 * this.#values + MIN_LINES) {
      closeSync(this.#file);
      this.#file = this.#rewrite();
      return;
    }
    writeSync(this.#file, `${lines.join('\n')}\n`);
    if (isDurable) fdatasyncSync(this.#file);
  }

  #rewrite(): number {
    const all = [...this.#scopes].flatMap(([scope, values]) =>
      [...values].map(([key, value]) => `${lineOf({ scope, key, value })}\n`),
    );
    writeSafely(this.#path, all.join(''));
    this.#lines = all.length;
    return openSync(this.#path, 'a', 0o600);
  }

  #read(line: string): void {
    if (line === '') return;
    try {
      const { scope, key, value } = decodeValues(line, Error) as Partial<StateChange>;
      if (scope === undefined) return;
      if (key === undefined) {
        this.#values -= this.scope(scope).size;
        this.#scopes.delete(scope);
      } else this.#set({ scope, key, value });
    } catch {
      // The line was cut short when power failed: what it says was not confirmed to anyone.
    }
  }
}

const lineOf = ({ scope, key, value }: StateChange): string =>
  encodeValues({ scope, key, ...(value !== undefined && { value }) });

/** Lines below which a file is not rewritten. */
const MIN_LINES = 10_000;
