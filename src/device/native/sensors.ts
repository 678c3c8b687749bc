import { readdir, readFile } from 'node:fs/promises';
import { cpus, freemem, totalmem } from 'node:os';
import type { Sensors } from '../device.js';

/** Reads the processors' utilisation since the last call, memory, and the temperature if Linux reports it. */
export async function readCpuSensors(): Promise<Sensors> {
  const now = sumTimes(cpus().map(({ times }) => times));
  const utilisation = busyShare(lastTimes, now);
  lastTimes = now;
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
export interface CpuTimes {
  readonly busy: number;
  readonly total: number;
}

type Times = Readonly<Record<'user' | 'nice' | 'sys' | 'idle' | 'irq', number>>;

export function sumTimes(times: readonly Times[]): CpuTimes {
  const idle = times.reduce((sum, time) => sum + time.idle, 0);
  const busy = times.reduce((sum, { user, nice, sys, irq }) => sum + user + nice + sys + irq, 0);
  return { busy, total: busy + idle };
}

/** 0 to 1; undefined if no measurable time has passed. */
export function busyShare(from: CpuTimes, to: CpuTimes): number | undefined {
  return to.total > from.total ? (to.busy - from.busy) / (to.total - from.total) : undefined;
}

/** Before the first call: since boot. */
let lastTimes: CpuTimes = { busy: 0, total: 0 };

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
