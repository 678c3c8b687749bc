import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { VariantOptions } from '../../src/export/c/variants.js';
import { exportC } from '../../src/export/c.js';
import type { ExportTarget } from '../../src/export/request.js';
import { writeFiles } from '../../src/export/write.js';
import type { Kernel } from '../../src/kernel/index.js';

export const run = promisify(execFile);
export const here = fileURLToPath(new URL('.', import.meta.url));

export const compiler = await run('gcc', ['--version']).then(
  () => undefined,
  () => 'no GCC',
);

/** Why tests with clang cannot run. */
export const clang = await run('clang', ['--version']).then(
  () => undefined,
  () => 'no clang',
);

/** LSAN_OPTIONS with which drivers may keep memory: PoCL and LLVM until the end, the fake CUDA to find later uses. */
export const ownLeaks = `suppressions=${join(here, 'drivers.supp')}:print_suppressions=0`;

/** Exports a kernel to a folder; several may share it, and then share the runtime. */
export function exportTo(
  folder: string,
  name: string,
  kernel: Kernel,
  { targets = ['cpu', 'cuda', 'opencl'], ...options }: { targets?: ExportTarget[] } & VariantOptions = {},
): void {
  writeFiles(folder, exportC({ kernel: { source: name, cpu: { kernel }, gpu: { kernel } }, name, targets }, options));
}

/** The variants that this processor can run, to save time. */
export const thisArch = process.arch === 'arm64' ? 'arm' : 'x86';

const KERNEL_FLAGS = ['-std=gnu11', '-fno-strict-aliasing', '-fwrapv', '-ffp-contract=off', '-fno-math-errno'];

export interface BuildOptions {
  readonly cc?: 'gcc' | 'clang';
  readonly optimize?: string;
  /** For all files: sanitizers. */
  readonly flags?: readonly string[];
  /** Calls of the runtime can be made to fail: `int fault(const char *)` decides. */
  readonly faults?: boolean;
}

/** Compiles the exported folder and a test program against it; returns the program's path. */
export async function build(folder: string, program: string, options: BuildOptions = {}): Promise<string> {
  const { cc = 'gcc', optimize = '-O1', flags = [], faults = false } = options;
  const out = join(folder, `${program}.${cc}`);
  const objects = `${out}.objects`;
  await run('mkdir', ['-p', objects]);
  const hook = join(folder, 'fault.h');
  writeFileSync(hook, 'int fault(const char *what);\n#define MR_FAULT(what) fault(what)\n');
  const common = [optimize, '-g', ...flags, `-I${folder}`, `-I${here}`];
  const strict = ['-std=c11', '-Wall', '-Wextra', '-Werror'];
  const kernels = readdirSync(folder).filter(
    (name) => name.endsWith('.c') && name !== 'millrace_runtime.c' && name !== 'example.c',
  );
  const compile = (file: string, own: readonly string[]): Promise<unknown> =>
    run(cc, [...common, ...own, '-c', '-o', join(objects, `${file}.o`), join(folder, file)]);
  await compile('millrace_runtime.c', [...strict, '-Wconversion', ...(faults ? ['-include', hook] : [])]);
  for (const name of kernels) await compile(name, [...KERNEL_FLAGS, '-Wall', '-Wextra', '-Werror']);
  const list = readdirSync(objects).map((name) => join(objects, name));
  const source = join(here, `${program}.c`);
  await run(cc, [...common, ...strict, '-o', out, source, ...list, '-lm', '-ldl', '-lpthread']);
  return out;
}
