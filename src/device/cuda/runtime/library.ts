import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadError } from '../../native/libc.js';

/** The NVIDIA libraries that the device uses: the driver, its compiler, its sensors, ranges for profilers. */
export type LibraryName = 'cuda' | 'nvrtc' | 'nvml' | 'nvtx';

export interface FoundLibrary {
  /** The argument of `dlopen`: a name or a file. */
  readonly path: string;
}

interface LibrarySpec {
  /** The environment variable that names a file instead: for unusual locations, and for tests. */
  readonly variable: string;
  readonly sonames: (major: number | undefined) => readonly string[];
  readonly folders: () => readonly string[];
  readonly missing: string;
}

/** Newest first. CUDA 11 had the minor version in the name. */
const NVRTC_VERSIONS = ['14', '13', '12', '11.2', '11.1', '11.0'];

const librarySpecs: Readonly<Record<LibraryName, LibrarySpec>> = {
  cuda: {
    variable: 'MILLRACE_LIBCUDA',
    sonames: () => ['libcuda.so.1', 'libcuda.so'],
    folders: () => ['/usr/lib/wsl/lib', '/usr/local/cuda/compat', '/usr/local/nvidia/lib64'],
    missing: 'no NVIDIA driver: libcuda.so.1 not found; install the driver (nvidia-driver, or libcuda1)',
  },
  nvrtc: {
    variable: 'MILLRACE_LIBNVRTC',
    sonames: nvrtcNames,
    folders: toolkitFolders,
    missing:
      'NVRTC, the library that compiles kernels for NVIDIA, not found: install cuda-nvrtc-13-0 (or the version of your ' +
      "driver) from NVIDIA's packages, libnvrtc12 from Debian's or Ubuntu's, or `pip install nvidia-cuda-nvrtc`",
  },
  nvml: {
    variable: 'MILLRACE_LIBNVML',
    sonames: () => ['libnvidia-ml.so.1', 'libnvidia-ml.so'],
    folders: () => ['/usr/lib/wsl/lib', '/usr/local/nvidia/lib64'],
    missing: 'no NVML: libnvidia-ml.so.1 not found; it comes with the driver (libnvidia-ml1)',
  },
  nvtx: {
    variable: 'MILLRACE_LIBNVTX',
    // The second name was used up to CUDA 12.
    sonames: () => ['libnvtx3interop.so.1', 'libnvToolsExt.so.1'],
    folders: toolkitFolders,
    missing: 'NVTX not found: install cuda-nvtx-13-0, or the version of your CUDA',
  },
};

/**
 * The driver reliably runs code of its own version's compiler and of older ones; newer ones are tried last. The plain
 * name is what the system's administrator has chosen.
 */
export function nvrtcNames(major = Number.POSITIVE_INFINITY): readonly string[] {
  const fits = (version: string): boolean => Number.parseInt(version, 10) <= major;
  const own = NVRTC_VERSIONS.filter((version) => Number.parseInt(version, 10) === major);
  const older = NVRTC_VERSIONS.filter((version) => fits(version) && !own.includes(version));
  const newer = NVRTC_VERSIONS.filter((version) => !fits(version)).reverse();
  return [...own, '', ...older, ...newer].map((version) => `libnvrtc.so${version === '' ? '' : `.${version}`}`);
}

/**
 * Searches a library by its names, then in the usual folders, and pins the first that loads for the life of the
 * process: libcuda and NVRTC start threads, which would crash if the library were unloaded. `major`: the driver's CUDA
 * version.
 */
export function findLibrary(
  name: LibraryName,
  major?: number,
  environment: NodeJS.ProcessEnv = process.env,
): FoundLibrary | { readonly reason: string } {
  const { variable, sonames, folders, missing } = librarySpecs[name];
  const configured = environment[variable];
  if (configured !== undefined && configured !== '') {
    const fault = loadError(configured);
    return fault === undefined
      ? { path: configured }
      : { reason: `${variable} names a library that cannot be loaded: ${fault}` };
  }
  if (process.platform !== 'linux')
    return { reason: `CUDA devices are supported only on Linux, not on ${process.platform}` };
  const faults: string[] = [];
  for (const path of sonames(major)) {
    const fault = loadError(path);
    if (fault === undefined) return { path };
    if (!/no such file/i.test(fault)) faults.push(fault);
  }
  for (const folder of folders()) {
    for (const soname of sonames(major)) {
      const path = join(folder, soname);
      if (!existsSync(path)) continue;
      const fault = loadError(path);
      if (fault === undefined) return { path };
      faults.push(fault);
    }
  }
  const first = faults[0];
  return { reason: first === undefined ? `${missing}; or name the file in ${variable}` : first };
}

/** The folders where CUDA toolkits, conda and pip put libraries; existing ones only, those from the environment first. */
function toolkitFolders(environment: NodeJS.ProcessEnv = process.env): readonly string[] {
  const { CUDA_HOME, CUDA_PATH, CONDA_PREFIX, VIRTUAL_ENV } = environment;
  const toolkits = [CUDA_HOME, CUDA_PATH, '/usr/local/cuda', ...versioned('/usr/local', /^cuda-/), '/opt/cuda'];
  const libraries = ['lib64', 'lib', `targets/${process.arch === 'arm64' ? 'sbsa' : 'x86_64'}-linux/lib`];
  const pythons = [VIRTUAL_ENV, CONDA_PREFIX, '/usr', '/usr/local', join(homedir(), '.local')];
  const packages = nonEmpty(pythons).flatMap((root) =>
    versioned(join(root, 'lib'), /^python3/).flatMap((python) =>
      ['site-packages', 'dist-packages'].map((name) => join(python, name, 'nvidia')),
    ),
  );
  const folders = [
    ...nonEmpty(toolkits).flatMap((root) => libraries.map((name) => join(root, name))),
    ...nonEmpty([CONDA_PREFIX]).map((root) => join(root, 'lib')),
    ...packages.flatMap((root) => [
      join(root, 'cuda_nvrtc', 'lib'),
      ...versioned(root, /^cu\d+$/).map((own) => join(own, 'lib')),
    ]),
  ];
  return [...new Set(folders)].filter((folder) => existsSync(folder));
}

const nonEmpty = (roots: readonly (string | undefined)[]): string[] =>
  roots.filter((root): root is string => root !== undefined && root !== '' && root !== dirname(root));

/** Returns the folders in `root` that match the name, highest version first. */
function versioned(root: string, name: RegExp): string[] {
  try {
    const order = new Intl.Collator('en', { numeric: true }).compare;
    return readdirSync(root)
      .filter((entry) => name.test(entry))
      .sort((a, b) => order(b, a))
      .map((entry) => join(root, entry));
  } catch {
    return [];
  }
}
