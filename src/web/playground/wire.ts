import type { FieldData, FieldRecord, RunData, TaskData } from './messages.js';

/**
 * Tasks and results as JSON, between the page and the server. JSON has neither bigints nor infinite numbers nor bytes: such
 * values are objects with one member.
 */
export type Wire = null | string | number | boolean | readonly Wire[] | { readonly [name: string]: Wire };

export function toWire(value: unknown): Wire {
  if (typeof value === 'bigint') return { $big: String(value) };
  if (typeof value === 'number')
    return Number.isFinite(value) && !Object.is(value, -0) ? value : { $number: String(value) };
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (ArrayBuffer.isView(value))
    return { $bytes: base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  if (Array.isArray(value)) return value.map(toWire);
  return Object.fromEntries(Object.entries(value as object).map(([name, one]) => [name, toWire(one)]));
}

/** Throws a TypeError if a value is not in the form that `toWire` gives it. */
export function fromWire(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(fromWire);
  const entries = Object.entries(value);
  const [[name, text] = ['', '']] = entries;
  if (entries.length === 1 && name.startsWith('$')) return special(name, String(text));
  return Object.fromEntries(entries.map(([key, one]) => [key, fromWire(one)]));
}

function special(name: string, text: string): unknown {
  if (name === '$big' && /^-?\d{1,40}$/.test(text)) return BigInt(text);
  if (name === '$number' && ['NaN', 'Infinity', '-Infinity', '0'].includes(text))
    return text === '0' ? -0 : Number(text);
  if (name === '$bytes') return fromBase64(text);
  throw new TypeError(`${name} is not a value`);
}

/** Returns a task from JSON. Only its form is checked here: `readTask` checks the content. */
export function taskFromWire(value: unknown): TaskData {
  const { kernel, job, chunk, buffers, start, length } = Object(fromWire(value)) as Record<string, unknown>;
  if (!(kernel instanceof Uint8Array) || typeof start !== 'bigint' || typeof length !== 'bigint')
    throw new TypeError('the request has no kernel, start and length');
  const given = Object.entries(Object(buffers));
  if (given.some(([, one]) => typeof one !== 'number' && !(one instanceof Uint8Array)))
    throw new TypeError('a buffer is neither bytes nor a number of elements');
  return {
    kernel,
    job: fieldsOf(job),
    chunk: fieldsOf(chunk),
    buffers: Object.fromEntries(given) as TaskData['buffers'],
    start,
    length,
  };
}

function fieldsOf(value: unknown): FieldRecord {
  const entries = Object.entries(Object(value));
  const isScalar = (one: unknown): boolean => ['number', 'bigint', 'boolean'].includes(typeof one);
  const isField = (one: unknown): one is FieldData => isScalar(one) || (Array.isArray(one) && one.every(isScalar));
  const bad = entries.find(([, one]) => !isField(one));
  if (bad) throw new TypeError(`${bad[0]} is not a number or a list of numbers`);
  return Object.fromEntries(entries) as FieldRecord;
}

export const runFromWire = (value: unknown): RunData => fromWire(value) as RunData;

/** In pieces, since a call has a limited number of arguments. */
function base64(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0));
  } catch (cause) {
    throw new TypeError('bytes are not in base64', { cause });
  }
}
