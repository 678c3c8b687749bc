import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../../device/cache/temporary.js';

/** Variables that set the caches of compiled programs: our own, PoCL's, and the NVIDIA driver's. */
const variables = ['MILLRACE_CACHE_DIR', 'POCL_CACHE_DIR', 'CUDA_CACHE_PATH'] as const;

/**
 * Makes devices opened from now on cache compiled programs in a temporary folder. `end` removes it: programs that are
 * compiled once and never again must not fill a cache. A driver reads the environment when it starts, so this has no
 * effect on a driver whose device was opened before.
 */
export function startScratchCache(): { end(): void } {
  const folder = temporaryFolder(tmpdir(), 'millrace-scratch-');
  const before = variables.map((name) => [name, process.env[name]] as const);
  for (const name of variables) process.env[name] = join(folder.path, name.toLowerCase());
  return {
    end: () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      folder.remove();
    },
  };
}
