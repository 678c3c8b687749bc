import { readdirSync, readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * This process's memory in megabytes, open files and mappings after a garbage collection. Linux only. Pages of V8's heaps
 * do not count as mappings: their number varies by some hundred. Nor do kernels that PoCL has mapped: PoCL 3.1 retains
 * each twice and releases it once, so it never unmaps them.
 * @returns {Promise<{ memory: number, files: number, mappings: number }>}
 */
export async function processSize() {
  const collect = collector();
  // Libraries released by finalizers are unloaded in later turns of the event loop.
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

/**
 * The flag belongs to the whole process, and threads of devices set and clear it, too.
 * @returns {() => void}
 */
function collector() {
  for (;;) {
    setFlagsFromString('--expose-gc');
    const found = runInNewContext('globalThis.gc');
    if (typeof found === 'function') return found;
  }
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
 * True if the process has grown by no more than the bounds. Prints one line per figure.
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
