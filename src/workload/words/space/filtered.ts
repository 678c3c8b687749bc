import { MillraceError } from '../../../kernel/error.js';
import { type ByteString, fromByteString } from './charset.js';
import type { Mask } from './mask.js';
import { type Order, slowestFirst } from './order.js';
import type { Words } from './words.js';

/** Rules that exclude words. */
export interface Filter {
  /** The longest allowed run of one character. */
  readonly maxRun?: number;
  /** The most occurrences of one character in a word. */
  readonly maxOccurrence?: number;
}

export const isFiltering = ({ maxRun, maxOccurrence }: Filter): boolean =>
  maxRun !== undefined || maxOccurrence !== undefined;

/**
 * The words of a mask that pass a filter, counted exactly and found by their index. The number of words with a given
 * prefix depends only on its last character and run, and on the uses of each character; characters that the rest of the
 * mask treats alike are equivalent. So the counting automaton has few states: 26^8 words without a letter three times
 * have 9 × (at most 25).
 */
export class FilteredWords implements Words {
  readonly mask: Mask;
  readonly order: Order;
  readonly size: bigint;
  readonly #filter: Required<Filter>;
  /** By level, from the slowest position to the fastest: the position in the word, its characters by number. */
  readonly #levels: readonly Level[];
  readonly #characters: readonly ByteString[];
  readonly #counts: Map<string, bigint>[];
  #states = 0;

