import { checkBatch, checkNorm, checkValues, type Reals } from '../job/validate.js';
import { lengthOf, type Precision, type QubitOrder, type StateShape } from './encoding.js';

export interface ReferenceOptions {
  /** Precision of the result: f32 rounds input and amplitudes once each. Default f64. */
  readonly precision?: Precision;
  readonly order?: QubitOrder;
}

/** Computes states directly by their definitions, in doubles: real and imaginary part of each amplitude. */
export function referenceStates(
  shape: StateShape,
  samples: number,
  values: Reals,
  { precision = 'f64', order = 'little' }: ReferenceOptions = {},
): Float64Array {
  checkBatch(shape, samples, values.length);
  const input = new Float64Array(precision === 'f32' ? new Float32Array(values) : values);
  checkValues(shape, input);
  const size = 2 ** shape.qubits * 2;
  const states = new Float64Array(samples * size);
  for (let sample = 0; sample < samples; sample++) {
    const row = input.subarray(sample * shape.length, (sample + 1) * shape.length);
    const state = stateOf(shape, row, sample);
    states.set(order === 'little' ? state : reversedQubits(state, shape.qubits), sample * size);
  }
  return precision === 'f32' ? states.map(Math.fround) : states;
}

function stateOf(shape: StateShape, row: Float64Array, sample: number): Float64Array {
  switch (shape.encoding) {
    case 'amplitude':
      return amplitude(shape, row, sample);
    case 'angle':
      return product(shape.qubits, (k, bit) => [bit ? Math.sin(at(row, k)) : Math.cos(at(row, k)), 0]);
    case 'basis': {
      const state = new Float64Array(2 ** shape.qubits * 2);
      state[2 * at(row, 0)] = 1;
      return state;
    }
    case 'phase': {
      const state = product(shape.qubits, (k, bit) => (bit ? unitComplex(at(row, k)) : [1, 0]));
      const scale = 2 ** -Math.floor(shape.qubits / 2) * (shape.qubits % 2 === 1 ? Math.SQRT1_2 : 1);
      return state.map((part) => part * scale);
    }
    case 'iqp-z':
      return product(shape.qubits, (k, bit) => {
        const [re, im] = unitComplex(at(row, k));
        return bit ? [(1 - re) / 2, -im / 2] : [(1 + re) / 2, im / 2];
      });
    case 'iqp':
      return iqp(shape.qubits, row);
  }
}

function amplitude(shape: StateShape, row: Float64Array, sample: number): Float64Array {
  const squares = compensatedSquares(row);
  checkNorm(shape, squares, sample);
  const norm = Math.sqrt(squares);
  const state = new Float64Array(2 ** shape.qubits * 2);
  row.forEach((value, i) => {
    state[2 * i] = value / norm;
  });
  return state;
}

/** Neumaier's sum: the rounding errors of the additions are added at the end. */
function compensatedSquares(row: Float64Array): number {
  let sum = 0;
  let lost = 0;
  for (const value of row) {
    const term = value * value;
    const next = sum + term;
    lost += sum >= term ? sum - next + term : term - next + sum;
    sum = next;
  }
  return Number.isFinite(sum) ? sum + lost : sum;
}

type Complex = readonly [re: number, im: number];

const unitComplex = (angle: number): Complex => [Math.cos(angle), Math.sin(angle)];
const multiply = ([a, b]: Complex, [c, d]: Complex): Complex => [a * c - b * d, a * d + b * c];
const at = (row: Float64Array, k: number): number => row[k] ?? Number.NaN;

/** Returns the state whose amplitudes are products of one factor per qubit. */
function product(qubits: number, factor: (k: number, bit: number) => Complex): Float64Array {
  const factors = Array.from({ length: qubits }, (_, k) => [factor(k, 0), factor(k, 1)] as const);
  const state = new Float64Array(2 ** qubits * 2);
  for (let index = 0; index < 2 ** qubits; index++) {
    let value: Complex = [1, 0];
    factors.forEach((pair, k) => {
      value = multiply(value, (index >>> k) & 1 ? pair[1] : pair[0]);
    });
    state[2 * index] = value[0];
    state[2 * index + 1] = value[1];
  }
  return state;
}

/** exp(iθ) of every bit string, as a product over its bits and pairs of bits, then the transform bit by bit. */
function iqp(qubits: number, row: Float64Array): Float64Array {
  const turns = Array.from({ length: lengthOf('iqp', qubits) }, (_, k) => unitComplex(at(row, k)));
  const state = new Float64Array(2 ** qubits * 2);
  for (let x = 0; x < 2 ** qubits; x++) {
    let value: Complex = [1, 0];
    let pair = qubits;
    for (let i = 0; i < qubits; i++) {
      if ((x >>> i) & 1) value = multiply(value, turns[i] as Complex);
      for (let j = i + 1; j < qubits; j++, pair++) {
        if ((x >>> i) & (x >>> j) & 1) value = multiply(value, turns[pair] as Complex);
      }
    }
    state[2 * x] = value[0];
    state[2 * x + 1] = value[1];
  }
  for (let bit = 0; bit < qubits; bit++) {
    for (let x = 0; x < 2 ** qubits; x++) {
      if ((x >>> bit) & 1) continue;
      for (const part of [0, 1]) {
        const [low, high] = [2 * x + part, 2 * (x | (1 << bit)) + part];
        const [a, b] = [at(state, low), at(state, high)];
        state[low] = (a + b) / 2;
        state[high] = (a - b) / 2;
      }
    }
  }
  return state;
}

/** Reverses the bits of all indices. */
function reversedQubits(state: Float64Array, qubits: number): Float64Array {
  const out = new Float64Array(state.length);
  for (let index = 0; index < 2 ** qubits; index++) {
    let other = 0;
    for (let k = 0; k < qubits; k++) other |= ((index >>> k) & 1) << (qubits - 1 - k);
    out[2 * other] = at(state, 2 * index);
    out[2 * other + 1] = at(state, 2 * index + 1);
  }
  return out;
}
