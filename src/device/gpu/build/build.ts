import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DiskCache } from '../../cache/cache.js';
import type { BuildResult } from '../host/device.js';
import { CompileRefusal, type GpuSource } from '../worker/driver.js';

/** A compiler service's answer: a binary, a compile error, or the reason why the compiler is unavailable. */
export type CompileResult =
  | { readonly binary: Uint8Array }
  | { readonly compiler: string; readonly line: number | undefined; readonly message: string }
  | { readonly unavailable: string };

export interface BuildOptions {
  readonly cache: DiskCache;
  /** A `cacheKey` of everything that the binary depends on. */
  readonly key: string;
  /** File name extensions of the binary and the text, for people who inspect the cache. */
  readonly binary: string;
  readonly text: string;
  compile(): Promise<CompileResult>;
}

/**
 * Compiles a kernel's text through the cache. Throws CompileRefusal, and leaves the refused text in the cache's folder.
 * Returns no binary if the compiler is not available: the driver compiles the text then.
 */
export function buildCached(source: GpuSource, options: BuildOptions): Promise<BuildResult> {
  const running = `${options.cache.directory} ${options.key}`;
  let work = buildsInProgress.get(running);
  if (work === undefined) {
    work = build(source, options).finally(() => buildsInProgress.delete(running));
    buildsInProgress.set(running, work);
  }
  return work;
}

/** Concurrent requests for the same text share one run of the compiler. */
const buildsInProgress = new Map<string, Promise<BuildResult>>();

async function build({ name, text }: GpuSource, options: BuildOptions): Promise<BuildResult> {
  const { cache, key } = options;
  const file = `kernel.${options.binary}`;
  const known = await cache.get(key, file);
  if (known !== undefined) return { binary: await readFile(join(known, file)), cached: true };
  const answer = await options.compile();
  if ('unavailable' in answer) return { cached: false };
  if (!('binary' in answer)) {
    await writeFile(join(cache.directory, `failed-${name}.${options.text}`), text).catch(() => undefined);
    throw new CompileRefusal(answer.compiler, answer.line, answer.message);
  }
  const { binary } = answer;
  await cache.put(key, async (folder) => {
    await writeFile(join(folder, file), binary);
    await writeFile(join(folder, `kernel.${options.text}`), text);
  });
  return { binary, cached: false };
}
