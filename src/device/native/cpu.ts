import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import type { CpuFeatures } from '../../kernel/index.js';

/** The processor of this machine. */
export interface Cpu extends CpuFeatures {
  readonly name: string;
  readonly threads: number;
  readonly memoryBytes: number;
}

export function thisCpu(): Cpu {
  const text = process.platform === 'linux' ? readCpuinfo() : '';
  const arch = archOf(process.arch);
  return {
    arch,
    features: text === '' ? assumedFeatures(arch) : parseFeatures(text),
    name: parseName(text) ?? cpus()[0]?.model.trim() ?? process.arch,
    threads: availableParallelism(),
    memoryBytes: memoryBytes(),
  };
}

/** The features that the operating system allows programs to use, under the names that generated code checks. */
export function parseFeatures(cpuinfo: string): ReadonlySet<string> {
  const line = /^(?:flags|Features)\s*:(.*)$/m.exec(cpuinfo)?.[1] ?? '';
  const names = line.split(/\s+/).filter((name) => name !== '');
  return new Set(names.map((name) => (name === 'asimd' ? 'neon' : name)));
}

export function parseName(cpuinfo: string): string | undefined {
  const field = (name: string): string | undefined => new RegExp(`^${name}\\s*:(.+)$`, 'm').exec(cpuinfo)?.[1]?.trim();
  const model = field('model name') ?? field('Hardware');
  if (model !== undefined) return model;
  const part = field('CPU part');
  if (part === undefined) return undefined;
  const maker = field('CPU implementer') ?? '';
  return armParts[`${maker} ${part}`] ?? `ARM ${maker} ${part}`;
}

/** The widest gang that fits one register of 32-bit lanes. */
export function maxLanes({ features }: CpuFeatures): number {
  if (features.has('avx512f')) return 16;
  return features.has('avx2') ? 8 : 4;
}

/** The capabilities that a kernel may require, and the instructions that std functions use. */
export function capabilities({ features }: CpuFeatures): string[] {
  const names = ['u64', 'f64', 'exact-floats', 'atomics'];
  const known: readonly [string, readonly string[]][] = [
    ['sha', ['sha_ni', 'sha2']],
    ['aes', ['aes']],
    ['vaes', ['vaes']],
    ['avx2', ['avx2']],
    ['avx512', ['avx512f']],
    ['neon', ['neon']],
    ['sve', ['sve']],
  ];
  for (const [name, any] of known) if (any.some((feature) => features.has(feature))) names.push(name);
  return names;
}

/** Linux on ARM reports no model name, only numbers. */
const armParts: Readonly<Record<string, string>> = {
  '0x41 0xd03': 'Cortex-A53',
  '0x41 0xd08': 'Cortex-A72',
  '0x41 0xd0b': 'Cortex-A76',
  '0x41 0xd0c': 'Neoverse-N1',
  '0x41 0xd40': 'Neoverse-V1',
  '0x41 0xd49': 'Neoverse-N2',
  '0x41 0xd4f': 'Neoverse-V2',
};

function readCpuinfo(): string {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    return '';
  }
}

function archOf(arch: string): CpuFeatures['arch'] {
  if (arch === 'x64' || arch === 'ia32') return 'x86';
  return arch === 'arm64' || arch === 'arm' ? 'arm' : 'other';
}

/** If the system does not report features: every 64-bit Mac has these (macOS runs on nothing older). */
function assumedFeatures(arch: CpuFeatures['arch']): ReadonlySet<string> {
  if (arch === 'arm') return new Set(['neon', 'aes', 'sha2']);
  return new Set(arch === 'x86' ? ['sse2', 'ssse3', 'sse4_1', 'sse4_2'] : []);
}

/** The container's memory limit, if it is below the machine's memory. */
function memoryBytes(): number {
  const limit = process.constrainedMemory?.() ?? 0;
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}
