// Programs from Debian packages that tests use. Millrace itself never installs packages.

import { spawnSync } from 'node:child_process';

/**
 * @typedef {object} Need
 * @property {string} probe shell command that succeeds if the program is installed and works
 * @property {readonly string[]} packages
 * @property {string} without tests that are skipped without it
 */

/** @type {readonly Need[]} */
const needs = [
  {
    // A compiler without the C library's headers compiles nothing, hence not just `command -v cc`.
    probe: "echo '#include <pthread.h>' | cc -fsyntax-only -x c -",
    packages: ['gcc', 'libc6-dev'],
    without: 'tests of the native device',
  },
  { probe: 'command -v chromium', packages: ['chromium'], without: 'tests in a browser, and of WebGPU without a GPU' },
  {
    // Checks the library: the ICD file that names it stays when the package is removed.
    probe: 'ldconfig -p | grep -q libpocl.so && ldconfig -p | grep -q libOpenCL.so.1',
    packages: ['pocl-opencl-icd', 'ocl-icd-libopencl1'],
    without: 'tests of OpenCL without a GPU',
  },
  // The loader only: the driver that WebGPU's tests use is SwiftShader, which comes with chromium.
  { probe: 'ldconfig -p | grep -q libvulkan.so.1', packages: ['libvulkan1'], without: 'tests of WebGPU' },
  {
    probe: 'command -v mp64 && command -v crunch',
    packages: ['maskprocessor', 'crunch'],
    without: 'comparisons of words with mp64 and crunch',
  },
  { probe: 'command -v openssl', packages: ['openssl'], without: 'comparisons with OpenSSL' },
  { probe: 'command -v gp', packages: ['pari-gp'], without: 'comparisons of primes with PARI/GP' },
  {
    probe: 'PATH="$PATH:/usr/sbin" command -v nats-server',
    packages: ['nats-server'],
    without: 'tests of fleets with a real server',
  },
  {
    probe: "python3 -c 'import numpy'",
    packages: ['python3-numpy'],
    without: 'comparisons of encode with NumPy, and files that it wrote',
  },
];

/**
 * Installs missing packages if this process is root on a system with apt-get. Otherwise only lists them; the tests that
 * need them are skipped.
 * @param {(text: string) => void} say
 */
export function ensureDebianPackages(say) {
  let missing = needs.filter((need) => !succeeds(need.probe));
  if (missing.length === 0) return;
  const packages = missing.flatMap((need) => need.packages);
  if (process.getuid?.() === 0 && succeeds('command -v apt-get')) {
    say(`installing Debian packages: ${packages.join(' ')}`);
    const output = aptGet(['update']) ?? aptGet(['install', '--yes', '--no-install-recommends', ...packages]);
    missing = missing.filter((need) => !succeeds(need.probe));
    if (missing.length > 0 && output) process.stderr.write(`${output.trimEnd()}\n`);
  }
  for (const need of missing) say(`not installed: ${need.packages.join(', ')}; skipped: ${need.without}`);
}

/**
 * @param {readonly string[]} args
 * @returns {string | undefined} its output if it failed
 */
function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const done = spawnSync('apt-get', ['-qq', ...args], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return done.status === 0 ? undefined : done.stdout + done.stderr;
}

/** @param {string} command */
function succeeds(command) {
  return spawnSync('sh', ['-c', command], { stdio: 'ignore' }).status === 0;
}
