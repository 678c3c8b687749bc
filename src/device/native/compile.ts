import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CpuFeatures, MillraceError } from '../../kernel/index.js';
import { cacheKey, type DiskCache } from '../cache/cache.js';
import { compileError, type GeneratedText } from '../checks/compile-error.js';
import { type Compiler, runProgram } from './compiler.js';

/** C text, with what its errors need. */
export interface CSource extends GeneratedText {
  readonly lanes: number;
  /** Further arguments for the compiler. */
  readonly flags?: readonly string[];
}

export interface CompiledLibrary {
  /** The path of the shared library. */
  readonly path: string;
  readonly milliseconds: number;
  readonly cached: boolean;
}

/**
 * Exact IEEE arithmetic and wrapping integers, as the language defines them. No flag may change a result, so no
 * -ffast-math and none of its parts but -fno-math-errno (sqrt becomes an instruction).
 */
const FLAGS = [
  '-std=gnu11',
  '-O3',
  '-fno-strict-aliasing',
  '-fwrapv',
  '-ffp-contract=off',
  '-fno-math-errno',
  '-w',
  '-pipe',
  '-shared',
  '-fPIC',
];

/** Environment variables that change the output of GCC and clang for the same command. */
export const COMPILER_VARIABLES = [
  'CPATH',
  'C_INCLUDE_PATH',
  'COMPILER_PATH',
  'GCC_EXEC_PREFIX',
  'LIBRARY_PATH',
  'CCC_OVERRIDE_OPTIONS',
] as const;

/** Compiles to a shared library, through the cache. */
export async function compile(
  source: CSource,
  compiler: Compiler,
  cpu: CpuFeatures,
  cache: DiskCache,
): Promise<CompiledLibrary> {
  const started = performance.now();
  const flags = [...compiler.machineFlags, ...FLAGS, ...vectorFlags(source.lanes, cpu), ...(source.flags ?? [])];
  const key = cacheKey([
    'native',
    source.text,
    JSON.stringify([compiler.path, ...compiler.arguments, ...flags]),
    compiler.identity,
    JSON.stringify(COMPILER_VARIABLES.map((name) => process.env[name] ?? null)),
    [...cpu.features].sort().join(' '),
  ]);
  const running = `${cache.directory} ${key}`;
  let work = compilations.get(running);
  if (work === undefined) {
    work = compileOnce(source, compiler, flags, key, cache).finally(() => compilations.delete(running));
    compilations.set(running, work);
  }
  const { folder, cached } = await work;
  return { path: join(folder, LIBRARY), milliseconds: performance.now() - started, cached };
}

const LIBRARY = 'kernel.so';
const TEXT = 'kernel.c';

/** Concurrent requests for the same text share one run of the compiler. */
const compilations = new Map<string, Promise<{ folder: string; cached: boolean }>>();

async function compileOnce(
  source: CSource,
  compiler: Compiler,
  flags: readonly string[],
  key: string,
  cache: DiskCache,
): Promise<{ folder: string; cached: boolean }> {
  const known = await cache.get(key, LIBRARY);
  if (known !== undefined) return { folder: known, cached: true };
  const folder = await cache.put(key, async (fresh) => {
    const text = join(fresh, TEXT);
    await writeFile(text, source.text);
    const words = [...compiler.arguments, ...flags, '-o', join(fresh, LIBRARY), text, '-lm'];
    const done = await runProgram(compiler.path, words, { ...process.env, LC_ALL: 'C', TMPDIR: fresh });
    if (!done.ok) throw await failedCompilation(source, compiler, done.text, text, cache);
  });
  return { folder, cached: false };
}

/** GCC prefers 256-bit vectors even if 512 are available; a gang of 16 is written for 512. */
function vectorFlags(lanes: number, { features }: CpuFeatures): string[] {
  return features.has('avx512f') && lanes >= 16 ? ['-mprefer-vector-width=512'] : [];
}

async function failedCompilation(
  source: CSource,
  compiler: Compiler,
  output: string,
  file: string,
  cache: DiskCache,
): Promise<MillraceError> {
  const kept = join(cache.directory, `failed-${source.name}.c`);
  await copyFile(file, kept).catch(() => undefined);
  return compilerError(source, compiler.version, output, kept);
}

/** Builds the error from the compiler's first error. */
export function compilerError(source: CSource, version: string, output: string, kept: string): MillraceError {
  const match = /:(\d+):\d+:\s*(?:fatal )?error:\s*(.*)/.exec(output);
  return compileError(source, {
    compiler: 'the C compiler',
    error: match?.[2] ?? output.trim().split('\n')[0] ?? '',
    line: match ? Number(match[1]) : undefined,
    asked: `compiling ${source.name} for ${source.lanes} lane(s) with ${version}`,
    advice: `this is a bug in Millrace or in the compiler: please report it with ${kept}`,
  });
}
