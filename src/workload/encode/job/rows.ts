import type { DeviceInfo } from '../../../device/device.js';
import { type Precision, realBytes, type StateShape } from '../kernel/encoding.js';
import { EncodeError } from './errors.js';
import { checkValues, MAX_ANGLE, type Reals } from './validate.js';

/** Consecutive samples, as the caller gives them. */
export type Values = readonly number[] | Float64Array | Float32Array;

/**
 * Checks values, except of amplitude, and returns them in the type that the kernels read, converted only if needed. `first`
 * is the number of the first sample, for messages.
 */
export function rowsFor(
  info: DeviceInfo,
  shape: StateShape,
  precision: Precision,
  values: Values,
  first = 0,
): Float64Array | Float32Array | Uint32Array {
  checkValues(shape, values, first, maxAngleOf(info));
  if (shape.encoding === 'basis') return Uint32Array.from(values);
  return precision === 'f64' ? asDoubles(values) : asFloats(values);
}

/** The same; values that the kernels' norm would not show are checked here. */
export function checkedRowsFor(
  info: DeviceInfo,
  shape: StateShape,
  precision: Precision,
  values: Values,
  first: number,
): ArrayBufferView {
  const rows = rowsFor(info, shape, precision, values, first);
  if (shape.encoding === 'amplitude' && !normShowsAll(info)) checkFinite(shape, rows, first);
  return rows;
}

/** True if a NaN or an infinity shows in the norm: WGSL does not specify them. */
export const normShowsAll = ({ capabilities }: DeviceInfo): boolean => capabilities.includes('exact-floats');

/** Checks all values of one sample. */
export function checkRow(info: DeviceInfo, shape: StateShape, row: Reals, sample: number): void {
  checkValues(shape, row, sample, maxAngleOf(info));
  if (shape.encoding === 'amplitude') checkFinite(shape, row, sample);
}

/** Returns the largest angle for which the device's sine is accurate. */
export const maxAngleOf = ({ capabilities }: DeviceInfo): number =>
  capabilities.includes('f64') ? MAX_ANGLE : MAX_FLOAT_ANGLE;

/** The largest angle for which a sine in f32 is accurate. */
const MAX_FLOAT_ANGLE = 2 ** 17;

/** Bytes of a sample as the kernels read it. */
export const rowBytesOf = ({ encoding, length }: StateShape, precision: Precision): number =>
  encoding === 'basis' ? 4 : length * realBytes(precision);

const asDoubles = (values: Values): Float64Array =>
  values instanceof Float64Array ? values : new Float64Array(values);
const asFloats = (values: Values): Float32Array => (values instanceof Float32Array ? values : new Float32Array(values));

function checkFinite({ length, qubits }: StateShape, rows: Reals, first: number): void {
  for (let at = 0; at < rows.length; at++) {
    if (Number.isFinite(rows[at])) continue;
    const sample = first + Math.floor(at / length);
    throw new EncodeError('finite', {
      message: `value ${at % length} of sample ${sample} is ${rows[at]}`,
      asked: `amplitude of ${qubits} qubits`,
      advice: 'values must be finite',
      sample,
      position: at % length,
    });
  }
}
