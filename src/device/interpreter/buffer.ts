import { MillraceError } from '../../kernel/error.js';
import { BaseBuffer, formatBytes } from '../checks/launch.js';
import type { Device } from '../device.js';

/** Device memory is an ArrayBuffer. Commands in flight keep it referenced, so `free` can drop it at once. */
export class InterpreterBuffer extends BaseBuffer {
  #memory: Uint8Array<ArrayBuffer> | undefined;

  constructor(device: Device, bytes: number) {
    super(device, bytes);
    try {
      this.#memory = new Uint8Array(bytes);
    } catch (cause) {
      throw new MillraceError({
        code: 'device-memory',
        message: `device ${device.info.id} has no memory for another buffer of ${formatBytes(bytes)}`,
        asked: `alloc(${bytes}) of ${formatBytes(device.info.memoryBytes)} in all`,
        advice: 'free buffers, or use smaller ones',
        cause,
      });
    }
  }

  /** The bytes, for a command being queued. */
  get memory(): Uint8Array<ArrayBuffer> {
    return this.#memory ?? new Uint8Array(0);
  }

  free(): void {
    this.freed = true;
    this.#memory = undefined;
  }
}
