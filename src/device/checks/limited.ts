import { MillraceError } from '../../kernel/error.js';
import type { Device, DeviceBuffer } from '../device.js';

/**
 * Limits a device to a part of its memory: its info reports that size, and allocations beyond it fail as if memory had
 * run out. Changes the device itself, since programs and buffers refer to it by identity.
 */
export function limitMemory(device: Device, bytes: number): Device {
  const { info } = device;
  const most = Math.min(bytes, info.memoryBytes);
  const limits = { ...info.limits, bufferBytes: Math.min(info.limits.bufferBytes, most) };
  const alloc = device.alloc.bind(device);
  let taken = 0;
  const limited = async (wanted: number): Promise<DeviceBuffer> => {
    if (taken + wanted > most) throw refuse(info.id, wanted, taken, most);
    taken += wanted;
    const giveBack = once(() => {
      taken -= wanted;
    });
    try {
      const buffer = await alloc(wanted);
      const free = buffer.free.bind(buffer);
      return Object.assign(buffer, {
        free: () => {
          giveBack();
          free();
        },
      });
    } catch (error) {
      giveBack();
      throw error;
    }
  };
  return Object.defineProperties(device, {
    info: { value: { ...info, memoryBytes: most, limits } },
    alloc: { value: limited },
  });
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}

const refuse = (id: string, wanted: number, taken: number, most: number): MillraceError =>
  new MillraceError({
    code: 'device-memory',
    message: `device ${id} may take ${most} bytes, ${taken} of which are taken`,
    asked: `${wanted} bytes`,
    advice: 'allow more with --max-memory, or use fewer streams and slots',
  });
