import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import koffi from 'koffi';
import { type Compiler, findCompiler } from '../../src/device/native/compiler.js';

/** The fake libraries of `fake-*.c`, compiled; this process and its children find them by the variables in `environment`. */
export interface Fake {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Settings of the fake driver (see fake-cuda.c) and of the fake NVRTC. */
  set(name: string, value: number): void;
  get(name: string): number;
  setNvrtc(name: 'fail_line' | 'delay_ms' | 'newest', value: number): void;
  /** Number of compilations by NVRTC. */
  compilations(): number;
  /** The driver's calls so far, in order. */
  calls(): Call[];
  clearCalls(): void;
  remove(): Promise<void>;
}

export interface Call {
  readonly thread: number;
  /** "cuLaunchKernel", or MISUSE. */
  readonly name: string;
  readonly text: string;
}

/** Compiles the fakes and makes this process use them; without a compiler, returns the reason. */
export async function buildFake({ code = true } = {}): Promise<Fake | { readonly reason: string }> {
  const compiler = await findCompiler();
  if ('reason' in compiler) return compiler;
  if (process.platform !== 'linux') return { reason: 'the fake CUDA is for Linux' };
  const folder = await mkdtemp(join(tmpdir(), 'millrace-fake-'));
  const library = (name: string): string => join(folder, `lib${name}.so`);
  for (const name of ['fake-cuda', 'fake-nvrtc', 'fake-nvml']) await copyFile(built(compiler, name), library(name));
  const log = join(folder, 'calls');
  writeFileSync(log, '');
  const environment = {
    MILLRACE_LIBCUDA: library('fake-cuda'),
    MILLRACE_LIBNVRTC: library('fake-nvrtc'),
    MILLRACE_LIBNVML: library('fake-nvml'),
    MILLRACE_CACHE_DIR: join(folder, 'cache'),
    FAKE_CUDA_LOG: log,
    ...(code ? { FAKE_NVRTC_CC: compiler.path, FAKE_NVRTC_HEADER: source('fake-device.h') } : {}),
  };
  Object.assign(process.env, environment);
  const [driver, nvrtc] = ['fake-cuda', 'fake-nvrtc'].map((name) => {
    const loaded = koffi.load(library(name));
    return {
      set: loaded.func('int fake_set(const char *name, int64_t value)'),
      get: loaded.func('int64_t fake_get(const char *name)'),
    };
  });
  return {
    folder,
    environment,
    set: (name, value) => driver!.set(name, value),
    get: (name) => Number(driver!.get(name)),
    setNvrtc: (name, value) => nvrtc!.set(name, value),
    compilations: () => Number(nvrtc!.get('')),
    calls: () => callsIn(readFileSync(log, 'utf8')),
    clearCalls: () => writeFileSync(log, ''),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

const source = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** The library as compiled once for all files of a run. */
function built(compiler: Compiler, name: string): string {
  const library = join(process.env.XDG_DATA_HOME!, `lib${name}.so`);
  if (existsSync(library)) return library;
  const unfinished = `${library}.${process.pid}`;
  const flags = ['-O1', '-g', '-Wall', '-Werror', '-shared', '-fPIC', '-o', unfinished, source(`${name}.c`)];
  execFileSync(compiler.path, [...compiler.arguments, ...flags, '-lpthread', '-ldl'], { stdio: 'pipe' });
  renameSync(unfinished, library);
  return library;
}

export function callsIn(text: string): Call[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, thread = '', name = '', rest = ''] = /^(\d+) (\S+) ?(.*)$/.exec(line) ?? [];
      return { thread: Number(thread), name, text: rest };
    });
}
