import type { FieldData, RunData } from '../messages.js';

/**
 * Compares a run with the interpreter's of the same indices. Returns the first difference, undefined if there is none.
 * Floats may differ by `tolerance`, relative to their size: WebGPU does not round exactly.
 */
export function firstDifference(run: RunData, wanted: RunData, tolerance: number): string | undefined {
  const isSame = (a: unknown, b: unknown): boolean => same(a, b, tolerance);
  for (const [i, hit] of wanted.hits.entries()) {
    const own = run.hits[i];
    if (own?.index !== hit.index) return `a hit at index ${hit.index} is missing`;
    for (const [name, value] of Object.entries(hit.fields))
      if (!isSame(listOf(own.fields[name]), listOf(value))) return `${name} of the hit at index ${hit.index} differs`;
  }
  const extra = run.hits[wanted.hits.length];
  if (extra) return `the hit at index ${extra.index} is not one`;
  for (const { name, length, head } of wanted.buffers) {
    const own = run.buffers.find((buffer) => buffer.name === name);
    if (own?.length !== length) return `buffer ${name} has another length`;
    const at = head.findIndex((value, i) => !isSame(own.head[i], value));
    if (at >= 0) return `${name}[${at}] is ${own.head[at]}, the interpreter has ${head[at]}`;
  }
  return undefined;
}

const listOf = (value: FieldData | undefined): readonly unknown[] => (typeof value === 'object' ? value : [value]);

function same(a: unknown, b: unknown, tolerance: number): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, i) => same(one, b[i], tolerance));
  if (typeof a !== 'number' || typeof b !== 'number') return a === b;
  if (Object.is(a, b) || a === b) return true;
  if (Number.isInteger(a) && Number.isInteger(b)) return false;
  return Math.abs(a - b) <= tolerance * Math.max(Math.abs(a), Math.abs(b));
}
