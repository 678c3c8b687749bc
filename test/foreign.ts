import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { thisCpu } from '../src/device/native/cpu.js';
import { type CpuFeatures, type FieldValues, JobParameters, type Kernel, lower } from '../src/kernel/index.js';

/** Another processor, or this one with fewer instructions: its compiler and, if needed, its emulator. */
export interface Foreign {
  readonly cpu: CpuFeatures;
  /** Compiler and flags. */
  readonly compiler: readonly string[];
  readonly emulator?: readonly string[];
}

/** With SHA-2 too. On ARM it needs no emulator. */
export const armWithAes: Foreign = {
  cpu: { arch: 'arm', features: new Set(['neon', 'aes', 'sha2']) },
  ...(process.arch === 'arm64'
    ? { compiler: ['gcc', '-march=armv8-a+crypto'] }
    : {
        compiler: ['aarch64-linux-gnu-gcc', '-static', '-march=armv8-a+crypto'],
        emulator: ['qemu-aarch64', '-cpu', 'max'],
      }),
};

export const x86WithAesNi: Foreign = {
  cpu: { arch: 'x86', features: new Set(['sse4_1', 'aes', 'avx2']) },
  compiler: ['gcc', '-mavx2', '-maes'],
};

/** Why its kernels cannot run here; undefined if they can. */
export function missing({ cpu, compiler, emulator }: Foreign): string | undefined {
  const absent = [compiler[0], emulator?.[0]].find((name) => name && spawnSync(name, ['--version']).status !== 0);
  if (absent) return `${absent} is not installed`;
  if (emulator) return undefined;
  const here = thisCpu();
  if (here.arch !== cpu.arch) return `this is not an ${cpu.arch} processor`;
  const lacking = [...cpu.features].filter((name) => !here.features.has(name));
  return lacking.length > 0 ? `this processor has no ${lacking.join(', ')}` : undefined;
}

/** Compiles a kernel over u32 buffers to a program, runs it, and returns the resulting buffers. */
export function runForeign(
  foreign: Foreign,
  kernel: Kernel,
  lanes: number,
  count: number,
  buffers: Readonly<Record<string, Uint32Array>>,
  chunk: FieldValues = {},
): Record<string, Uint32Array> {
  const { program, text } = lower(kernel, {
    target: 'c',
    lanes,
    hoist: true,
    checked: false,
    cpu: foreign.cpu,
    nativeBodies: true,
  });
  const params = new JobParameters(program, {}).words(0n, 0, chunk);
  const inputs = Object.values(buffers);
  const folder = mkdtempSync(join(tmpdir(), 'millrace-foreign-'));
  try {
    const [source, file] = [join(folder, 'kernel.c'), join(folder, 'kernel')];
    writeFileSync(source, `${text}\n${driver([params, ...inputs].map(({ byteLength }) => byteLength))}`);
    const [compiler = '', ...flags] = foreign.compiler;
    execFileSync(compiler, [...flags, ...FLAGS, '-o', file, source, '-lm']);
    const input = Buffer.concat(
      [params, ...inputs].map((part) => Buffer.from(part.buffer, part.byteOffset, part.byteLength)),
    );
    const [command = '', ...words] = [...(foreign.emulator ?? []), file, String(count)];
    const out = execFileSync(command, words, { input, maxBuffer: 2 ** 28 });
    let at = params.byteLength;
    return Object.fromEntries(
      Object.entries(buffers).map(([name, { byteLength }]) => {
        const part = new Uint32Array(Uint8Array.from(out.subarray(at, at + byteLength)).buffer);
        at += byteLength;
        return [name, part];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const FLAGS = ['-std=gnu11', '-O2', '-fno-strict-aliasing', '-fwrapv', '-ffp-contract=off', '-w'];

/** Reads parameters and buffers from stdin, runs the kernel over all items, writes them to stdout. The ring is empty. */
function driver(sizes: readonly number[]): string {
  return `#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  static const size_t sizes[] = {${sizes.join(', ')}};
  static uint64_t control[8], ring[8], launch[64];
  void *part[${sizes.length}];
  for (int i = 0; i < ${sizes.length}; i++) {
    part[i] = aligned_alloc(64, (sizes[i] + 127) / 64 * 64);
    if (fread(part[i], 1, sizes[i], stdin) != sizes[i]) return 2;
    launch[i == 0 ? 0 : 1 + 2 * i] = (uint64_t)part[i];
    if (i > 0) launch[2 + 2 * i] = sizes[i];
  }
  launch[1] = (uint64_t)control;
  launch[${1 + 2 * sizes.length}] = (uint64_t)ring;
  millrace_run(launch, 0, strtoull(argv[1], 0, 10));
  for (int i = 0; i < ${sizes.length}; i++) fwrite(part[i], 1, sizes[i], stdout);
  return 0;
}
`;
}
