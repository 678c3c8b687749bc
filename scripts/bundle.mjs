// Makes the files that a page loads, in the folder `browser` of tsc's output, which is the argument: `millrace.js` is what
// a page imports; the kernel language is a file of its own, by which errors tell its lines from its user's; `wabt.js` is
// loaded with the first kernel; `worker.js` is what the wasm device starts, `webgpu-worker.js` the webgpu device,
// `checker.js` a search whose hits are checked by a module.

import { join } from 'node:path';
import { rolldown } from 'rolldown';

const [, , folder = 'dist'] = process.argv;

await bundle('browser.js', 'millrace.js', {
  groups: [
    { name: 'kernel', test: /[\\/]kernel[\\/]/ },
    { name: 'wabt', test: /[\\/]wabt[\\/]/ },
    { name: 'devices', test: /[\\/]device[\\/](?!conformance)/ },
  ],
});
await bundle(join('device', 'wasm', 'worker.js'), 'worker.js', false);
await bundle(join('device', 'webgpu', 'worker.js'), 'webgpu-worker.js', false);
await bundle(join('engine', 'verify', 'checker.js'), 'checker.js', false);

/**
 * @param {string} from
 * @param {string} to
 * @param {NonNullable<import('rolldown').OutputOptions['codeSplitting']>} codeSplitting
 */
async function bundle(from, to, codeSplitting) {
  const build = await rolldown({
    input: { [to.replace(/\.js$/, '')]: join(folder, from) },
    platform: 'browser',
    external: ['fs'], // wabt asks for it where it runs in Node; in a page it never gets there
    onLog(_level, { code, message }) {
      // Anything else that a page could not load is a mistake of ours.
      if (code === 'UNRESOLVED_IMPORT') throw new Error(message);
      process.stderr.write(`${message}\n`);
    },
  });
  const names = { entryFileNames: '[name].js', chunkFileNames: '[name].js' };
  await build.write({ dir: join(folder, 'browser'), format: 'esm', ...names, codeSplitting });
  await build.close();
}
