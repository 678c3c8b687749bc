import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '../../device/cache/temporary.js';

/** Where compiled programs go: our own, PoCL's, and the NVIDIA driver's. */
const variables = ['MILLRACE_CACHE_DIR', 'POCL_CACHE_DIR', 'CUDA_CACHE_PATH'] as const;

/**
 * Has every device that is opened from now on keep its compiled programs in a folder of its own. `end` removes it: what
 * is compiled once and never again must not fill a cache. Drivers read the environment when they start, which is before
 * this where a device of theirs was opened before.
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
