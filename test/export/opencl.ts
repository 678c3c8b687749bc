import { join } from 'node:path';
import koffi from 'koffi';
import { here, ownLeaks, run } from './build.js';

/** How OpenCL's devices appear: as what they are, or as GPUs, for which the runtime has other code. */
export type OpenClFace = 'own' | 'gpu';

/**
 * Builds the OpenCL library of `opencl-shim.c`. Returns the environment in which programs use it, or why they cannot. A program
 * is right only if it writes nothing to stderr: there the shim says which objects were left or used after their release.
 */
export async function openClShim(
  folder: string,
): Promise<((face: OpenClFace) => Readonly<Record<string, string>>) | { readonly reason: string }> {
  if (!hasPlatform()) return { reason: 'no OpenCL' };
  const library = join(folder, 'libopencl-shim.so');
  const flags = ['-O1', '-g', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC'];
  await run('gcc', [...flags, '-o', library, join(here, 'opencl-shim.c'), '-lpthread', '-ldl']);
  return (face) => ({
    MILLRACE_LIBOPENCL: library,
    OPENCL_SHIM: face,
    ASAN_OPTIONS: 'use_sigaltstack=0', // PoCL's threads replace the stack for signals
    LSAN_OPTIONS: ownLeaks,
  });
}

function hasPlatform(): boolean {
  try {
    const count = koffi.load('libOpenCL.so.1').func('int clGetPlatformIDs(uint32_t, void *, _Out_ uint32_t *)');
    const found = [0];
    return count(0, null, found) === 0 && found[0]! > 0;
  } catch {
    return false; // the loader is not installed
  }
}
