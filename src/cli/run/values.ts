import { MillraceError } from '../../kernel/error.js';
import type { Field, FieldValues, Integer } from '../../kernel/index.js';

/** `--param name=value` as given: texts by name. */
export type Params = ReadonlyMap<string, string>;

export type UntypedValue = number | bigint | boolean | string | readonly UntypedValue[];

/** Adds one `--param`. */
export function addParam(text: string, before: Params = new Map()): Params {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(0, at)).trim();
  if (name === '') {
    throw paramError(`${JSON.stringify(text)} is not a parameter`, `--param ${text}`, 'write --param name=value');
  }
  if (before.has(name)) throw paramError(`${name} is given twice`, `--param ${text}`, 'give each parameter once');
  return new Map([...before, [name, text.slice(at + 1).trim()]]);
}

/** Parses all values of `--param`. */
export const paramsOf = (texts: readonly string[] = []): Params =>
  texts.reduce<Params>((before, text) => addParam(text, before), new Map());

/** Interprets a text without a declared type: a number, a list, true or false, or the text itself. */
export function parseUntyped(text: string): UntypedValue {
  if (text.includes(',')) return text.split(',').map((part) => parseUntyped(part.trim()));
  if (/^(true|false)$/.test(text)) return text === 'true';
  const whole = parseWholeNumber(text);
  if (whole !== undefined) return Number.isSafeInteger(Number(whole)) ? Number(whole) : whole;
  return FLOAT.test(text) ? Number(text) : text;
}

/** Returns values for a kernel's job fields. */
export function jobValues(fields: readonly Field[], params: Params): FieldValues {
  const given = fields.filter(({ name }) => params.has(name));
  return Object.fromEntries(given.map((field) => [field.name, fieldValue(field, params.get(field.name) ?? '')]));
}

/** Formats a field's declaration: `target: u32 × 8`. */
export const fieldDeclaration = ({ name, type, array, length }: Field): string =>
  `${name}: ${type}${array ? ` × ${length}` : ''}`;

type Value = number | bigint | boolean;

function fieldValue(field: Field, text: string): Value | readonly Value[] {
  const { array, length } = field;
  if (!array) return scalar(field, text);
  const words = hexWords(field, text) ?? text.split(',').map((part) => part.trim());
  if (words.length !== length) throw valueError(field, text, `give ${length} values, separated by commas`);
  return words.map((word) => scalar(field, word));
}

/** Splits a hash in the usual notation: `0x` and all digits of all words, the first word first. */
function hexWords({ type, length }: Field, text: string): string[] | undefined {
  const digits = type === 'u32' ? 8 : type === 'u64' ? 16 : 0;
  const hex = /^0x([0-9a-f]+)$/i.exec(text)?.[1];
  if (hex === undefined || length === 1 || digits === 0 || hex.length !== digits * length) return undefined;
  return Array.from({ length }, (_, at) => `0x${hex.slice(at * digits, (at + 1) * digits)}`);
}

function scalar(field: Field, text: string): Value {
  switch (field.type) {
    case 'bool':
      if (!/^(true|false|0|1)$/.test(text)) throw valueError(field, text, 'give true or false');
      return text === 'true' || text === '1';
    case 'f16':
    case 'f32':
    case 'f64':
      if (!FLOAT.test(text)) throw valueError(field, text, 'give a number');
      return Number(text);
    default: {
      const whole = parseWholeNumber(text);
      const [low, high] = BOUNDS[field.type];
      if (whole === undefined || whole < low || whole > high) {
        throw valueError(field, text, `give a whole number from ${low} to ${high}`);
      }
      return field.type === 'u64' || field.type === 'i64' ? whole : Number(whole);
    }
  }
}

const BOUNDS: Readonly<Record<Integer, readonly [bigint, bigint]>> = {
  u32: [0n, 2n ** 32n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u64: [0n, 2n ** 64n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
};

const FLOAT = /^[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Parses `2^40`, `1e12`, `0xffff`, `1_000_000`; undefined if the text is not a whole number. */
export function parseWholeNumber(text: string): bigint | undefined {
  const plain = text.replaceAll('_', '');
  if (/^0x[0-9a-f]+$/i.test(plain)) return BigInt(plain);
  const [, sign = '', digits = '', part = '', exponent = '0'] =
    /^([+-]?)(\d+)(?:\.(\d+))?(?:e\+?(\d{1,3}))?$/i.exec(plain) ?? [];
  if (digits !== '') {
    const zeros = Number(exponent) - part.length;
    const value = zeros < 0 ? undefined : BigInt(digits + part) * 10n ** BigInt(zeros);
    return value === undefined || sign !== '-' ? value : -value;
  }
  const [, base, power] = /^(\d{1,40})\^(\d{1,3})$/.exec(plain) ?? [];
  return base === undefined || power === undefined ? undefined : BigInt(base) ** BigInt(power);
}

function valueError(field: Field, text: string, advice: string): MillraceError {
  return paramError(
    `${JSON.stringify(text)} is not a value for ${fieldDeclaration(field)}`,
    `--param ${field.name}=${text}`,
    advice,
  );
}

const paramError = (message: string, asked: string, advice: string): MillraceError =>
  new MillraceError({ code: 'usage', message, asked, advice });
