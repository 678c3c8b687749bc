import type { Device, Stream } from '../../../device/device.js';

/**
 * One stream of a device for all generators on it: devices have some dozens of streams, and there may be any number of
 * generators. Batches of one launch do not need a separate stream.
 */
export function borrowStream(device: Device): { readonly stream: Stream; release(): void } {
  const shared = streams.get(device) ?? { stream: device.stream(), users: 0 };
  streams.set(device, shared);
  shared.users++;
  let isBorrowed = true;
  return {
    stream: shared.stream,
    release: () => {
      if (isBorrowed) shared.users--;
      isBorrowed = false;
      if (shared.users > 0 || streams.get(device) !== shared) return;
      streams.delete(device);
      shared.stream.close();
    },
  };
}

const streams = new WeakMap<Device, { readonly stream: Stream; users: number }>();
