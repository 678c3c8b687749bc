import { deferred } from '../../../device/deferred.js';
import type { Completion, Device, DeviceBuffer, HostMemory } from '../../../device/device.js';
import type { EncodePlan } from '../kernel/plan.js';

/** Where one batch's input is, with what its kernels need besides. */
export interface Place {
  readonly buffers: Readonly<Record<string, DeviceBuffer>>;
  readonly norms: HostMemory | undefined;
  /** The last encoding that used it. */
  used: Completion | undefined;
  /** Whoever has it reads norms from it: the next one waits. */
  turn: Promise<unknown>;
  free(): void;
}

export async function openPlace(device: Device, plan: EncodePlan, batch: number): Promise<Place> {
  const buffers: Record<string, DeviceBuffer> = {};
  const free = (): void => {
    for (const buffer of Object.values(buffers)) buffer.free();
  };
  try {
    for (const [name, bytes] of Object.entries(plan.bytes)) {
      if (name !== 'states') buffers[name] = await device.alloc(inQuads(bytes * batch));
    }
    const norms = plan.bytes.norms === undefined ? undefined : await device.host(inQuads(plan.bytes.norms * batch));
    return {
      buffers,
      norms,
      used: undefined,
      turn: Promise.resolve(),
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

/** Has a place to oneself from here on, until what it gives is called. */
export async function takeTurn(place: Place): Promise<() => void> {
  const before = place.turn;
  const { promise, resolve } = deferred<void>();
  place.turn = promise;
  await before;
  return resolve;
}

export function normsIn({ bytes }: HostMemory, { norm }: EncodePlan, samples: number): Float64Array | Float32Array {
  const { buffer, byteOffset } = bytes;
  return norm === 'f32' ? new Float32Array(buffer, byteOffset, samples) : new Float64Array(buffer, byteOffset, samples);
}

const inQuads = (bytes: number): number => Math.ceil(bytes / 16) * 16;
