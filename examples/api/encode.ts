// # Encode samples as quantum states
//
// `openEncoder` makes states of one shape on a device, where they stay until they are read. `referenceStates` computes them
// by their definition, and `fidelity` compares two states.

import assert from 'node:assert';
import { fidelity, openDevice, openEncoder, referenceStates } from 'millrace';

const device = await openDevice('wasm');
const encoder = await openEncoder(device, { encoding: 'amplitude', qubits: 3, precision: 'f64' });
const sample = Float64Array.of(3, 1, 4, 1, 5, 9, 2, 6);
const states = await encoder.encode(sample);
const amplitudes = await states.read();
const expected = referenceStates({ encoding: 'amplitude', qubits: 3, length: 8 }, 1, sample);
assert(fidelity(amplitudes, expected) > 1 - 1e-12);
states.release();
encoder.close();
await device.close();
