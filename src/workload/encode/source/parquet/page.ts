import type { Unpack } from '../decompress.js';
import type { PageHeader } from './header.js';
import { Runs } from './runs.js';
import { type PageValues, type Reals, valuesIn } from './values.js';

/** How deep the values of a column lie: the largest levels, and the definition from which on a list has something. */
export interface Depth {
  readonly repetition: 0 | 1;
  readonly definition: number;
  readonly listed: number;
}

/** A page of a column: which of its entries begin a row, which are there, and their values. */
export interface Page {
  readonly entries: number;
  /** From their beginning each time. None where there are no lists, and where nothing can be null. */
  repetition(): Runs | undefined;
  definition(): Runs | undefined;
  readonly values: PageValues;
}

/** Both versions: in the first the levels are compressed with the values and say their lengths themselves. */
export async function pageIn(
  header: PageHeader,
  bytes: Uint8Array,
  depth: Depth,
  unpack: Unpack,
  dictionary: Reals | undefined,
): Promise<Page> {
  const { entries, encoding } = header;
  const parts = await (header.kind === 'data'
    ? partsOf1(header, bytes, depth, unpack)
    : partsOf2(header, bytes, unpack));
  const bits = bitsFor(depth.definition);
  return {
    entries,
    repetition: () => (depth.repetition === 0 ? undefined : new Runs(parts.repetition, 1)),
    definition: () => (bits === 0 ? undefined : new Runs(parts.definition, bits)),
    values: valuesIn(parts.values, encoding, dictionary),
  };
}

interface Parts {
  readonly repetition: Uint8Array;
  readonly definition: Uint8Array;
  readonly values: Uint8Array;
}

const NOTHING = new Uint8Array(0);
/** Levels as runs. The older way, bits without runs, has been written by nobody for ten years. */
const RUNS = 3;

async function partsOf1(header: PageHeader, bytes: Uint8Array, depth: Depth, unpack: Unpack): Promise<Parts> {
  const all = await unpack(bytes, header.unpacked);
  let at = 0;
  const levels = (isThere: boolean, encoding: number | undefined): Uint8Array => {
    if (!isThere) return NOTHING;
    if (encoding !== RUNS) throw new Error('levels are written in a way that is no longer in use');
    const [a, b, c, d] = all.subarray(at, at + 4);
    if (d === undefined) throw cutShort();
    const from = at + 4;
    at = from + ((a as number) | ((b as number) << 8) | ((c as number) << 16)) + d * 2 ** 24;
    if (at > all.length) throw cutShort();
    return all.subarray(from, at);
  };
  const [ofDefinition, ofRepetition] = header.levels;
  const repetition = levels(depth.repetition > 0, ofRepetition);
  const definition = levels(depth.definition > 0, ofDefinition);
  return { repetition, definition, values: all.subarray(at) };
}

async function partsOf2(header: PageHeader, bytes: Uint8Array, unpack: Unpack): Promise<Parts> {
  const { repetitionBytes, definitionBytes, unpacked, isCompressed } = header;
  const from = repetitionBytes + definitionBytes;
  if (from > bytes.length || from > unpacked) throw cutShort();
  const rest = bytes.subarray(from);
  return {
    repetition: bytes.subarray(0, repetitionBytes),
    definition: bytes.subarray(repetitionBytes, from),
    // Where no value is there, there may be nothing to decompress either.
    values: isCompressed && rest.length > 0 ? await unpack(rest, unpacked - from) : rest,
  };
}

const bitsFor = (most: number): number => 32 - Math.clz32(most);

const cutShort = (): Error => new Error('a page ends within its levels');
