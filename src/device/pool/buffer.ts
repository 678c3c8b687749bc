import { BaseBuffer } from '../checks/launch.js';
import type { Device } from '../device.js';
import { RefCount, type RefCounted } from './ref-count.js';

/** The owner of a buffer's memory. */
export interface BufferOwner {
  /** Called when nothing uses the buffer any more. */
  reclaim(buffer: PoolBuffer): void;
  /** Called when a free has to wait for commands: the owner must notice when they are done. */
  onDelayedFree(): void;
}

/** Memory that workers access by address. Freed once no command in flight refers to it. */
export class PoolBuffer extends BaseBuffer implements RefCounted {
  readonly address: number;
  readonly #refs: RefCount;

  constructor(device: Device, bytes: number, address: number, owner: BufferOwner) {
    super(device, bytes);
    this.address = address;
    this.#refs = new RefCount({ reclaim: () => owner.reclaim(this), onDelayedFree: () => owner.onDelayedFree() });
  }

  retain(): void {
    this.#refs.retain();
  }

  release(): void {
    this.#refs.release();
  }

  free(): void {
    this.freed = true;
    this.#refs.close();
  }
}
