import { type Encoding, lengthOf, MAX_QUBITS, type Precision, type StateShape } from '../kernel/encoding.js';
import { EncodeError } from './errors.js';

/** Consecutive numbers. */
export type Reals = ArrayLike<number>;

/** Throws unless the number of qubits is 1 to 30. */
export function checkQubits(qubits: number): void {
  const asked = `${qubits} qubits`;
  if (!Number.isInteger(qubits) || qubits < 1) {
    throw new EncodeError('qubits', {
      message: `invalid number of qubits ${qubits}: at least 1 is needed`,
      asked,
      advice: `give a whole number from 1 to ${MAX_QUBITS}`,
    });
  }
  if (qubits > MAX_QUBITS) {
    throw new EncodeError('qubits', {
      message: `${qubits} qubits exceeds the limit of ${MAX_QUBITS}`,
      asked,
      advice: `a state of ${MAX_QUBITS} qubits takes 16 GiB in f64; give fewer`,
    });
  }
}

/** Checks the values per sample: the encoding's number, or for amplitude 1 to 2^qubits. */
export function checkLength({ encoding, qubits, length }: StateShape): void {
  checkQubits(qubits);
  const asked = `${encoding} of ${qubits} qubits from ${length} values a sample`;
  if (length === 0) {
    const fault = encoding === 'amplitude' || encoding === 'basis' ? 'empty' : 'size';
    throw new EncodeError(fault, { message: 'the input is empty', asked, advice: lengthAdvice(encoding, qubits) });
  }
  const maxLength = lengthOf(encoding, qubits);
  if (encoding === 'amplitude' && length > maxLength) {
    throw new EncodeError('size', {
      message: `${length} values exceeds the ${maxLength} amplitudes of ${qubits} qubits`,
      asked,
      advice: 'use more qubits or fewer values',
    });
  }
  if (encoding !== 'amplitude' && length !== maxLength) {
    const message = `${encoding} expects ${maxLength} values a sample (${valueMeanings[encoding]}), not ${length}`;
    throw new EncodeError('size', { message, asked, advice: lengthAdvice(encoding, qubits) });
  }
}

/** Checks the size of a batch of consecutive samples. */
export function checkBatch(shape: StateShape, samples: number, values: number): void {
  checkQubits(shape.qubits);
  const asked = `${samples} samples of ${shape.length} values each from ${values} values`;
  if (!(samples > 0)) {
    throw new EncodeError('samples', { message: 'there are no samples', asked, advice: 'give at least one' });
  }
  if (shape.length < 1) {
    throw new EncodeError('samples', { message: 'a sample has no values', asked, advice: 'give at least one' });
  }
  if (!Number.isInteger(samples) || samples * shape.length !== values || !Number.isSafeInteger(values)) {
    throw new EncodeError('size', {
      message: `${samples} samples of ${shape.length} values are ${samples * shape.length} values, not ${values}`,
      asked,
      advice: 'give whole samples',
    });
  }
  checkLength(shape);
}

/** Checks every value, except of amplitude: other samples are short, so this costs little compared with encoding. */
export function checkValues(
  { encoding, qubits, length }: StateShape,
  values: Reals,
  first = 0,
  maxAngle = MAX_ANGLE,
): void {
  if (encoding === 'amplitude') return;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number;
    const fault = encoding === 'basis' ? basisFault(value, qubits) : phaseFault(value, maxAngle);
    if (fault === undefined) continue;
    const sample = first + Math.floor(at / length);
    const position = at % length;
    throw new EncodeError(fault.fault, {
      message: `value ${position} of sample ${sample}, ${value}, ${fault.why}`,
      asked: `${encoding} of ${qubits} qubits`,
      advice: fault.advice,
      sample,
      position,
    });
  }
}

/** Checks a sample's sum of squares. Below `minSquares`, its rounding error would show in the state. */
export function checkNorm(shape: StateShape, squares: number, sample: number, accumulated: Precision = 'f64'): void {
  if (squares >= minSquares(shape, accumulated) && squares < Number.POSITIVE_INFINITY) return;
  const asked = `amplitude of ${shape.qubits} qubits`;
  const name = `sample ${sample}`;
  const range = accumulated === 'f64' ? 'a double' : 'a float (this device has no doubles)';
  if (Number.isNaN(squares)) {
    const message = `${name} has a NaN`;
    throw new EncodeError('finite', { message, asked, advice: 'values must be finite', sample });
  }
  if (squares === Number.POSITIVE_INFINITY) {
    throw new EncodeError('finite', {
      message: `the norm of ${name} is Infinity: a value is Inf, or its square exceeds ${range}`,
      asked,
      advice: 'values must be finite; scale large ones down',
      sample,
    });
  }
  throw new EncodeError('norm', {
    message: `the norm of ${name} is zero${squares > 0 ? `, or too small: its square is ${squares}` : ''}`,
    asked,
    advice: `give a sample with a value whose square is not 0 in ${range}`,
    sample,
  });
}

/** Each square that underflows loses up to half of the smallest denormal. The sum of these losses must not show. */
function minSquares({ length }: StateShape, accumulated: Precision): number {
  return length * (accumulated === 'f64' ? 2 ** -1022 : 2 ** -126);
}

interface ValueFault {
  readonly fault: 'finite' | 'negative' | 'integer' | 'range';
  readonly why: string;
  readonly advice: string;
}

function basisFault(value: number, qubits: number): ValueFault | undefined {
  const advice = `a basis state is a whole number from 0 to ${2 ** qubits - 1}`;
  if (!Number.isFinite(value)) return { fault: 'finite', why: 'is not finite', advice };
  if (value < 0) return { fault: 'negative', why: 'is negative: indices are non-negative', advice };
  if (!Number.isInteger(value)) return { fault: 'integer', why: 'is not an integer', advice };
  if (value >= 2 ** qubits) return { fault: 'range', why: `exceeds the last state, ${2 ** qubits - 1}`, advice };
  return undefined;
}

/** Adjacent doubles are 2^-12 apart here: the remainder of a larger angle has no meaning. */
export const MAX_ANGLE = 2 ** 40;

function phaseFault(value: number, max: number): ValueFault | undefined {
  if (!Number.isFinite(value)) return { fault: 'finite', why: 'is not finite', advice: 'angles must be finite' };
  if (Math.abs(value) <= max) return undefined;
  return {
    fault: 'range',
    why: 'is too large to be an angle',
    advice: `reduce it modulo 2π; the limit is ${max}`,
  };
}

const valueMeanings: Readonly<Record<Encoding, string>> = {
  amplitude: 'amplitudes',
  angle: 'one per qubit',
  basis: 'exactly 1, the index',
  phase: 'one per qubit',
  'iqp-z': 'one per qubit',
  iqp: 'one per qubit, then one per pair',
};

function lengthAdvice(encoding: Encoding, qubits: number): string {
  const maxLength = lengthOf(encoding, qubits);
  return encoding === 'amplitude' ? `give 1 to ${maxLength} values` : `give ${maxLength}: ${valueMeanings[encoding]}`;
}
