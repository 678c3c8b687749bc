import { Command } from 'commander';
import { action, type Call } from '../console/action.js';
import { Exit } from '../console/exit.js';
import { bytes, plural } from '../console/format.js';
import { options } from '../console/options.js';
import type { Ending } from '../console/output.js';
import type { Style } from '../console/style.js';
import { table } from '../console/table.js';
import { type DeviceList, listDevices } from '../device/registry.js';

/** `millrace devices` */
export function devicesCommand(): Command {
  return new Command('devices')
    .description('the devices of this machine, and why others are absent')
    .addOption(options.json())
    .action(action(devices));
}

async function devices({ output }: Call<object>): Promise<Ending> {
  const found = await listDevices();
  for (const line of deviceTable(found, output.style)) output.line(line);
  return { exit: Exit.ok, answer: { devices: found.devices, absent: found.absent } };
}

/** One line per device, best first, the absent ones last. */
export function deviceTable({ devices: present, absent }: DeviceList, style: Style, indent = 0): string[] {
  const ids = [...present, ...absent].map(({ id }) => id.length);
  const wide = Math.max(...ids);
  const rows = present.map((info) => [
    style.bold(info.id.padEnd(wide)),
    info.name,
    plural(info.units, 'thread'),
    bytes(info.memoryBytes),
    style.dim(info.capabilities.join(' ')),
  ]);
  const missing = absent.map(({ id, reason }) => [id.padEnd(wide), `absent: ${reason}`]);
  return [...table(rows, { indent, right: [2, 3] }), ...table(missing, { indent }).map(style.dim)];
}
