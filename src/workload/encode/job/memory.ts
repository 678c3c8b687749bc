import type { Device } from '../../../device/device.js';
import type { EncodePlan } from '../kernel/plan.js';
import { EncodeError } from './errors.js';

/** Checks that the device has enough memory, before anything is allocated. */
export async function checkMemory(device: Device, plan: EncodePlan, batch: number, needed: number): Promise<void> {
  const { memoryBytes, limits } = device.info;
  const largest = batch * Math.max(...Object.values(plan.bytes));
  const used = (await device.sensors?.())?.memoryUsedBytes ?? 0;
  if (needed <= memoryBytes - used && largest <= limits.bufferBytes && batch <= plan.maxSamples) return;
  const free = `${mebibytes(memoryBytes - used)} of ${mebibytes(memoryBytes)} are free`;
  throw new EncodeError('memory', {
    message: `${mebibytes(needed)} are needed on ${device.info.id}; ${free}, and a buffer has up to ${mebibytes(limits.bufferBytes)}`,
    asked: `batches of ${batch} states of ${plan.shape.qubits} qubits`,
    advice: 'use fewer qubits or a smaller batch',
  });
}

export const sumOf = (bytes: Readonly<Record<string, number>>): number =>
  Object.values(bytes).reduce((sum, one) => sum + one, 0);

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
