// Bundles the page that works for a fleet (`src/web/join`) into the folder `web/files` of tsc's output, which is the argument:
//
//   join.html, join.css, join.js   the page
//   join-worker.js                 its thread: the connection, the worker of a fleet, the engine; the threads of its devices
//                                  are beside it, where `bundle-playground.mjs` has put them
//   join-gaps-worker.js            the thread that checks gaps
//   join-uhash-reference.js        the module that checks proofs, which a thread of the engine loads
//   join-licences.txt              of the packages in these files
//
// The thread is made of the modules that Node's worker is made of. Code of theirs that only Node runs is left out; a bundle
// that still needs Node is an error.

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { bundledLicences } from './bundled-licences.mjs';
import { root } from './prepare.mjs';

const [, , output = 'dist'] = process.argv;
const built = resolve(output);
const folder = join(built, 'web', 'files');
const web = join(root, 'src', 'web');
const page = join(web, 'join', 'page');

/** @type {import('rolldown').Plugin} */
const withoutNode = {
  name: 'without Node',
  resolveId(id) {
    // wabt requires `fs` in Node only.
    if (id === 'fs') return '\0fs';
    if (/^node:|^@nats-io\/(transport-node|jetstream|jwt)$/.test(id))
      return { id, external: true, moduleSideEffects: false };
    return undefined;
  },
  load: (id) => (id === '\0fs' ? 'module.exports = {};' : undefined),
};

/** What checks proofs is loaded by its address. @type {import('rolldown').Plugin} */
const ownFiles = {
  name: 'own files',
  transform(code, id) {
    if (!/[\\/]uhash[\\/]job[\\/]proof-search\.js$/.test(id)) return undefined;
    const replaced = code.replace("url, '../kernel/reference.js'", "url, 'join-uhash-reference.js'");
    if (replaced === code) throw new Error(`${id} does not name its module as it did`);
    return replaced;
  },
};

/** Modules of all bundles. @type {Set<string>} */
const bundled = new Set();

copyFileSync(join(page, 'join.html'), join(folder, 'join.html'));
const styles = [join(web, 'page', 'theme.css'), join(web, 'page', 'dashboard.css'), join(page, 'join.css')];
writeFileSync(join(folder, 'join.css'), styles.map((file) => readFileSync(file, 'utf8')).join('\n'));
await bundle({ join: join(page, 'join.tsx') }, { codeSplitting: false });
await bundle({ 'join-worker': join(built, 'join-worker.js') }, { chunkFileNames: 'join-[name].js' });
const workload = join(built, 'workload');
await bundle({ 'join-gaps-worker': join(workload, 'gaps', 'job', 'verifier-thread.js') }, { codeSplitting: false });
await bundle({ 'join-uhash-reference': join(workload, 'uhash', 'kernel', 'reference.js') }, { codeSplitting: false });
writeFileSync(join(folder, 'join-licences.txt'), bundledLicences(bundled));

/**
 * @param {Record<string, string>} input
 * @param {import('rolldown').OutputOptions} options
 */
async function bundle(input, options) {
  const build = await rolldown({
    input,
    platform: 'browser',
    treeshake: { moduleSideEffects: (id) => !/[\\/]fleet[\\/]|[\\/]store[\\/]|[\\/]workload[\\/]|^node:/.test(id) },
    resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } },
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { 'process.env.NODE_ENV': '"production"', __filename: 'undefined', __dirname: 'undefined' },
    },
    plugins: [withoutNode, ownFiles],
    onLog(_level, { code, message }) {
      // A page could not load any other unresolved import.
      if (code === 'UNRESOLVED_IMPORT') throw new Error(message);
      process.stderr.write(`${message}\n`);
    },
  });
  const { output: chunks } = await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    minify: true,
    ...options,
  });
  await build.close();
  for (const chunk of chunks) {
    if (chunk.type === 'chunk') for (const id of chunk.moduleIds) bundled.add(id);
    // `imports` also lists modules of which nothing is left.
    const [, needed] = (chunk.type === 'chunk' && /(?:from|import)\s*["'`]((?:node:|@)[^"'`]+)/.exec(chunk.code)) || [];
    if (needed !== undefined) throw new Error(`${chunk.fileName} needs ${needed}, which a page does not have`);
  }
}
