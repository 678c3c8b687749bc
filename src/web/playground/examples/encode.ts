import { wholeAmplitude } from '../../../workload/encode/kernel/amplitude.js';

/** Two samples of 64 values as states of six qubits: divided by their norm, with imaginary parts of zero. */
const x = Float32Array.from({ length: 2 * 64 }, (_, at) => 1 + (at % 7));

export default {
  kernel: wholeAmplitude({
    qubits: 6,
    real: 'f32',
    wide: 'f32',
    order: 'little',
    store: 'floats',
    pieceBits: 6,
    length: 64,
  }),
  space: 2,
  buffers: { x, norms: 2, states: 2 * 64 * 2 },
};
