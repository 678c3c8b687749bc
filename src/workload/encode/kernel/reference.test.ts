import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { amplitudeGradient, fidelity, tensorProduct, traceDistance } from '../files/compare.js';
import { EncodeError } from '../job/errors.js';
import { encodingOf, encodings, estimateMemory, lengthOf } from './encoding.js';
import { referenceStates } from './reference.js';

/** Vectors were computed with 60 digits, errors are the specification's. */
const data = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../../../test/data/encode/${name}.json`, import.meta.url), 'utf8'));
const numberOf = (value: number | string): number => Number(value);

interface Vector {
  readonly name?: string;
  readonly num_qubits: number;
  readonly num_samples?: number;
  readonly sample_size?: number;
  readonly input: (number | string)[];
  readonly re: number[];
  readonly im: number[];
  readonly re_f32: number[];
  readonly im_f32: number[];
}

const worst = (states: Float64Array, re: number[], im: number[]): number =>
  Math.max(...re.map((value, i) => Math.max(Math.abs(states[2 * i]! - value), Math.abs(states[2 * i + 1]! - im[i]!))));

describe.each(encodings)('%s', (encoding) => {
  const { single, batch } = data(encoding.replace('-', '_')) as { single: Vector[]; batch: Vector[] };
  test.each([...single, ...batch])('vector $name, $num_qubits qubits', (vector) => {
    const samples = vector.num_samples ?? 1;
    const length = vector.input.length / samples;
    const shape = { encoding, qubits: vector.num_qubits, length };
    const input = vector.input.map(numberOf);
    const states = referenceStates(shape, samples, input);
    expect(vector.re.length).toBe(samples * 2 ** vector.num_qubits);
    expect(worst(states, vector.re, vector.im)).toBeLessThanOrEqual(encoding === 'iqp' ? 2e-15 : 1e-15);
    if (input.some((value) => value !== 0 && !(Math.abs(value) > 1e-30 && Math.abs(value) < 1e30))) return;
    const narrow = referenceStates(shape, samples, input, { precision: 'f32' });
    expect(worst(narrow, vector.re_f32, vector.im_f32)).toBeLessThanOrEqual(1e-6);
  });
});

describe('rejected inputs', () => {
  const { single, batch } = data('errors') as { single: Refused[]; batch: Refused[] };
  test.each([...single, ...batch])(
    '$encoding, $num_qubits qubits: $category $hint',
    ({ num_samples: samples = 1, ...bad }) => {
      const values = bad.input.map(numberOf);
      const run = () => {
        const encoding = encodingOf(bad.encoding);
        const shape = { encoding, qubits: bad.num_qubits, length: bad.sample_size ?? values.length };
        referenceStates(shape, bad.sample_size === undefined && values.length === 0 ? 1 : samples, values);
      };
      const error = thrownBy(run);
      const aliases: Record<string, string> = { empty: 'samples' };
      expect([bad.category, aliases[bad.category]]).toContain(error.fault);
      if (bad.bad_sample !== undefined) expect(error.sample).toBe(bad.bad_sample);
      if (bad.bad_index !== undefined) expect(error.position).toBe(bad.bad_index);
    },
  );

  test('have a message that names the problem', () => {
    const say = (encoding: string, qubits: number, input: number[]) =>
      thrownBy(() =>
        referenceStates({ encoding: encodingOf(encoding), qubits, length: input.length }, 1, input),
      ).message.toLowerCase();
    expect(say('amplitude', 0, [1])).toContain('at least 1');
    expect(say('amplitude', 31, [1])).toMatch(/31 qubits exceeds the limit of 30/);
    expect(say('amplitude', 1, [1, 1, 1])).toMatch(/3 values exceeds the 2 amplitudes/);
    expect(say('amplitude', 2, [0, 0])).toContain('zero');
    expect(say('amplitude', 2, [1, Number.NaN])).toContain('nan');
    expect(say('amplitude', 2, [1e200, 1e200])).toContain('inf');
    expect(say('amplitude', 2, [1e-160])).toContain('zero, or too small');
    expect(say('basis', 2, [4])).toContain('exceeds');
    expect(say('basis', 2, [-1])).toContain('non-negative');
    expect(say('basis', 2, [1.5])).toContain('integer');
    expect(say('basis', 2, [0, 1])).toContain('exactly 1');
    expect(say('iqp', 2, [0, 0])).toMatch(/iqp expects 3/);
    expect(say('iqp-z', 2, [0, 0, 0])).toMatch(/iqp-z expects 2/);
    expect(say('phase', 1, [2 ** 41])).toContain('too large');
    expect(say('nosuch', 2, [1])).toMatch(/unknown encoding.*amplitude, angle, basis, phase, iqp-z, iqp/s);
  });

  interface Refused {
    readonly encoding: string;
    readonly num_qubits: number;
    readonly num_samples?: number;
    readonly sample_size?: number;
    readonly input: (number | string)[];
    readonly category: string;
    readonly hint?: string;
    readonly bad_sample?: number;
    readonly bad_index?: number;
  }
});

test('the big-endian order of qubits reverses the bits of the index', () => {
  const big = (encoding: 'angle' | 'basis', values: number[]) =>
    referenceStates({ encoding, qubits: 3, length: values.length }, 1, values, { order: 'big' });
  expect(big('basis', [1])[2 * 4]).toBe(1);
  const other = referenceStates({ encoding: 'angle', qubits: 3, length: 3 }, 1, [0.3, 0.2, 0.1]);
  // The factors are multiplied in another order: the last bits may differ.
  big('angle', [0.1, 0.2, 0.3]).forEach((value, i) => {
    expect(value).toBeCloseTo(other[i]!, 15);
  });
});

test('lengths and memory match the published ones', () => {
  const sizes = data('sizes');
  for (const { encoding, num_qubits, len } of sizes.vector_len) expect(lengthOf(encoding, num_qubits)).toBe(len);
  for (const one of sizes.memory_estimate) {
    // Ours is f32 throughout where f32 is asked for; the published figures fall back to f64 for three encodings.
    const { effective_dtype: dtype, encoding, num_qubits, batch_size, prefetch_depth } = one;
    const { hostBytes, deviceBytes, totalBytes } = estimateMemory(
      encoding,
      num_qubits,
      batch_size,
      dtype,
      prefetch_depth,
    );
    expect([hostBytes, deviceBytes, totalBytes]).toEqual([one.cpu_prefetch_bytes, one.gpu_state_bytes, one.total]);
  }
  expect(thrownBy(() => estimateMemory('amplitude', 30, 2 ** 40, 'f64', 32)).fault).toBe('memory');
});

test('fidelity, trace distance, tensor product and gradient are right', () => {
  const [zero, one, plus] = [
    [1, 0, 0, 0],
    [0, 0, 1, 0],
    [Math.SQRT1_2, 0, Math.SQRT1_2, 0],
  ] as const;
  expect(fidelity(zero, one)).toBe(0);
  expect(fidelity(zero, plus)).toBeCloseTo(0.5, 15);
  expect(traceDistance(zero, one)).toBe(1);
  expect(thrownBy(() => fidelity(zero, [1, 0])).fault).toBe('size');
  expect(thrownBy(() => fidelity([1, 0, 0], [1, 0, 0])).fault).toBe('size');
  expect([...tensorProduct(one, zero)]).toEqual([0, 0, 1, 0, 0, 0, 0, 0]);
  // Against finite differences of the definition.
  const [x, g] = [
    [3, -1, 2, 0.5],
    [0.2, 0.7, -0.4, 1],
  ];
  const loss = (row: number[]) => g!.reduce((sum, slope, i) => sum + (slope * row[i]!) / Math.hypot(...row), 0);
  amplitudeGradient(x!, g!).forEach((slope, i) => {
    const moved = (step: number) => loss(x!.map((value, k) => (k === i ? value + step : value)));
    expect(slope).toBeCloseTo((moved(1e-5) - moved(-1e-5)) / 2e-5, 8);
  });
});

function thrownBy(run: () => void): EncodeError {
  try {
    run();
  } catch (error) {
    if (error instanceof EncodeError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}
