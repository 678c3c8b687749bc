import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadError } from '../../native/libc.js';

const VARIABLE = 'MILLRACE_LIBOPENCL';
/** The loader: it finds the installed platforms and forwards calls to them. */
const loaders =
  process.platform === 'darwin'
    ? ['/System/Library/Frameworks/OpenCL.framework/OpenCL']
    : ['libOpenCL.so.1', 'libOpenCL.so'];

/**
 * Finds the loader and pins it for the life of the process: platforms start threads, which would crash if koffi
 * unloaded their code.
 */
export function findOpenCl(
  environment: NodeJS.ProcessEnv = process.env,
): { readonly path: string } | { readonly reason: string } {
  const configured = environment[VARIABLE];
  if (configured !== undefined && configured !== '') {
    const fault = loadLibrary(configured);
    return fault === undefined
      ? { path: configured }
      : { reason: `${VARIABLE} names a library that cannot be loaded: ${fault}` };
  }
  if (process.platform === 'win32') return { reason: 'OpenCL devices are supported only on Linux and macOS' };
  const faults: string[] = [];
  for (const path of loaders) {
    const fault = loadLibrary(path);
    if (fault === undefined) return { path };
    if (!/no such file/i.test(fault)) faults.push(fault);
  }
  const missing = `no OpenCL loader: ${loaders[0]} not found; install ocl-icd-libopencl1, or name the file in ${VARIABLE}`;
  return { reason: faults[0] ?? missing };
}

function loadLibrary(path: string): string | undefined {
  // PoCL compiles a kernel once for any grid, when the program is built, and once more for the grid of its first
  // launch. Our kernels choose their grids by themselves and gain nothing from that (block: 1.9 MH/s a core either
  // way), while the second compilation (block: 5 s) would take place in PoCL's threads, with work waiting, and bypass
  // our cache.
  process.env.POCL_WORK_GROUP_SPECIALIZATION ??= '0';
  // PoCL's checks of its own passes take a sixth of its time.
  process.env.POCL_LLVM_VERIFY ??= '0';
  return loadError(path);
}

/** Explains why a loader finds no platform, from the folder it reads: a file for each platform, naming a library. */
export function missingPlatforms(environment: NodeJS.ProcessEnv = process.env): string {
  const advice = 'install one: pocl-opencl-icd (CPU), nvidia-opencl-icd, intel-opencl-icd or mesa-opencl-icd';
  const folder = vendorsFolder(environment);
  const files = icdFiles(folder);
  if (files.length === 0) return `the OpenCL loader finds no platform: ${folder} lists none; ${advice}`;
  const named = files.map(({ file, library }) => `${file} names ${library}`).join(', ');
  return `the OpenCL loader finds no working platform: in ${folder}, ${named}; reinstall their packages, or ${advice}`;
}

export function vendorsFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return environment.OCL_ICD_VENDORS || environment.OPENCL_VENDOR_PATH || '/etc/OpenCL/vendors';
}

/** Lists the platforms registered with the loader, for reports. */
export function icdFiles(folder: string): readonly { readonly file: string; readonly library: string }[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith('.icd'))
      .map((file) => ({ file, library: readFileSync(join(folder, file), 'utf8').trim() }));
  } catch {
    return [];
  }
}