  constructor(mask: Mask, order: Order, filter: Filter) {
    this.mask = mask;
    this.order = order;
    const { maxRun = Number.POSITIVE_INFINITY, maxOccurrence = Number.POSITIVE_INFINITY } = filter;
    this.#filter = { maxRun, maxOccurrence };
    const positions = slowestFirst(mask, order);
    this.#characters = [...new Set(mask.flat())];
    const numbers = new Map(this.#characters.map((name, number) => [name, number]));
    const members = positions.map((position) => (mask[position] ?? []).map((name) => numbers.get(name) ?? 0));
    this.#levels = positions.map((position, level) => ({
      position,
      members: members[level] ?? [],
      memberSet: new Set(members[level]),
      classes: equivalenceClasses(this.#characters.length, members.slice(level)),
    }));
    this.#counts = positions.map(() => new Map());
    this.size = this.#count(0, this.#initialState());
  }

  wordAt(index: bigint): ByteString {
    const digits = this.#digitsAt(index);
    return this.#text(digits);
  }

  indexOf(word: ByteString): bigint | undefined {
    for (const digits of this.#parses(word)) {
      const index = this.#indexOf(digits);
      if (index !== undefined) return index;
    }
    return undefined;
  }

  fill(into: Uint8Array, start: bigint, count: number, separator: ByteString): number {
    if (count === 0) return 0;
    const characters = this.mask.map((charset) => charset.map(fromByteString));
    const end = fromByteString(separator);
    const walk = new FilteredIterator(this.#levels, this.#filter, this.#characters.length, this.#digitsAt(start));
    const digits: number[] = [];
    let at = 0;
    for (let done = 0; done < count; done++) {
      for (const [level, { position }] of this.#levels.entries()) digits[position] = walk.digits[level] ?? 0;
      for (const [position, charset] of characters.entries()) {
        const character = charset[digits[position] ?? 0] ?? end;
        for (let k = 0; k < character.length; k++) into[at + k] = character[k] ?? 0;
        at += character.length;
      }
      for (let k = 0; k < end.length; k++) into[at + k] = end[k] ?? 0;
      at += end.length;
      walk.next();
    }
    return at;
  }

  #initialState(): PrefixState {
    return { last: -1, run: 0, used: new Uint16Array(this.#characters.length) };
  }

  #nextState({ last, run, used }: PrefixState, character: number): PrefixState | undefined {
    const next = { last: character, run: character === last ? run + 1 : 1, used: used.slice() };
    next.used[character] = (used[character] ?? 0) + 1;
    const { maxRun, maxOccurrence } = this.#filter;
    return next.run <= maxRun && (next.used[character] ?? 0) <= maxOccurrence ? next : undefined;
  }

  /** Returns the number of words that follow a state, from a level on. */
  #count(level: number, state: PrefixState): bigint {
    const here = this.#levels[level];
    const counts = this.#counts[level];
    if (here === undefined || counts === undefined) return 1n;
    const key = this.#stateKey(here, state);
    const known = counts.get(key);
    if (known !== undefined) return known;
    this.#states++;
    if (this.#states > MAX_STATES) throw tooManyStates(this.mask.length);
    let sum = 0n;
    for (const [, { times, next }] of this.#choices(level, state)) sum += BigInt(times) * this.#count(level + 1, next);
    counts.set(key, sum);
    return sum;
  }

  /** Returns the next characters; equivalent ones are grouped. */
  #choices(level: number, state: PrefixState): Map<string, { times: number; readonly next: PrefixState }> {
    const choices = new Map<string, { times: number; readonly next: PrefixState }>();
    const here = this.#levels[level] as Level;
    for (const character of here.members) {
      const alike = this.#classKey(here, state, character);
      const known = choices.get(alike);
      if (known) known.times++;
      else {
        const next = this.#nextState(state, character);
        if (next) choices.set(alike, { times: 1, next });
      }
    }
    return choices;
  }

  #classKey({ classes }: Level, { last, used }: PrefixState, character: number): string {
    return `${classes[character]} ${used[character]} ${character === last}`;
  }

  /** Returns the part of a state that affects the rest of the word. */
  #stateKey({ classes, memberSet }: Level, { last, run, used }: PrefixState): string {
    const { maxRun, maxOccurrence } = this.#filter;
    const isCounted = Number.isFinite(maxOccurrence);
    const isHeld = Number.isFinite(maxRun) && memberSet.has(last);
    const held = isHeld ? `${classes[last]} ${isCounted ? used[last] : ''} ${run}` : '';
    if (!isCounted) return held;
    const tally = new Map<string, number>();
    for (const [character, times] of used.entries()) {
      const kind = classes[character] ?? 0;
      if (times === 0 || kind === 0) continue;
      const name = `${kind}x${times}`;
      tally.set(name, (tally.get(name) ?? 0) + 1);
    }
    return `${held}|${[...tally]
      .map(([name, number]) => `${name}:${number}`)
      .sort()
      .join(' ')}`;
  }

  #digitsAt(index: bigint): number[] {
    let rest = index;
    let state = this.#initialState();
    return this.#levels.map((here, level) => {
      const counts = new Map<string, bigint>();
      for (const [digit, character] of here.members.entries()) {
        const count = this.#countAfter(level, state, character, counts);
        if (rest < count) {
          state = this.#nextState(state, character) ?? state;
          return digit;
        }
        rest -= count;
      }
      throw new RangeError(`there is no word ${index}`);
    });
  }

  #countAfter(level: number, state: PrefixState, character: number, counts: Map<string, bigint>): bigint {
    const alike = this.#classKey(this.#levels[level] as Level, state, character);
    const known = counts.get(alike);
    if (known !== undefined) return known;
    const next = this.#nextState(state, character);
    const count = next ? this.#count(level + 1, next) : 0n;
    counts.set(alike, count);
    return count;
  }

  #indexOf(digits: readonly number[]): bigint | undefined {
    let index = 0n;
    let state = this.#initialState();
    for (const [level, here] of this.#levels.entries()) {
      const digit = digits[here.position] ?? 0;
      const counts = new Map<string, bigint>();
      for (const character of here.members.slice(0, digit)) index += this.#countAfter(level, state, character, counts);
      const next = this.#nextState(state, here.members[digit] ?? 0);
      if (next === undefined) return undefined;
      state = next;
    }
    return index;
  }

  #text(digits: readonly number[]): ByteString {
    const characters: ByteString[] = [];
    for (const [level, { position }] of this.#levels.entries()) {
      characters[position] = this.mask[position]?.[digits[level] ?? 0] ?? '';
    }
    return characters.join('');
  }

  /** Yields every way to read a word as characters of the positions. */
  *#parses(word: ByteString, position = 0, at = 0, digits: number[] = []): Generator<number[]> {
    const charset = this.mask[position];
    if (charset === undefined) {
      if (at === word.length) yield digits;
      return;
    }
    for (const [digit, character] of charset.entries()) {
      if (word.startsWith(character, at)) {
        yield* this.#parses(word, position + 1, at + character.length, [...digits, digit]);
      }
    }
  }
}

