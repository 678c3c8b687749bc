import type { Kernel } from '../kernel/index.js';
import { canonical, digestOf } from './encoding.js';

/**
 * What makes two runs the same job: the command, its parameters, the kernel and the space. Not where it runs, nor how
 * (devices, chunks, pipelines), nor which of its hits are asked for: what is done stays done whoever asks.
 */
export interface Identity {
  /** `run`, `block solve`. */
  readonly command: string;
  /** Everything that the answer depends on, beside the kernel: plain values, bigints and typed arrays. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Which kernel, in text: `programText`, or a name and number that change when answers could. */
  readonly kernel: string;
  readonly space: { readonly start: bigint; readonly length: bigint };
}

/** The digest by which a job is found again. */
export function keyOf({ command, params, kernel, space }: Identity): string {
  return digestOf(
    canonical({ command, params, kernel: digestOf(kernel), space: { start: space.start, length: space.length } }),
  );
}

/** A job's id: 12 characters of a digest of its key and its generation. `--fresh` begins the next generation. */
export const idOf = (key: string, generation: number): string => digestOf(`${key} ${generation}`).slice(0, ID_DIGITS);

const ID_DIGITS = 12;

/**
 * A kernel as text, before any pass: all that tracing left, without the places where it was written. Two kernels with
 * the same text do the same. Another version of a std function is another text.
 */
export function programText(kernel: Kernel): string {
  const numbers = new Map<object, number>();
  const text = (value: unknown): string => {
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value === 'function') return 'f';
    if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : String(value);
    if (Array.isArray(value)) return `[${value.map(text).join(' ')}]`;
    const known = numbers.get(value);
    if (known !== undefined) return `#${known}`;
    numbers.set(value, numbers.size);
    // Fresh traces have a statement for each node before its first use, so that this nests no deeper than blocks do.
    const fields = Object.entries(value).filter(([name, field]) => !PLACES.has(name) && field !== undefined);
    return `{${fields.map(([name, field]) => `${name}:${text(field)}`).join(' ')}}`;
  };
  return text(kernel.trace());
}

/** What says where something stands, not what it is. Nodes are numbered anew in the order they are met. */
const PLACES = new Set(['origin', 'id']);
