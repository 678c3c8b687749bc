import { deferred } from '../../../device/deferred.js';
import type { Completion, Device, DeviceBuffer, HostMemory } from '../../../device/device.js';
import type { EncodePlan } from '../kernel/plan.js';

/** The device memory of one batch's input, and the other buffers of its kernels except the states. */
export interface InputSlot {
  readonly buffers: Readonly<Record<string, DeviceBuffer>>;
  readonly norms: HostMemory | undefined;
  /** The last encoding that used it. */
  lastUse: Completion | undefined;
  /** Resolves when the current user has read the norms; the next one waits for it. */
  lock: Promise<unknown>;
  free(): void;
}

export async function openInputSlot(device: Device, plan: EncodePlan, batch: number): Promise<InputSlot> {
  const buffers: Record<string, DeviceBuffer> = {};
  const free = (): void => {
    for (const buffer of Object.values(buffers)) buffer.free();
  };
  try {
    for (const [name, bytes] of Object.entries(plan.bytes)) {
      if (name !== 'states') buffers[name] = await device.alloc(paddedToQuads(bytes * batch));
    }
    const norms =
      plan.bytes.norms === undefined ? undefined : await device.host(paddedToQuads(plan.bytes.norms * batch));
    return {
      buffers,
      norms,
      lastUse: undefined,
      lock: Promise.resolve(),
      free: () => {
        free();
        norms?.free();
      },
    };
  } catch (error) {
    free();
    throw error;
  }
}

/** Waits for exclusive use of a slot. The returned function ends it. */
export async function lockSlot(inputSlot: InputSlot): Promise<() => void> {
  const before = inputSlot.lock;
  const { promise, resolve } = deferred<void>();
  inputSlot.lock = promise;
  await before;
  return resolve;
}

export function normsIn({ bytes }: HostMemory, { norm }: EncodePlan, samples: number): Float64Array | Float32Array {
  const { buffer, byteOffset } = bytes;
  return norm === 'f32' ? new Float32Array(buffer, byteOffset, samples) : new Float64Array(buffer, byteOffset, samples);
}

const paddedToQuads = (bytes: number): number => Math.ceil(bytes / 16) * 16;
