import { MillraceError } from '../../kernel/error.js';
import type { Device, DeviceBuffer } from '../device.js';

/**
 * Limits a device to a part of its memory: its info reports that size, and allocations beyond it fail as if memory had
 * run out. Changes the device itself, since programs and buffers refer to it by identity.
 */
export function limitMemory(device: Device, bytes: number): Device {
  const { info } = device;
  const maxBytes = Math.min(bytes, info.memoryBytes);
  const limits = { ...info.limits, bufferBytes: Math.min(info.limits.bufferBytes, maxBytes) };
  const alloc = device.alloc.bind(device);
  let usedBytes = 0;
  const limited = async (requestedBytes: number): Promise<DeviceBuffer> => {
    if (usedBytes + requestedBytes > maxBytes) throw outOfMemory(info.id, requestedBytes, usedBytes, maxBytes);
    usedBytes += requestedBytes;
    const release = once(() => {
      usedBytes -= requestedBytes;
    });
    try {
      const buffer = await alloc(requestedBytes);
      const free = buffer.free.bind(buffer);
      return Object.assign(buffer, {
        free: () => {
          release();
          free();
        },
      });
    } catch (error) {
      release();
      throw error;
    }
  };
  return Object.defineProperties(device, {
    info: { value: { ...info, memoryBytes: maxBytes, limits } },
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

const outOfMemory = (id: string, requestedBytes: number, usedBytes: number, maxBytes: number): MillraceError =>
  new MillraceError({
    code: 'device-memory',
    message: `device ${id} is limited to ${maxBytes} bytes, of which ${usedBytes} are in use`,
    asked: `${requestedBytes} bytes`,
    advice: 'allow more with --max-memory, or use fewer streams and slots',
  });
