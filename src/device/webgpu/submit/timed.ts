import type { CallTimer } from '../../gpu/native/calls.js';
import type { Device, GpuQueue } from '../api.js';

/** Returns the same device with the time of every call of it and of its queue recorded, if that is on. */
export function withCallTimes(device: Device, calls: CallTimer): Device {
  if (!calls.on) return device;
  const queue = timingProxy<GpuQueue>(device.queue, 'GPUQueue', calls);
  return timingProxy(device, 'GPUDevice', calls, { queue });
}

/**
 * The runtime's objects must not be called through a proxy: functions stay bound to the target, and properties are set
 * on it.
 */
function timingProxy<T extends object>(target: T, kind: string, calls: CallTimer, instead: Partial<T> = {}): T {
  const known = new Map<string | symbol, unknown>();
  return new Proxy(target, {
    get: (_, name) => {
      if (name in instead) return Reflect.get(instead, name);
      const value = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const full = `${kind}.${String(name)}`;
      const call = known.get(name) ?? calls.wrap({ [full]: value.bind(target) })[full];
      known.set(name, call);
      return call;
    },
    set: (_, name, value) => Reflect.set(target, name, value),
  });
}
