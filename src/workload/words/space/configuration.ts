import { Status, WordsError } from '../generator/status.js';
import { Plan } from '../kernel/plan.js';
import { toByteString } from './charset.js';
import { type Layout, layouts, separatorOf } from './layout.js';
import { MAX_WORD_BYTES, type Mask } from './mask.js';
import { type Words, wordsOf } from './words.js';

/** The configuration of a generator: charsets by number, a mask of charset numbers, a layout. */
export class Configuration {
  readonly #charsets = new Map<number, readonly string[]>();
  #mask: readonly number[] | undefined;
  #layout: Layout = 'newline';
  #configured: ConfiguredWords | undefined;

  /** Replaces a charset. A repeated character counts once. */
  setCharset(id: number, characters: Uint8Array | string): void {
    checkId(id);
    const text = typeof characters === 'string' ? characters : toByteString(characters);
    if (text.length === 0 || /[^\0-\xff]/.test(text)) {
      const message = text.length === 0 ? 'the charset is empty' : 'the charset has characters above 0xff';
      throw new WordsError(Status.badParameter, message, `charset ${id}`, 'give 1 to 256 different bytes');
    }
    this.#charsets.set(id, [...new Set(text)]);
    this.#configured = undefined;
  }

  /** Sets the mask: a charset number for each position; all must be defined. */
  setMask(ids: ArrayLike<number>): void {
    const mask = Array.from(ids);
    if (mask.length < 1 || mask.length > MAX_WORD_BYTES) {
      const asked = `mask of ${mask.length} positions`;
      throw new WordsError(
        Status.badParameter,
        `a mask has 1 to ${MAX_WORD_BYTES} positions`,
        asked,
        'shorten the mask, or give at least one position',
      );
    }
    for (const id of mask) {
      checkId(id);
      if (this.#charsets.has(id)) continue;
      const asked = `a mask with charset ${id}`;
      throw new WordsError(Status.badParameter, `charset ${id} is not defined`, asked, 'set it before the mask');
    }
    this.#mask = mask;
    this.#configured = undefined;
  }

  setLayout(layout: Layout): void {
    if (!Object.hasOwn(layouts, layout)) {
      const known = Object.keys(layouts).join(', ');
      throw new WordsError(Status.badParameter, `unknown layout ${layout}`, `layout ${layout}`, `use ${known}`);
    }
    this.#layout = layout;
    this.#configured = undefined;
  }

  get layout(): Layout {
    return this.#layout;
  }

  /** Undefined while there is no mask. */
  get words(): Words | undefined {
    return this.#mask && this.build('words').words;
  }

  /** Returns the words and tables of the settings; the same object until one changes. Throws −5 without a mask. */
  build(asked: string): ConfiguredWords {
    if (this.#mask === undefined) {
      throw new WordsError(Status.notConfigured, 'no mask is set', asked, 'set charsets and a mask first');
    }
    if (this.#configured === undefined) {
      const mask: Mask = this.#mask.map((id) => this.#charsets.get(id) ?? []);
      this.#configured = { words: wordsOf(mask), plan: new Plan(mask, 'canonical', separatorOf(this.#layout)) };
    }
    return this.#configured;
  }
}

export interface ConfiguredWords {
  readonly words: Words;
  readonly plan: Plan;
}

/** Checks a range of words. Throws −2 and −7. */
export function checkRange(words: Words, start: bigint, count: number): void {
  const asked = `${count} words from ${start} on`;
  if (typeof start !== 'bigint' || !Number.isSafeInteger(count) || count < 0) {
    throw new WordsError(
      Status.badParameter,
      'the start must be a bigint, the count a whole number',
      asked,
      'give them as 0n and 100',
    );
  }
  if (start >= 0n && start + BigInt(count) <= words.size) return;
  const message = `the keyspace has ${words.size} words`;
  throw new WordsError(Status.outOfRange, message, asked, 'give a range inside the keyspace; indices do not wrap');
}

function checkId(id: number): void {
  if (Number.isInteger(id) && id >= 1 && id <= 255) return;
  throw new WordsError(Status.badParameter, `invalid charset number ${id}`, `charset ${id}`, 'give 1 to 255');
}
