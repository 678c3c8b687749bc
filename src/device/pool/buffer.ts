import type { Device } from '../device.js';
import { HeldBuffer } from '../launch.js';

/** Whose memory a buffer is. */
export interface BufferOwner {
  /** Nothing uses the buffer any more. */
  give(buffer: PoolBuffer): void;
  /** A free has to wait for commands: somebody should learn when they are done. */
  onDelayedFree(): void;
}

/** Memory that workers reach by its address. Freed once no command in flight names it. */
export class PoolBuffer extends HeldBuffer {
  readonly address: number;
  readonly #owner: BufferOwner;
  #uses = 0;

  constructor(device: Device, bytes: number, address: number, owner: BufferOwner) {
    super(device, bytes);
    this.address = address;
    this.#owner = owner;
  }

  hold(): void {
    this.#uses++;
  }

  release(): void {
    this.#uses--;
    if (this.#uses === 0 && this.freed) this.#owner.give(this);
  }

  free(): void {
    if (this.freed) return;
    this.freed = true;
    if (this.#uses === 0) this.#owner.give(this);
    else this.#owner.onDelayedFree();
  }
}
