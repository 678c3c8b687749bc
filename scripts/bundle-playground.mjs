// Bundles the playground (`src/web/playground`) into the folder `web/files` of tsc's output, which is the argument:
//
//   playground.js          the page, with the editor
//   playground-worker.js   the page's worker, with the engine and the devices of a page; their threads are beside it
//   sandbox.js             the thread of the user's code: the kernel language
//   frame.html             the frame around that thread, with its policy
//   examples.json          the kernels of examples/playground, and those of the workloads, each made one file
//   playground-licences.txt  of the packages in these files
//   completion.json        names and members for the editor's completion, from the types

import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { rolldown } from 'rolldown';
import { bundledLicences } from './bundled-licences.mjs';
import { completionData } from './completion-data.mjs';
import { root } from './prepare.mjs';

const [, , output = 'dist'] = process.argv;
const built = resolve(output);
const folder = join(built, 'web', 'files');
const source = join(root, 'src', 'web', 'playground');
const page = join(source, 'page');

/** @type {import('rolldown').Plugin} */
const languageIsExternal = {
  name: 'the language is external',
  resolveId(id, importer) {
    if (!id.startsWith('.') || importer === undefined) return undefined;
    const [top] = relative(built, join(importer, '..', id)).split(sep);
    return top === 'kernel' ? { id: 'millrace', external: true } : undefined;
  },
};

/** wabt requires `fs` in Node only. @type {import('rolldown').Plugin} */
const noFileSystem = {
  name: 'no file system',
  resolveId: (id) => (id === 'fs' ? '\0fs' : undefined),
  load: (id) => (id === '\0fs' ? 'module.exports = {};' : undefined),
};

/** Modules of all bundles. @type {Set<string>} */
const bundled = new Set();

mkdirSync(folder, { recursive: true });
await bundle({ playground: join(page, 'app.tsx') }, { minify: true, codeSplitting: false });
await bundle(
  { 'playground-worker': join(built, 'playground-worker.js') },
  { chunkFileNames: 'playground-[name].js', minify: true },
);
await bundle(
  { sandbox: join(built, 'web', 'playground', 'sandbox', 'thread.js') },
  { minify: true, codeSplitting: false },
);
for (const name of readdirSync(join(built, 'browser')))
  if (/^millrace-.*-worker\.js$/.test(name)) copyFileSync(join(built, 'browser', name), join(folder, name));
const styles = [join(root, 'src', 'web', 'page', 'theme.css'), join(page, 'playground.css')];
writeFileSync(join(folder, 'playground.css'), styles.map((file) => readFileSync(file, 'utf8')).join('\n'));
copyFileSync(join(page, 'playground.html'), join(folder, 'playground.html'));
writeFileSync(join(folder, 'frame.html'), frame());
writeFileSync(join(folder, 'examples.json'), JSON.stringify([...ownExamples(), ...(await workloadExamples())]));
writeFileSync(join(folder, 'playground-licences.txt'), bundledLicences(bundled));
writeFileSync(join(folder, 'completion.json'), JSON.stringify(await completionData(built)));

/**
 * The frame permits its own script and threads made of text. It permits no request: `default-src` covers them all.
 */
function frame() {
  const html = readFileSync(join(page, 'frame.html'), 'utf8');
  const [, script = ''] = /<script>([\s\S]*?)<\/script>/.exec(html) ?? [];
  const hash = createHash('sha256').update(script).digest('base64');
  return html.replace('POLICY', `default-src 'none'; script-src 'sha256-${hash}' blob:; worker-src blob:`);
}

/** Returns the files of examples/playground. The first line of each is its title. */
function ownExamples() {
  const from = join(root, 'examples', 'playground');
  const order = ['collatz', 'search', 'generate', 'transform', 'pi', 'image', 'rc4', 'mixed', 'histogram'];
  const rank = (/** @type {string} */ name) => (order.indexOf(name) + order.length) % order.length;
  return readdirSync(from)
    .map((file) => ({ name: file.replace(/\.m?[jt]s$/, ''), code: readFileSync(join(from, file), 'utf8') }))
    .map(({ name, code }) => ({ name, title: titleOf(name, code), code }))
    .sort((a, b) => rank(a.name) - rank(b.name));
}

/** @param {string} name @param {string} code */
function titleOf(name, code) {
  const [, first = ''] = /^\/\/ (.*)/.exec(code) ?? [];
  const [short = ''] = first.split(/[:;.]/, 1);
  return `${name}: ${short}`;
}

/** Returns the kernels of the workloads as they are, each with all its modules in one text that imports `millrace`. */
async function workloadExamples() {
  const from = join(built, 'web', 'playground', 'examples');
  const names = readdirSync(from).flatMap((file) => /^(\w+)\.js$/.exec(file)?.[1] ?? []);
  return Promise.all(
    names.map(async (name) => {
      const build = await rolldown({
        input: join(from, `${name}.js`),
        platform: 'browser',
        treeshake: { moduleSideEffects: false },
        plugins: [languageIsExternal],
        onLog: logged,
      });
      const { output: made } = await build.generate({ format: 'esm' });
      await build.close();
      const code = made[0].code
        .replace(/^\/\/#(region|endregion|sourceMappingURL).*\n?/gm, '')
        .replaceAll('\t', '  ')
        .replace(/export \{ (\w+) as default \};\s*$/, 'export default $1;\n');
      return { name, title: `workload ${name}`, code };
    }),
  );
}

/**
 * @param {Record<string, string>} input
 * @param {import('rolldown').OutputOptions} options
 */
async function bundle(input, options) {
  const build = await rolldown({
    input,
    platform: 'browser',
    resolve: { extensionAlias: { '.js': ['.ts', '.tsx', '.js'] } },
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { 'process.env.NODE_ENV': '"production"', __filename: 'undefined', __dirname: 'undefined' },
    },
    plugins: [noFileSystem],
    onLog: logged,
  });
  const { output: chunks } = await build.write({ dir: folder, format: 'esm', entryFileNames: '[name].js', ...options });
  for (const chunk of chunks) if (chunk.type === 'chunk') for (const id of chunk.moduleIds) bundled.add(id);
  await build.close();
}

/** @param {import('rolldown').LogLevel} _level @param {import('rolldown').RolldownLog} log */
function logged(_level, { code, message }) {
  // A page could not load any other unresolved import.
  if (code === 'UNRESOLVED_IMPORT') throw new Error(message);
  process.stderr.write(`${message}\n`);
}
