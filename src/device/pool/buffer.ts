import { HeldBuffer } from '../checks/launch.js';
import type { Device } from '../device.js';
import { type Held, Uses } from './uses.js';

/** The owner of a buffer's memory. */
export interface BufferOwner {
  /** Called when nothing uses the buffer any more. */
  give(buffer: PoolBuffer): void;
  /** Called when a free has to wait for commands: the owner must notice when they are done. */
  onDelayedFree(): void;
}

/** Memory that workers access by address. Freed once no command in flight refers to it. */
export class PoolBuffer extends HeldBuffer implements Held {
  readonly address: number;
  readonly #uses: Uses;

  constructor(device: Device, bytes: number, address: number, owner: BufferOwner) {
    super(device, bytes);
    this.address = address;
    this.#uses = new Uses({ give: () => owner.give(this), onDelayedFree: () => owner.onDelayedFree() });
  }

  hold(): void {
    this.#uses.hold();
  }

  release(): void {
    this.#uses.release();
  }

  free(): void {
    this.freed = true;
    this.#uses.close();
  }
}
