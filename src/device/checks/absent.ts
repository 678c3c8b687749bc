import { MillraceError } from '../../kernel/error.js';
import type { DeviceInfo } from '../device.js';

/** The error for a named device that is not on this machine. `reason` says why, or which devices there are. */
export function deviceAbsent(id: string, reason: string): MillraceError {
  return new MillraceError({
    code: 'device-absent',
    message: `device ${id} is not on this machine`,
    asked: `device ${id}`,
    advice: `${reason}; "auto" is the best device that is here`,
  });
}

/** Returns the number in a device's name: 1 for "cuda:1", 0 for "cuda". */
export function deviceNumber(kind: DeviceInfo['kind'], id: string): number {
  const [name, number = '0', ...more] = id.split(':');
  if (name === kind && /^\d{1,3}$/.test(number) && more.length === 0) return Number(number);
  throw new MillraceError({
    code: 'device-unknown',
    message: `there is no device called ${JSON.stringify(id)}`,
    asked: `device ${id}`,
    advice: `expected ${kind}, or ${kind}:0, ${kind}:1 …`,
  });
}
