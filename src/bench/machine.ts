import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform } from 'node:os';
import type { DeviceInfo } from '../device/device.js';

/** The machine that a figure was measured on. */
export interface Machine {
  readonly cpu: string;
  /** Cores this process may use. */
  readonly cores: number;
  readonly node: string;
  /** For example `linux x64`. */
  readonly platform: string;
  readonly devices: readonly Pick<DeviceInfo, 'id' | 'name' | 'units' | 'versions'>[];
}

export function machine(devices: readonly DeviceInfo[] = []): Machine {
  return {
    cpu: cpuName(),
    cores: availableParallelism(),
    node: process.versions.node,
    platform: `${platform()} ${arch()}`,
    devices: devices.map(({ id, name, units, versions }) => ({ id, name, units, versions })),
  };
}

/** Returns `Intel(R) Xeon(R) … · 2 cores · linux x64 · Node 20.20.2`. */
export function machineLine({ cpu, cores, platform: system, node }: Machine): string {
  return [cpu, `${cores} core${cores === 1 ? '' : 's'}`, system, `Node ${node}`].join(' · ');
}

/** Linux reports no model name on ARM, only a part number. The table has common server and board cores. */
function cpuName(): string {
  const model = cpus()[0]?.model.replace(/\s+/g, ' ').trim() ?? '';
  if (model !== '' && model !== 'unknown') return model;
  let text = '';
  try {
    text = readFileSync('/proc/cpuinfo', 'latin1');
  } catch {
    return `unknown ${arch()} CPU`;
  }
  const part = /^CPU part\s*:\s*(0x[0-9a-f]+)/im.exec(text)?.[1]?.toLowerCase() ?? '';
  return armParts[part] ?? `unknown ${arch()} CPU${part && ` (part ${part})`}`;
}

const armParts: Readonly<Record<string, string>> = {
  '0xd03': 'Cortex-A53',
  '0xd08': 'Cortex-A72',
  '0xd0b': 'Cortex-A76',
  '0xd0c': 'Neoverse-N1',
  '0xd40': 'Neoverse-V1',
  '0xd49': 'Neoverse-N2',
  '0xd4f': 'Neoverse-V2',
};
