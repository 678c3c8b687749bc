// Bundles the files that a page loads into the folder `browser` of tsc's output, which is the argument. A page imports
// `millrace.js`. The kernel language is a separate file, so that errors can distinguish its lines from the user's. `wabt.js`
// is loaded with the first kernel. Threads: `worker.js` (wasm), `webgpu-worker.js`, `checker.js` (`verify` modules).

import { join } from 'node:path';
import { rolldown } from 'rolldown';

const [, , folder = 'dist'] = process.argv;

await bundle('browser.js', 'millrace.js', {
  groups: [
    { name: 'kernel', test: /[\\/]kernel[\\/]/ },
    { name: 'wabt', test: /[\\/]wabt[\\/]/ },
    { name: 'devices', test: isOfDevices },
  ],
});
await bundle(join('device', 'wasm', 'worker.js'), 'worker.js', false);
await bundle(join('device', 'webgpu', 'worker.js'), 'webgpu-worker.js', false);
await bundle(join('engine', 'verify', 'checker.js'), 'checker.js', false);

/**
 * True for modules that list and open devices. The self-test is apart, and so is the driver of WebGPU, which only pages without
 * shared memory load, to run it in their own thread.
 * @param {string} id
 */
function isOfDevices(id) {
  const [, path] = /[\\/]device[\\/](.*)$/.exec(id) ?? [];
  if (path === undefined) return false;
  const driver =
    /^(gpu[\\/]worker[\\/](?!driver\.)|gpu[\\/]resident[\\/]grids|webgpu[\\/](work|driver|memory|submit)\b)/;
  return !/^conformance/.test(path) && !driver.test(path);
}

/**
 * @param {string} from
 * @param {string} to
 * @param {NonNullable<import('rolldown').OutputOptions['codeSplitting']>} codeSplitting
 */
async function bundle(from, to, codeSplitting) {
  const build = await rolldown({
    input: { [to.replace(/\.js$/, '')]: join(folder, from) },
    platform: 'browser',
    external: ['fs'], // wabt imports it in Node only
    onLog(_level, { code, message }) {
      // A page could not load any other unresolved import.
      if (code === 'UNRESOLVED_IMPORT') throw new Error(message);
      process.stderr.write(`${message}\n`);
    },
  });
  const names = { entryFileNames: '[name].js', chunkFileNames: '[name].js' };
  await build.write({ dir: join(folder, 'browser'), format: 'esm', ...names, codeSplitting });
  await build.close();
}
