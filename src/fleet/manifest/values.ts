import { MillraceError } from '../../kernel/error.js';
import { decode, encode } from '../../store/encoding.js';

/** Values that travel: what JSON has, plus bigints and all floats. */
export type PlainValue = null | boolean | number | bigint | string | readonly PlainValue[] | PlainRecord;
export interface PlainRecord {
  readonly [name: string]: PlainValue;
}

/** Values inside each other. */
const MAX_DEPTH = 20;
/** Names are those of fields and options. `$` is the encoding's own, and `__proto__` is not an ordinary name in JavaScript. */
const NAME = /^(?!__proto__$)[A-Za-z_][\w.-]{0,63}$/;

/** Encodes values as JSON with sorted names: equal values have equal text. Throws `usage` for values that cannot travel. */
export function encodeValues(values: PlainRecord): string {
  return encode(sorted(values, '', 0));
}

/** Decodes text that may come from anywhere. `refuse` makes the error. */
export function decodeValues(text: string, refuse: (message: string, cause?: unknown) => Error): PlainValue {
  // Before anything recurses: brackets are a bound on the depth, and no value needs many.
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    // A bigint or a float that JSON lacks is an object of its own. Brackets in strings only make the bound stricter.
    if (depth > MAX_DEPTH + 1) throw refuse(`its values are nested more than ${MAX_DEPTH} deep`);
  }
  let value: unknown;
  try {
    value = decode(text);
  } catch (cause) {
    throw refuse('it is not JSON', cause);
  }
  return sorted(value, '', 0);
}

/** Converts values to plain ones with sorted names. Typed arrays become lists. */
export const plainValue = (value: unknown): PlainValue => sorted(value, '', 0);

function sorted(value: unknown, path: string, depth: number): PlainValue {
  if (value === null || ['boolean', 'number', 'bigint', 'string'].includes(typeof value)) return value as PlainValue;
  if (typeof value !== 'object' || depth > MAX_DEPTH) throw cannotTravel(path, typeof value);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    return Array.from(value as unknown as ArrayLike<number>);
  if (Array.isArray(value)) return value.map((entry, at) => sorted(entry, `${path}[${at}]`, depth + 1));
  const entries = Object.entries(value).filter(([, field]) => field !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    entries.map(([name, field]) => {
      if (!NAME.test(name)) throw cannotTravel(`${path}.${name.slice(0, 80)}`, 'field of that name');
      return [name, sorted(field, `${path}.${name}`, depth + 1)];
    }),
  );
}

const cannotTravel = (path: string, kind: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `the value ${path.replace(/^\./, '') || 'of the job'} cannot travel to another machine: it is a ${kind}`,
    asked: 'to run a job on a fleet',
    advice: 'pass numbers, bigints, booleans, text, and lists and objects of them',
  });
