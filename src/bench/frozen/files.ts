import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createFolder } from '../../device/cache/folder.js';
import type { DeviceInfo } from '../../device/device.js';
import type { RecordedProgram, Recording } from './recording.js';

/**
 * Recordings that come with the package: a folder per class of device, with a JSON file per workload and the text of
 * each program. They do not change when kernels do, so that today's kernels can be compared with them.
 */
const FROZEN_FOLDER = 'docs/measurements/frozen';

const frozenFolder = (info: DeviceInfo): string =>
  join(dirname(createRequire(import.meta.url).resolve('millrace/package.json')), FROZEN_FOLDER, classOf(info));

/** Returns `wasm` or, for example, `native-arm64-sha-aes-neon`. Devices of one class run the same text. */
export function classOf({ kind, capabilities }: DeviceInfo): string {
  const general = new Set(['u64', 'f64', 'exact-floats', 'atomics', 'simd128']);
  const own = capabilities.filter((name) => !general.has(name));
  return [kind, ...(kind === 'native' ? [process.arch, ...own] : [])].join('-');
}

/** Returns the recording of a workload for a class of device. Undefined if there is none. */
export function readFrozen(workload: string, info: DeviceInfo): Recording | undefined {
  const folder = frozenFolder(info);
  const file = join(folder, `${workload}.json`);
  if (!existsSync(file)) return undefined;
  const { programs, ...rest } = JSON.parse(readFileSync(file, 'utf8')) as Omit<Recording, 'programs'> & {
    readonly programs: readonly (Omit<RecordedProgram, 'text'> & { readonly file: string })[];
  };
  const withText = programs.map(({ file: name, ...program }) => ({
    ...program,
    text: readFileSync(join(folder, name), 'utf8'),
  }));
  return { ...rest, programs: withText };
}

export function writeFrozen(workload: string, info: DeviceInfo, recording: Recording): void {
  const folder = frozenFolder(info);
  createFolder(folder);
  for (const name of readdirSync(folder)) if (name.startsWith(`${workload}.`)) rmSync(join(folder, name));
  const extension = info.kind === 'wasm' ? 'wat' : 'c';
  const programs = recording.programs.map(({ text, ...program }) => {
    const file = `${workload}.${program.name}.${extension}`;
    writeFileSync(join(folder, file), text);
    return { ...program, file };
  });
  writeFileSync(join(folder, `${workload}.json`), `${JSON.stringify({ ...recording, programs }, null, 1)}\n`);
}
