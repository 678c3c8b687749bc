import { BaseBuffer } from '../../checks/launch.js';
import type { Device } from '../../device.js';

/** GPU memory, identified to the worker by a number. The worker frees it once no command in flight refers to it. */
export class GpuBuffer extends BaseBuffer {
  readonly number: number;
  readonly pointer: number | undefined;
  readonly #onFree: (number: number) => void;

  constructor(device: Device, bytes: number, number: number, onFree: (number: number) => void, pointer?: number) {
    super(device, bytes);
    this.number = number;
    this.pointer = pointer;
    this.#onFree = onFree;
  }

  free(): void {
    if (this.freed) return;
    this.freed = true;
    this.#onFree(this.number);
  }
}
