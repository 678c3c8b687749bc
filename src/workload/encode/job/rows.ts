import type { DeviceInfo } from '../../../device/device.js';
import { type Precision, realBytes, type StateShape } from '../kernel/encoding.js';
import { EncodeError } from './errors.js';
import { checkValues, MAX_ANGLE, type Reals } from './validate.js';

/** Samples one after the other, as they come. */
export type Values = readonly number[] | Float64Array | Float32Array;

/**
 * Values as the kernels read them: checked, and converted only where they are of another type. `first` is the number of
 * the first sample, for messages.
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
  const rows = precision === 'f64' ? asDoubles(values) : asFloats(values);
  // WGSL promises nothing of NaN and infinities: elsewhere the norm tells of them.
  if (shape.encoding === 'amplitude' && !info.capabilities.includes('exact-floats')) checkFinite(shape, rows, first);
  return rows;
}

/** One sample, with everything that can be said of its values. */
export function checkRow(info: DeviceInfo, shape: StateShape, row: Reals, sample: number): void {
  checkValues(shape, row, sample, maxAngleOf(info));
  if (shape.encoding === 'amplitude') checkFinite(shape, row, sample);
}

/** The largest angle that the device's sines are right for. */
export const maxAngleOf = ({ capabilities }: DeviceInfo): number =>
  capabilities.includes('f64') ? MAX_ANGLE : MAX_FLOAT_ANGLE;

/** Where the sine of a float ends to be one. */
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
