import { cacheKey, type DiskCache } from '../cache/cache.js';
import type { DeviceInfo } from '../device.js';
import { buildCached } from '../gpu/build/build.js';
import type { BuildResult } from '../gpu/host/device.js';
import type { GpuSource } from '../gpu/worker/driver.js';
import { ask } from './runtime/helper-pool.js';

/**
 * Compiles a kernel's text in another process, through the cache. Throws CompileRefusal. Builds nothing if that process
 * cannot open the device (some allow one process at a time): the worker compiles then, and delays its streams.
 */
export function build(source: GpuSource, info: DeviceInfo, cache: DiskCache): Promise<BuildResult> {
  const { text } = source;
  const options = source.shape.compilerOptions;
  const { opencl = '', driver = '', platform = '' } = info.versions;
  const key = cacheKey(['opencl', text, options.join(' '), platform, info.name, opencl, driver]);
  const number = Number(info.id.split(':')[1]);
  const compile = () => ask({ kind: 'compile', number, text, options });
  return buildCached(source, { cache, key, binary: 'bin', text: 'cl', compile });
}
