import type { DeviceInfo } from '../../../device/device.js';
import { type Precision, realBytes, type StateShape } from '../kernel/encoding.js';
import { rowBytesOf, rowsFor, type Values } from './rows.js';
import { checkBatch } from './validate.js';

/** A copy of rows to the input buffer. */
export interface PlannedCopy {
  readonly rows: ArrayBufferView;
  /** Offset in the buffer, in bytes. */
  readonly offset: number;
}

/** Smaller requests are concatenated first: a separate copy costs as much as copying 30 KB. */
const SMALL_BYTES = 2 ** 15;

/**
 * Plans the copies that make one batch of several requests. Each request is checked, converted if needed, and copied from
 * its own array; only small ones are concatenated.
 */
export function planCopies(
  info: DeviceInfo,
  shape: StateShape,
  precision: Precision,
  parts: readonly Values[],
  firstSample: number,
): { readonly copies: PlannedCopy[]; readonly samples: number } {
  const copies: PlannedCopy[] = [];
  const perSample = rowBytesOf(shape, precision);
  let samples = 0;
  let small: Values[] = [];
  let smallFrom = 0;
  const add = (values: Values, from: number): void => {
    const rows = rowsFor(info, shape, precision, values, firstSample + from);
    copies.push({ rows, offset: from * perSample });
  };
  const flush = (): void => {
    if (small.length > 0) add(concatenate(small), smallFrom);
    small = [];
  };
  for (const values of parts) {
    const count = values.length / shape.length;
    checkBatch(shape, count, values.length);
    if (parts.length > 1 && values.length * realBytes(precision) < SMALL_BYTES) {
      if (small.length === 0) smallFrom = samples;
      small.push(values);
    } else {
      flush();
      add(values, samples);
    }
    samples += count;
  }
  flush();
  return { copies, samples };
}

function concatenate(parts: readonly Values[]): Values {
  const [only, ...others] = parts;
  if (only && others.length === 0) return only;
  const all = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
