import { Command } from 'commander';
import { action, type Call } from '../console/command/action.js';
import { withExamples } from '../console/command/conventions.js';
import { Exit } from '../console/command/exit.js';
import { valueOption, wholeNumberParser } from '../console/options/options.js';
import { bytes, plural } from '../console/output/format.js';
import type { CommandResult } from '../console/output/output.js';
import type { Style } from '../console/output/style.js';
import { table } from '../console/output/table.js';
import type { DeviceInfo } from '../device/device.js';
import { type DeviceList, listDevices } from '../device/registry.js';
import { watchDevices } from './watch.js';

/** `millrace devices` */
export function devicesCommand(): Command {
  const command = new Command('devices')
    .description('list the devices of this machine, best first, and why others are absent')
    .addOption(
      valueOption('--watch [seconds]', 'show temperature, power and load repeatedly (default: every 2 s)')
        .argParser(wholeNumberParser(1, 86_400))
        .preset('2'),
    )
    .action(action(devices));
  return withExamples(
    command,
    ['millrace devices'],
    ['millrace devices --watch 5', 'temperature, power and load every 5 s'],
  );
}

interface DevicesOptions {
  readonly watch?: number;
}

async function devices({ output, options: { watch }, signal }: Call<DevicesOptions>): Promise<CommandResult> {
  const found = await listDevices();
  if (watch !== undefined) return watchDevices(output, found.devices, watch, signal);
  for (const line of deviceTable(found, output.style, { details: true })) output.line(line);
  return { exit: Exit.ok, answer: { devices: found.devices, absent: found.absent } };
}

export interface DeviceTableOptions {
  readonly indent?: number;
  /** Adds lines with details for each device. */
  readonly details?: boolean;
}

/** Returns a line per device, best first, absent ones last. */
export function deviceTable(
  { devices: present, absent }: DeviceList,
  style: Style,
  { indent = 0, details = false }: DeviceTableOptions = {},
): string[] {
  const ids = [...present, ...absent].map(({ id }) => id.length);
  const wide = Math.max(...ids);
  const lines = table(
    present.map((info) => [
      style.bold(info.id.padEnd(wide)),
      info.name,
      unitsOf(info),
      bytes(info.memoryBytes),
      style.dim(info.capabilities.join(' ')),
    ]),
    { indent, right: [2, 3] },
  );
  const margin = ' '.repeat(indent + wide + 2);
  const missing = absent.map(({ id, reason }) => [id.padEnd(wide), `absent: ${reason}`]);
  return [
    ...present.flatMap((info, at) => [
      lines[at] ?? '',
      ...(details ? detailsOf(info).map((line) => style.dim(margin + line)) : []),
    ]),
    ...table(missing, { indent }).map(style.dim),
  ];
}

/** The hardware's term for its compute units. WebGPU does not report their number. */
const unitNames: Readonly<Record<DeviceInfo['kind'], string | undefined>> = {
  native: 'thread',
  wasm: 'thread',
  interpreter: 'thread',
  cuda: 'SM',
  opencl: 'compute unit',
  webgpu: undefined,
};

export function unitsOf({ kind, units }: DeviceInfo): string {
  const name = unitNames[kind];
  return name === undefined ? '' : plural(units, name);
}

function detailsOf({ details = {}, versions }: DeviceInfo): string[] {
  const joined = (facts: Readonly<Record<string, string>>) =>
    Object.entries(facts)
      .map(([name, value]) => `${name} ${value}`)
      .join(' · ');
  return [joined(details), joined(versions)].filter((line) => line !== '');
}
