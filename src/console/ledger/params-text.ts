import { jsonLine } from '../output/output.js';

/**
 * Formats the values that define a job for people: `bits=24 target=00ff…`. Text of functions and digests of data, which also
 * identify a job, are left out: they are long, and say nothing.
 */
export function paramsText(params: Readonly<Record<string, unknown>>, maxLength = MAX_TEXT): string {
  return Object.entries(shownParams(params))
    .map(([name, value]) => `${name}=${shortText(value, maxLength)}`)
    .join(' ');
}

/** The values of a job that a person has given. A kernel's own values are in `job`. */
export function shownParams(params: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { job, buffers: _, chunk: __, check: ___, ...rest } = params;
  const own = typeof job === 'object' && job !== null && !Array.isArray(job) ? job : job === undefined ? {} : { job };
  return Object.fromEntries(
    Object.entries({ ...own, ...rest }).filter(([, value]) => value !== undefined && !isBytes(value)),
  );
}

/** Binary data, or its digest in the ledger. */
const isBytes = (value: unknown): boolean =>
  ArrayBuffer.isView(value) || (typeof value === 'object' && value !== null && '$bytes' in value);

function shortText(value: unknown, max: number): string {
  const isNumbers = Array.isArray(value) && value.every((one) => typeof one === 'number' || typeof one === 'bigint');
  const isObject = typeof value === 'object' && value !== null;
  const text = isNumbers ? value.join(',') : isObject ? jsonLine(value) : String(value);
  return text.length <= max ? text : `${text.slice(0, max)}…`;
}

/** Characters of a value in a list. */
const MAX_TEXT = 60;
