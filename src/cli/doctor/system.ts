import { existsSync, readFileSync } from 'node:fs';
import { arch, freemem, platform, release, version as systemVersion } from 'node:os';
import { delimiter } from 'node:path';
import { version } from '../../console/command/version.js';
import { bytes, plural } from '../../console/output/format.js';
import { thisCpu } from '../../device/native/cpu.js';
import type { Diagnostic } from '../../device/registry.js';
import { isSecret } from './private-data.js';

/** The machine and what runs on it. */
export async function systemFindings(): Promise<Diagnostic[]> {
  const cpu = thisCpu();
  return [
    { what: 'system', state: 'ok', found: `${distribution()}, ${platform()} ${release()} ${arch()}` },
    { what: 'CPU', state: 'ok', found: `${cpu.name}, ${plural(cpu.threads, 'thread')}` },
    memory(cpu.memoryBytes),
    node(process.versions.node),
    { what: 'Millrace', state: 'ok', found: version() },
  ];
}

const MIN_FREE_BYTES = 2 ** 30;

function memory(total: number): Diagnostic {
  const free = Math.min(freemem(), total);
  const found = `${bytes(total)}, ${bytes(free)} free`;
  if (free >= MIN_FREE_BYTES) return { what: 'memory', state: 'ok', found };
  return { what: 'memory', state: 'warning', found, advice: 'compilers and large buffers may fail: free some memory' };
}

export function node(running: string): Diagnostic {
  const [major = 0, minor = 0] = running.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return { what: 'Node.js', state: 'ok', found: running };
  return { what: 'Node.js', state: 'warning', found: running, advice: 'use 20.19 or later' };
}

function distribution(): string {
  try {
    const text = readFileSync('/etc/os-release', 'utf8');
    return /^PRETTY_NAME="?([^"\n]+)"?$/m.exec(text)?.[1] ?? systemVersion();
  } catch {
    return systemVersion();
  }
}

/** Variables that affect which devices are found or how they work. */
const relevantVariables =
  /^(MILLRACE_\w+|CC|CUDA_(VISIBLE_DEVICES|HOME|PATH|CACHE_PATH|CACHE_DISABLE)|NVIDIA_(VISIBLE_DEVICES|DRIVER_CAPABILITIES)|VK_(ICD_FILENAMES|DRIVER_FILES|ADD_DRIVER_FILES)|OCL_ICD_\w+|POCL_\w+|LD_LIBRARY_PATH|XDG_CACHE_HOME|NODE_OPTIONS|UV_THREADPOOL_SIZE)$/;

export function environmentFindings(environment: NodeJS.ProcessEnv = process.env): Diagnostic[] {
  return Object.entries(environment)
    .filter(([name]) => relevantVariables.test(name))
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, value = '']) => variable(name, value));
}

function variable(name: string, value: string): Diagnostic {
  const found = isSecret(name) ? '(not shown)' : value === '' ? '(empty)' : value;
  if (/^(CUDA|NVIDIA)_VISIBLE_DEVICES$/.test(name) && /^(-1|none|void)?$/.test(value))
    return { what: name, state: 'warning', found, advice: 'it hides every GPU: unset it' };
  if (/^VK_\w+FILES?(NAMES)?$/.test(name)) {
    const missing = value.split(delimiter).filter((path) => path !== '' && !existsSync(path));
    if (missing.length > 0)
      return {
        what: name,
        state: 'warning',
        found,
        advice: `${missing.join(', ')} does not exist: name the driver's file`,
      };
  }
  return { what: name, state: 'ok', found };
}
