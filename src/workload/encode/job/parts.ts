import type { DeviceInfo } from '../../../device/device.js';
import { type Precision, realBytes, type StateShape } from '../kernel/encoding.js';
import { rowBytesOf, rowsFor, type Values } from './rows.js';
import { checkBatch } from './validate.js';

/** Values that are copied to the device from where they are. */
export interface PlannedCopy {
  readonly rows: ArrayBufferView;
  /** In bytes. */
  readonly offset: number;
}

/** Requests smaller than this are put together first: a copy of its own costs as much as 30 KB of them. */
const SMALL_BYTES = 2 ** 15;

/**
 * Requests of whole samples as one batch: each is checked, converted where it must be, and copied from where it lies.
 * Nothing is gathered but what is small.
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
  let since = 0;
  const add = (values: Values, from: number): void => {
    const rows = rowsFor(info, shape, precision, values, firstSample + from);
    copies.push({ rows, offset: from * perSample });
  };
  const flush = (): void => {
    if (small.length > 0) add(concatenate(small), since);
    small = [];
  };
  for (const values of parts) {
    const own = values.length / shape.length;
    checkBatch(shape, own, values.length);
    if (parts.length > 1 && values.length * realBytes(precision) < SMALL_BYTES) {
      if (small.length === 0) since = samples;
      small.push(values);
    } else {
      flush();
      add(values, samples);
    }
    samples += own;
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
