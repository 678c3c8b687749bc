import { EncodeError } from '../job/errors.js';
import type { Reals } from '../job/validate.js';

/** Returns |⟨ψ|φ⟩|² of two states, from 0 to 1. Amplitudes are pairs of real and imaginary part. */
export function fidelity(a: Reals, b: Reals): number {
  checkPair(a, b);
  let re = 0;
  let im = 0;
  for (let i = 0; i < a.length; i += 2) {
    const [ar, ai, br, bi] = [a[i], a[i + 1], b[i], b[i + 1]] as [number, number, number, number];
    re += ar * br + ai * bi;
    im += ar * bi - ai * br;
  }
  return Math.min(1, Math.max(0, re * re + im * im));
}

/** Returns the trace distance of two pure states, √(1 − fidelity). */
export const traceDistance = (a: Reals, b: Reals): number => Math.sqrt(1 - fidelity(a, b));

/** Joins two registers: `low` has the qubits from 0 on, `high` the following ones. */
export function tensorProduct(low: Reals, high: Reals): Float64Array {
  for (const state of [low, high]) checkInterleaved(state);
  const out = new Float64Array((low.length * high.length) / 2);
  for (let h = 0; h < high.length; h += 2) {
    const [hr, hi] = [high[h], high[h + 1]] as [number, number];
    for (let l = 0; l < low.length; l += 2) {
      const [lr, li] = [low[l], low[l + 1]] as [number, number];
      const at = (h / 2) * low.length + l;
      out[at] = lr * hr - li * hi;
      out[at + 1] = lr * hi + li * hr;
    }
  }
  return out;
}

/** Returns the gradient of a loss by the sample, given that by the real amplitudes: (g − ψ⟨ψ, g⟩)/‖x‖. */
export function amplitudeGradient(sample: Reals, gradient: Reals): Float64Array {
  let squares = 0;
  for (let i = 0; i < sample.length; i++) squares += (sample[i] as number) ** 2;
  const norm = Math.sqrt(squares);
  let along = 0;
  for (let i = 0; i < sample.length; i++) along += ((sample[i] as number) / norm) * (gradient[i] as number);
  return Float64Array.from(
    { length: sample.length },
    (_, i) => ((gradient[i] as number) - ((sample[i] as number) / norm) * along) / norm,
  );
}

function checkPair(a: Reals, b: Reals): void {
  for (const state of [a, b]) checkInterleaved(state);
  if (a.length === b.length) return;
  throw new EncodeError('size', {
    message: `states of ${a.length / 2} and ${b.length / 2} amplitudes cannot be compared`,
    asked: 'a fidelity',
    advice: 'give states of the same number of qubits',
  });
}

function checkInterleaved(state: Reals): void {
  if (state.length % 2 === 0 && state.length > 0) return;
  throw new EncodeError('size', {
    message: `${state.length} numbers are not pairs of real and imaginary parts`,
    asked: 'a state',
    advice: 'give both parts of each amplitude',
  });
}
