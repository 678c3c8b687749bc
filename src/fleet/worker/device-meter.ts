import type { DeviceStatus } from '../../engine/engine.js';
import type { DeviceReport } from '../protocol/index.js';

/** Measures what the devices do between two heartbeats. Figures are rounded: those that stay the same are not shown again. */
export class DeviceMeter {
  readonly #last = new Map<string, { readonly items: bigint; readonly atMs: number }>();

  read(devices: readonly Pick<DeviceStatus, 'info' | 'items' | 'fed'>[], nowMs = performance.now()): DeviceReport[] {
    return devices.map(({ info, items, fed }) => {
      const last = this.#last.get(info.id);
      this.#last.set(info.id, { items, atMs: nowMs });
      const ms = last === undefined ? 0 : nowMs - last.atMs;
      const perSecond = ms > 0 && last ? (Number(items - last.items) * 1000) / ms : 0;
      const share = fed === undefined ? {} : { fed: Math.min(1, Math.round(fed * 1000) / 1000) };
      return { id: info.id, perSecond: Number(perSecond.toPrecision(4)), ...share };
    });
  }
}
