import { setTimeout as pause } from 'node:timers/promises';
import { Exit, type ExitCode } from '../console/command/exit.js';
import { bytes, count } from '../console/output/format.js';
import type { Output } from '../console/output/output.js';
import { openScreen } from '../console/output/screen.js';
import { table } from '../console/output/table.js';
import type { DeviceInfo, Sensors } from '../device/device.js';
import { readSensors } from '../device/registry.js';

/** Shows the sensors of devices every `seconds` until it is stopped, which is its normal end. */
export async function watchDevices(
  output: Output,
  devices: readonly DeviceInfo[],
  seconds: number,
  signal: AbortSignal,
): Promise<ExitCode> {
  const screen = openScreen();
  let headed = false;
  while (!signal.aborted) {
    const readings = await readAll(devices);
    if (readings.length === 0) {
      output.say('no device reports its temperature, power or load');
      return Exit.no;
    }
    const time = new Date();
    for (const { info, sensors } of readings)
      output.event('sensors', { time: time.toISOString(), device: info.id, ...sensors });
    if (!output.json) screen.show(sensorLines(readings, time, screen.redraws || !headed));
    headed = true;
    await pause(seconds * 1000, undefined, { signal }).catch(() => undefined);
  }
  return Exit.ok;
}

export interface Reading {
  readonly info: DeviceInfo;
  readonly sensors: Sensors;
}

async function readAll(devices: readonly DeviceInfo[]): Promise<Reading[]> {
  const all = await Promise.all(devices.map(async (info) => ({ info, sensors: await readSensors(info.id) })));
  return all.flatMap(({ info, sensors }) => (sensors === undefined ? [] : [{ info, sensors }]));
}

/** Returns a line per device. Unknown figures are blank; a column that no device fills is omitted. */
function sensorLines(readings: readonly Reading[], time: Date, headed: boolean): string[] {
  const clock = time.toTimeString().slice(0, 8);
  const known = columns.filter(({ text }) => readings.some(({ sensors, info }) => text(sensors, info) !== undefined));
  const rows = readings.map(({ info, sensors }) => [
    clock,
    info.id,
    ...known.map(({ text }) => text(sensors, info) ?? ''),
  ]);
  const heading = ['time', 'device', ...known.map(({ name }) => name)];
  const right = known.map((_, at) => at + 2);
  // Always laid out with the heading, so that appended lines stay aligned.
  const lines = table([heading, ...rows], { right });
  return headed ? lines : lines.slice(1);
}

interface Column {
  readonly name: string;
  text(sensors: Sensors, info: DeviceInfo): string | undefined;
}

const shown = (value: number | undefined, text: (value: number) => string): string | undefined =>
  value === undefined ? undefined : text(value);
const share = (value: number): string => `${Math.round(value * 100)} %`.padStart('100 %'.length);
const megahertz = (value: number): string => `${count(Math.round(value))} MHz`;

const columns: readonly Column[] = [
  { name: 'temperature', text: ({ temperatureC }) => shown(temperatureC, (value) => `${Math.round(value)} °C`) },
  {
    name: 'power',
    text: ({ powerW, powerLimitW }) =>
      shown(powerW, (value) => `${Math.round(value)}${powerLimitW ? ` / ${Math.round(powerLimitW)}` : ''} W`),
  },
  { name: 'busy', text: ({ utilisation }) => shown(utilisation, share) },
  { name: 'memory busy', text: ({ memoryUtilisation }) => shown(memoryUtilisation, share) },
  { name: 'clock', text: ({ clockMHz }) => shown(clockMHz, megahertz) },
  { name: 'memory clock', text: ({ memoryClockMHz }) => shown(memoryClockMHz, megahertz) },
  {
    name: 'memory',
    text: ({ memoryUsedBytes }, { memoryBytes }) =>
      shown(memoryUsedBytes, (value) => `${bytes(value)} / ${bytes(memoryBytes)}`),
  },
  { name: 'energy', text: ({ energyJ }) => shown(energyJ, (value) => `${count(Math.round(value / 1000))} kJ`) },
];
