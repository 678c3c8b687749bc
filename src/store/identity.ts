import type { Kernel } from '../kernel/index.js';
import { canonicalText, digestOf } from './encoding.js';

/**
 * Identifies a job: two runs with the same command, parameters, kernel and space are the same job. Devices, chunks,
 * pipelines and the choice of hits to report are not part of it.
 */
export interface Identity {
  /** `run`, `block solve`. */
  readonly command: string;
  /** Everything the answer depends on except the kernel: plain values, bigints and typed arrays. */
  readonly params: Readonly<Record<string, unknown>>;
  /** The kernel as text: `programText`, or a name and version that change whenever answers could. */
  readonly kernel: string;
  readonly space: { readonly start: bigint; readonly length: bigint };
}

/** Returns the digest that identifies a job. */
export function jobKeyOf({ command, params, kernel, space }: Identity): string {
  return digestOf(
    canonicalText({ command, params, kernel: digestOf(kernel), space: { start: space.start, length: space.length } }),
  );
}

/** Returns a job's id: 12 characters of a digest of its key and its generation. `--fresh` starts the next generation. */
export const jobIdOf = (key: string, generation: number): string =>
  digestOf(`${key} ${generation}`).slice(0, ID_DIGITS);

const ID_DIGITS = 12;

/**
 * Returns a kernel's trace as text, before any pass and without source positions. Two kernels with the same text behave
 * the same. A changed std function changes the text.
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
    // A new trace has a statement for each node before its first use, so this nests no deeper than blocks do.
    const fields = Object.entries(value).filter(([name, field]) => !POSITION_FIELDS.has(name) && field !== undefined);
    return `{${fields.map(([name, field]) => `${name}:${text(field)}`).join(' ')}}`;
  };
  return text(kernel.trace());
}

/** Fields that say where a node is, not what it is. Nodes are renumbered in the order they are visited. */
const POSITION_FIELDS = new Set(['origin', 'id']);
