import { CommandKind } from '../pool/board.js';
import type { PoolBuffer } from '../pool/buffer.js';
import type { PoolQueue } from '../pool/queue.js';
import type { HostTransfers } from '../pool/stream.js';
import { addressOf, type NativeCalls } from './calls.js';

/** Workers are threads of this process: they copy from and to the caller's arrays, which are held meanwhile. */
export function hostTransfers(calls: NativeCalls): HostTransfers {
  return {
    write(queue: PoolQueue, to: PoolBuffer, offset: number, data: ArrayBufferView): void {
      // SAFETY: `data` is held until the copy is done.
      const command = [CommandKind.copy, to.address + offset, addressOf(calls, data), data.byteLength];
      queue.push(command, { uses: [to], keepAlive: [data] });
    },

    read(queue: PoolQueue, from: PoolBuffer, offset: number, into: ArrayBufferView): void {
      // SAFETY: `into` is held until the copy is done.
      const command = [CommandKind.copy, addressOf(calls, into), from.address + offset, into.byteLength];
      queue.push(command, { uses: [from], keepAlive: [into] });
    },

    stageWords(words: Uint32Array): { readonly address: number; readonly keepAlive: unknown } {
      return { address: addressOf(calls, words), keepAlive: words };
    },
  };
}
