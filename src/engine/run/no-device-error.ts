import { firstLine, MillraceError } from '../../kernel/error.js';

/** A device that a job cannot use. */
export interface UnusableDevice {
  readonly device: string;
  readonly error: unknown;
}

/** Returns the error of a job without a usable device: the only device's error, or all devices' errors in one. */
export function noDeviceError(job: string, unusable: readonly UnusableDevice[]): unknown {
  const [only, ...others] = unusable;
  if (only && others.length === 0) return only.error;
  if (only === undefined) {
    return new MillraceError({
      code: 'device-absent',
      message: `${job} has no device to run on`,
      asked: `job ${job}`,
      advice: 'give at least one device',
    });
  }
  return new MillraceError({
    code: 'device-failed',
    message: `no device is left for ${job}: ${unusable.map(({ device, error }) => `${device}: ${firstLine(error)}`).join('; ')}`,
    asked: `job ${job} on ${unusable.map(({ device }) => device).join(', ')}`,
    advice: 'run `millrace selftest` on each of them',
    cause: unusable.at(-1)?.error,
  });
}
