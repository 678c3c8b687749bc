import { MillraceError } from '../../kernel/error.js';
import { formatBytes } from '../checks/launch.js';

/** The device was lost or failed. */
export function deviceLost(device: string, reason: string, message: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `device ${device} was lost (${reason}): ${message.split('\n', 1)[0] || 'the runtime gives no reason'}`,
    asked: 'work in flight',
    advice: 'open the device again; if it happens again, update the GPU driver or use smaller chunks',
  });
}

/** An error that none of our commands should cause. */
export function unexpected(device: string, event: string, cause: unknown): MillraceError {
  const message = cause instanceof Error ? cause.message : String((cause as { message?: unknown })?.message ?? cause);
  return new MillraceError({
    code: 'device-failed',
    message: `device ${device}: ${event}: ${message.split('\n', 1)[0]}`,
    asked: 'work in flight',
    advice: 'open the device again; this is a bug in Millrace or in the WebGPU runtime: please report it',
    cause,
  });
}

export function outOfMemory(device: string, bytes: number, allocated: number, message: string): MillraceError {
  return new MillraceError({
    code: 'device-memory',
    message: `device ${device} has no memory for another buffer of ${formatBytes(bytes)}: ${message.split('\n', 1)[0]}`,
    asked: `alloc(${bytes}); ${formatBytes(allocated)} are allocated, WebGPU does not report free memory`,
    advice: 'free buffers, use smaller chunks or fewer slots',
  });
}
