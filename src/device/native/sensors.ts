import { readdir, readFile } from 'node:fs/promises';
import { cpus, freemem, totalmem } from 'node:os';
import type { Sensors } from '../device.js';

/** Reads the processors' utilisation since the last call, memory, and the temperature if Linux reports it. */
export async function readCpu(): Promise<Sensors> {
  const now = ticks(cpus().map(({ times }) => times));
  const utilisation = busyShare(last, now);
  last = now;
  const temperatureC = await packageTemperature();
  const fastest = Math.max(0, ...cpus().map(({ speed }) => speed));
  return {
    ...(utilisation !== undefined && { utilisation }),
    ...(temperatureC !== undefined && { temperatureC }),
    ...(fastest > 0 && { clockMHz: fastest }),
    memoryUsedBytes: totalmem() - freemem(),
  };
}

/** Milliseconds of all processors together since boot. */
export interface Ticks {
  readonly busy: number;
  readonly all: number;
}

type Times = Readonly<Record<'user' | 'nice' | 'sys' | 'idle' | 'irq', number>>;

export function ticks(times: readonly Times[]): Ticks {
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  const busy = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0);
  return { busy, all: busy + idle };
}

/** 0 to 1; undefined if no measurable time has passed. */
export function busyShare(from: Ticks, to: Ticks): number | undefined {
  return to.all > from.all ? (to.busy - from.busy) / (to.all - from.all) : undefined;
}

/** Before the first call: since boot. */
let last: Ticks = { busy: 0, all: 0 };

const ZONES = '/sys/class/thermal';

/** Reads the processor's thermal zone, identified by the names that drivers give it. */
async function packageTemperature(): Promise<number | undefined> {
  const zones = await readdir(ZONES).catch((): string[] => []);
  const text = (zone: string, file: string) => readFile(`${ZONES}/${zone}/${file}`, 'utf8').catch(() => '');
  for (const zone of zones.filter((name) => name.startsWith('thermal_zone'))) {
    if (!/x86_pkg_temp|cpu|soc|k10temp/i.test(await text(zone, 'type'))) continue;
    const thousandths = Number.parseInt(await text(zone, 'temp'), 10);
    if (Number.isFinite(thousandths)) return thousandths / 1000;
  }
  return undefined;
}