/** The state of the automaton after a prefix. */
interface PrefixState {
  readonly last: number;
  readonly run: number;
  readonly used: Uint16Array;
}

interface Level {
  readonly position: number;
  readonly members: readonly number[];
  readonly memberSet: ReadonlySet<number>;
  /** By character: equal if the rest of the mask, from this level on, treats them alike; 0 if it does not contain them. */
  readonly classes: readonly number[];
}

function equivalenceClasses(characters: number, rest: readonly (readonly number[])[]): number[] {
  const sets = rest.map((members) => new Set(members));
  const kinds = new Map<string, number>();
  return Array.from({ length: characters }, (_, character) => {
    const where = sets.map((set) => (set.has(character) ? '1' : '0')).join('');
    if (!where.includes('1')) return 0;
    const kind = kinds.get(where) ?? kinds.size + 1;
    kinds.set(where, kind);
    return kind;
  });
}

/** Steps from one word that passes the filter to the next. */
class FilteredIterator {
  /** By level. */
  readonly digits: number[];
  readonly #levels: readonly Level[];
  readonly #filter: Required<Filter>;
  readonly #used: Uint16Array;
  readonly #runs: number[] = [];

  constructor(levels: readonly Level[], filter: Required<Filter>, characters: number, digits: number[]) {
    this.#levels = levels;
    this.#filter = filter;
    this.#used = new Uint16Array(characters);
    this.digits = digits;
    for (const level of levels.keys()) this.#push(level);
  }

  next(): void {
    let level = this.#levels.length - 1;
    this.#pop(level);
    this.digits[level] = (this.digits[level] ?? 0) + 1;
    while (level >= 0 && level < this.#levels.length) {
      if (this.#findAllowed(level)) {
        level++;
        this.digits[level] = 0;
        continue;
      }
      level--;
      if (level < 0) break;
      this.#pop(level);
      this.digits[level] = (this.digits[level] ?? 0) + 1;
    }
    this.digits.length = this.#levels.length;
  }

  /** Finds the first allowed character from the current digit on. */
  #findAllowed(level: number): boolean {
    const { length } = this.#levels[level]?.members ?? [];
    for (; (this.digits[level] ?? 0) < length; this.digits[level] = (this.digits[level] ?? 0) + 1) {
      if (this.#push(level)) return true;
      this.#pop(level);
    }
    return false;
  }

  #push(level: number): boolean {
    const character = this.#character(level);
    const run = level > 0 && this.#character(level - 1) === character ? (this.#runs[level - 1] ?? 0) + 1 : 1;
    const used = (this.#used[character] ?? 0) + 1;
    this.#runs[level] = run;
    this.#used[character] = used;
    return run <= this.#filter.maxRun && used <= this.#filter.maxOccurrence;
  }

  #pop(level: number): void {
    const character = this.#character(level);
    this.#used[character] = (this.#used[character] ?? 0) - 1;
  }

  #character(level: number): number {
    return this.#levels[level]?.members[this.digits[level] ?? 0] ?? 0;
  }
}

/** Limit of the automaton's states: beyond it, counting takes minutes and gigabytes. */
const MAX_STATES = 2_000_000;

const tooManyStates = (positions: number): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `counting these words takes more than ${MAX_STATES} states`,
    asked: `a filter over ${positions} positions`,
    advice: 'use fewer different charsets, a shorter mask or a smaller --max-occurrence',
  });
