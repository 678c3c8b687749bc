import { MillraceError } from '../../kernel/error.js';
import type { DeviceInfo } from '../device.js';

/** A device that was asked for by its name and is not there; `reason` says why, or what is. */
export function absent(id: string, reason: string): MillraceError {
  return new MillraceError({
    code: 'device-absent',
    message: `device ${id} is not on this machine`,
    asked: `device ${id}`,
    advice: reason,
  });
}

/** Which device of its kind a name means: 1 for "cuda:1", 0 for "cuda". */
export function deviceNumber(kind: DeviceInfo['kind'], id: string): number {
  const [name, number = '0', ...more] = id.split(':');
  if (name === kind && /^\d{1,3}$/.test(number) && more.length === 0) return Number(number);
  throw new MillraceError({
    code: 'device-unknown',
    message: `there is no device called ${JSON.stringify(id)}`,
    asked: `device ${id}`,
    advice: `devices of this kind are ${kind}:0, ${kind}:1 …`,
  });
}
