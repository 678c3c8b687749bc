import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where compiled programs go: our own, PoCL's, and the NVIDIA driver's. */
const variables = ['MILLRACE_CACHE_DIR', 'POCL_CACHE_DIR', 'CUDA_CACHE_PATH'] as const;

/**
 * Has every device that is opened from now on keep its compiled programs in a folder of its own. `end` removes it: what
 * is compiled once and never again must not fill a cache. Drivers read the environment when they start, which is before
 * this where a device of theirs was opened before.
 */
export function startScratchCache(): { end(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-scratch-'));
  const before = variables.map((name) => [name, process.env[name]] as const);
  for (const name of variables) process.env[name] = join(folder, name.toLowerCase());
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  return {
    end: () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
      process.off('exit', remove);
      remove();
    },
  };
}
