import { Command } from '../pool/board.js';
import type { PoolBuffer } from '../pool/buffer.js';
import type { Queue } from '../pool/queue.js';
import type { HostTransfers } from '../pool/stream.js';
import { addressOf } from './libc.js';

/** Workers are threads of this process: they copy from and to the caller's arrays, which are held meanwhile. */
export const host: HostTransfers = {
  write(queue: Queue, to: PoolBuffer, offset: number, data: ArrayBufferView): void {
    // SAFETY: `data` is held until the copy is done.
    const command = [Command.copy, to.address + offset, addressOf(data), data.byteLength];
    queue.push(command, { uses: [to], data: [data] });
  },

  read(queue: Queue, from: PoolBuffer, offset: number, into: ArrayBufferView): void {
    // SAFETY: `into` is held until the copy is done.
    const command = [Command.copy, addressOf(into), from.address + offset, into.byteLength];
    queue.push(command, { uses: [from], data: [into] });
  },

  lend(words: Uint32Array): { readonly address: number; readonly keep: unknown } {
    return { address: addressOf(words), keep: words };
  },
};
