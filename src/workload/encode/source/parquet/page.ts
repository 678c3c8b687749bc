import type { Decompressor } from '../decompress.js';
import type { PageHeader } from './header.js';
import { RunReader } from './run-reader.js';
import { type FloatArray, type PageValues, valuesIn } from './values.js';

/** The nesting of a column: its largest levels, and the lowest definition level of a list that is not empty. */
export interface ColumnDepth {
  readonly repetition: 0 | 1;
  readonly definition: number;
  readonly listDefinition: number;
}

/** A page of a column: levels, which say which entries begin a row and which are present, and values. */
export interface Page {
  readonly entries: number;
  /** A new reader at each call. Undefined if the column has no lists, or no nulls. */
  repetitionLevels(): RunReader | undefined;
  definitionLevels(): RunReader | undefined;
  readonly values: PageValues;
}

/** Parses a page. In version 1 the levels are compressed with the values and preceded by their lengths. */
export async function pageIn(
  header: PageHeader,
  bytes: Uint8Array,
  depth: ColumnDepth,
  decompress: Decompressor,
  dictionary: FloatArray | undefined,
): Promise<Page> {
  const { entries, encoding } = header;
  const parts = await (header.kind === 'data'
    ? splitPageV1(header, bytes, depth, decompress)
    : splitPageV2(header, bytes, decompress));
  const bits = bitsFor(depth.definition);
  return {
    entries,
    repetitionLevels: () => (depth.repetition === 0 ? undefined : new RunReader(parts.repetition, 1)),
    definitionLevels: () => (bits === 0 ? undefined : new RunReader(parts.definition, bits)),
    values: valuesIn(parts.values, encoding, dictionary),
  };
}

interface PageParts {
  readonly repetition: Uint8Array;
  readonly definition: Uint8Array;
  readonly values: Uint8Array;
}

const EMPTY = new Uint8Array(0);
/** Levels as runs. The older encoding, bits without runs, has not been written for ten years. */
const RUNS = 3;

async function splitPageV1(
  header: PageHeader,
  bytes: Uint8Array,
  depth: ColumnDepth,
  decompress: Decompressor,
): Promise<PageParts> {
  const all = await decompress(bytes, header.decompressedBytes);
  let at = 0;
  const levels = (isPresent: boolean, encoding: number | undefined): Uint8Array => {
    if (!isPresent) return EMPTY;
    if (encoding !== RUNS) throw new Error('levels have an obsolete encoding');
    const [a, b, c, d] = all.subarray(at, at + 4);
    if (d === undefined) throw truncatedError();
    const from = at + 4;
    at = from + ((a as number) | ((b as number) << 8) | ((c as number) << 16)) + d * 2 ** 24;
    if (at > all.length) throw truncatedError();
    return all.subarray(from, at);
  };
  const [ofDefinition, ofRepetition] = header.levels;
  const repetition = levels(depth.repetition > 0, ofRepetition);
  const definition = levels(depth.definition > 0, ofDefinition);
  return { repetition, definition, values: all.subarray(at) };
}

async function splitPageV2(header: PageHeader, bytes: Uint8Array, decompress: Decompressor): Promise<PageParts> {
  const { repetitionBytes, definitionBytes, decompressedBytes, isCompressed } = header;
  const from = repetitionBytes + definitionBytes;
  if (from > bytes.length || from > decompressedBytes) throw truncatedError();
  const rest = bytes.subarray(from);
  return {
    repetition: bytes.subarray(0, repetitionBytes),
    definition: bytes.subarray(repetitionBytes, from),
    // A page without values may have nothing to decompress.
    values: isCompressed && rest.length > 0 ? await decompress(rest, decompressedBytes - from) : rest,
  };
}

const bitsFor = (max: number): number => 32 - Math.clz32(max);

const truncatedError = (): Error => new Error('a page ends within its levels');
