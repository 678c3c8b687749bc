import type { BenchCase, Benched } from '../../bench/case.js';
import type { DeviceInfo } from '../../device/device.js';
import { deviceRate, hostRate } from './rate.js';

const QUBITS = 16;
const noDoubles = ({ capabilities }: DeviceInfo): string | undefined =>
  capabilities.includes('f64') ? undefined : 'it has no 64-bit floats';

/** Amplitudes of 16 qubits: 512 KiB of doubles in, 1 MiB of complex numbers out. */
const amplitude = (batch: number, batches: number): BenchCase => ({
  name: `amplitude, ${QUBITS} qubits × ${batch}, f64, encode only`,
  checkedBy: 'the reference, first and last state, within 2e-15',
  unitBytes: 24 * 2 ** QUBITS,
  bound: { limit: 'copy', perUnit: 24 * 2 ** QUBITS },
  lacks: noDoubles,
  open: async (device, { runs }) =>
    deviceRate(device, { encoding: 'amplitude', qubits: QUBITS, precision: 'f64', batch, batches, runs }),
});

export const encodeCases: Benched = {
  workload: 'encode',
  cases: [
    amplitude(64, 2),
    { ...amplitude(1024, 4), isLong: true },
    {
      name: `amplitude, ${QUBITS} qubits × 16, f64, from host memory`,
      checkedBy: 'the reference, first and last state, within 2e-15',
      unitBytes: 8 * 2 ** QUBITS,
      bound: { limit: 'to device', perUnit: 8 * 2 ** QUBITS },
      lacks: noDoubles,
      open: (device, { runs }) =>
        hostRate(device, 'pinned', {
          encoding: 'amplitude',
          qubits: QUBITS,
          precision: 'f64',
          batch: 16,
          batches: 8,
          runs,
        }),
    },
  ],
};
