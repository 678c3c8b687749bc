import type { Kernel } from '../kernel/index.js';
import { headerScan } from './block/kernel.js';

/** Kernels by the name that `millrace kernel` takes. A workload's kernel bears the workload's name. */
export const kernels: Readonly<Record<string, () => Kernel>> = {
  block: () => headerScan({ topWordZero: true }),
};
