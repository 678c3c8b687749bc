import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * What this process holds, after a collection of garbage: megabytes of memory, open files, mappings. Linux only. Pages of
 * V8's heaps do not count as mappings: there are some hundred more or less as V8 sees fit. Nor do kernels that PoCL has
 * mapped: PoCL 3.1 holds each of them twice and lets go of it once, so that it unmaps none.
 * @returns {Promise<{ memory: number, files: number, mappings: number }>}
 */
export async function processSize() {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  // What finalizers let go of is unloaded in later turns of the event loop.
  for (let i = 0; i < 4; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    memory: Math.round(process.memoryUsage.rss() / 1e6),
    files: readdirSync('/proc/self/fd').length,
    mappings: readFileSync('/proc/self/maps', 'utf8').trimEnd().split('\n').filter(isCounted).length,
  };
}

/** @param {string} line */
function isCounted(line) {
  const [range = '', access, , , , path = ''] = line.split(/\s+/);
  const [from = 0, to = 0] = range.split('-').map((at) => Number.parseInt(at, 16));
  const isHeapPage = path === '' && access === 'rw-p' && to - from === V8_PAGE;
  return !isHeapPage && !path.includes('/pocl/kcache/');
}
const V8_PAGE = 2 ** 18;

/**
 * Whether the process has grown by little only, said line by line.
 * @param {Awaited<ReturnType<typeof processSize>>} before
 * @param {Awaited<ReturnType<typeof processSize>>} after
 */
export function isFlat(before, after) {
  console.log('before', before, 'after', after);
  const bounds = /** @type {const} */ ({ memory: 60, files: 4, mappings: 60 });
  const names = { memory: 'MB of memory', files: 'open files', mappings: 'mappings' };
  return /** @type {(keyof typeof bounds)[]} */ (Object.keys(bounds))
    .map((what) => {
      const grown = after[what] - before[what];
      const isBelow = grown <= bounds[what];
      console.log(`${isBelow ? 'flat' : 'NOT FLAT'}: ${grown} more ${names[what]}, up to ${bounds[what]} are accepted`);
      return isBelow;
    })
    .every(Boolean);
}
