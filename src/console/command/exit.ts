import { type ErrorCode, MillraceError } from '../../kernel/error.js';

/** Exit statuses of commands. Scripts rely on these numbers; they do not change. */
export const Exit = {
  /** Yes, or complete; a closed pipe too. */
  ok: 0,
  /** The answer is no: exhausted, the input does not verify, a regression. */
  no: 1,
  /** Stopped at a checkpoint by the user. */
  stopped: 2,
  aborted: 3,
  limit: 4,
  /** An invalid command line, including an unknown device name. */
  usage: 64,
  /** The requested device, or any device, is missing on this machine or lacks a capability. */
  noDevice: 69,
  internal: 70,
  /** A file that cannot be read, written or parsed. */
  io: 74,
  /** A device failed or gave wrong results. */
  deviceWrong: 76,
  selftest: 77,
} as const;

export type ExitCode = (typeof Exit)[keyof typeof Exit];

/** Returns the exit status for an error that ends a command. */
export function exitOf(error: unknown): ExitCode {
  if (error instanceof MillraceError) return exitByErrorCode[error.code];
  if (error instanceof Error && error.name === 'AbortError') return Exit.aborted;
  return Exit.internal;
}

/**
 * One row per error code. A malformed file is 74 and not 1: 1 is an answer ("these nonces are wrong"), and an unreadable
 * question has none. Kernel and launch errors are 70: the kernels that commands run are ours.
 */
const exitByErrorCode: Readonly<Record<ErrorCode, ExitCode>> = {
  'kernel-scope': Exit.internal,
  'kernel-type': Exit.internal,
  'kernel-value': Exit.internal,
  'kernel-control': Exit.internal,
  'kernel-invalid': Exit.internal,
  'kernel-bounds': Exit.internal,
  'kernel-budget': Exit.internal,
  'device-unknown': Exit.usage,
  'device-absent': Exit.noDevice,
  'device-capability': Exit.noDevice,
  'device-compile': Exit.internal,
  'device-memory': Exit.noDevice,
  'device-closed': Exit.internal,
  'device-failed': Exit.deviceWrong,
  'buffer-range': Exit.internal,
  'launch-range': Exit.internal,
  'launch-arguments': Exit.internal,
  'verify-failed': Exit.internal,
  'verify-disagrees': Exit.io,
  'input-format': Exit.io,
  io: Exit.io,
  usage: Exit.usage,
};
