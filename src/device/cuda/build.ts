import { cacheKey, type DiskCache } from '../cache/cache.js';
import { buildCached } from '../gpu/build/build.js';
import type { BuildResult } from '../gpu/host/device.js';
import type { GpuSource } from '../gpu/worker/driver.js';
import { ask } from './runtime/helper-pool.js';
import type { CompileTarget } from './runtime/nvrtc.js';

/** Everything besides the text that machine code depends on. */
export interface Toolchain {
  readonly target: CompileTarget;
  /** NVRTC's version, and the driver's: 13000. */
  readonly nvrtc: string;
  readonly cuda: number;
  /** The driver's version, "580.95.05": a newer one may compile PTX better. */
  readonly driver: string | undefined;
}

/** Compiles a kernel's text on another thread, through the cache. Throws CompileRefusal. */
export function build(source: GpuSource, tools: Toolchain, cache: DiskCache): Promise<BuildResult> {
  const { target, nvrtc, cuda, driver = '' } = tools;
  const { text } = source;
  const options = source.shape.compilerOptions;
  const architecture = `${target.option} ${target.form}`;
  const key = cacheKey(['cuda', text, options.join(' '), architecture, nvrtc, String(cuda), driver]);
  const major = Math.floor(cuda / 1000);
  const compile = () => ask({ kind: 'compile', major, text, options, target });
  return buildCached(source, { cache, key, binary: 'cubin', text: 'cu', compile });
}
