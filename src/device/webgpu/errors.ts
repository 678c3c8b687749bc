import { MillraceError } from '../../kernel/error.js';
import { formatBytes } from '../checks/launch.js';

/** The device was lost or failed. */
export function deviceLost(device: string, reason: string, message: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `device ${device} was lost (${reason}): ${message.split('\n', 1)[0] || 'the runtime does not say why'}`,
    asked: 'work in flight',
    advice: 'open the device again; if it happens again, look for news of the GPU driver and use smaller chunks',
  });
}

/** An error that none of our commands should cause. */
export function unexpected(device: string, what: string, cause: unknown): MillraceError {
  const said = cause instanceof Error ? cause.message : String((cause as { message?: unknown })?.message ?? cause);
  return new MillraceError({
    code: 'device-failed',
    message: `device ${device}: ${what}: ${said.split('\n', 1)[0]}`,
    asked: 'work in flight',
    advice: 'open the device again; this is a fault of Millrace or of the WebGPU runtime, please report it',
    cause,
  });
}

export function outOfMemory(device: string, bytes: number, held: number, said: string): MillraceError {
  return new MillraceError({
    code: 'device-memory',
    message: `device ${device} has no memory for another buffer of ${formatBytes(bytes)}: ${said.split('\n', 1)[0]}`,
    asked: `alloc(${bytes}); ${formatBytes(held)} are held by buffers, WebGPU does not tell what is free`,
    advice: 'free buffers, use smaller chunks or fewer slots',
  });
}
