// Bundles the files that a page loads into the folder `browser` of tsc's output, which is the argument. A page imports
// `millrace.js`. The kernel language is a separate file, so that errors can distinguish its lines from the user's;
// `language.js` exports it alone. `wabt.js` is loaded with the first kernel. Threads: `millrace-wasm-worker.js`,
// `millrace-webgpu-worker.js`, `millrace-check-worker.js` (`verify` modules); `worker-texts.js` has their texts again, for
// pages that cannot load the files.
//
// Also joins the modules of commands into few files, in the folder `command`: `command.js` runs one, `start.js` starts a GPU
// before it is loaded; `library.js`, `language.js` and `words.js` are what a user's file imports. The modules of each of Node's worker threads become one file, in the folder `threads`. Packages are
// loaded from where they are.

import { dirname, join, relative, resolve, sep } from 'node:path';
import { rolldown } from 'rolldown';

const [, , folder = 'dist'] = process.argv;

/** @type {import('rolldown').Plugin} */
const workerTexts = {
  name: 'worker texts',
  load(id) {
    return /[\\/]worker-texts\.js$/.test(id) ? `export const workerTexts = ${JSON.stringify(texts)};` : undefined;
  },
};

/**
 * wabt requires `fs` in Node only.
 * @type {import('rolldown').Plugin}
 */
const noFileSystem = {
  name: 'no file system',
  resolveId: (id) => (id === 'fs' ? '\0fs' : undefined),
  load: (id) => (id === '\0fs' ? 'module.exports = {};' : undefined),
};

/** The name that `startThread` knows a worker by, its module, and its file. */
const workers = [
  { name: 'worker.js', from: join('device', 'wasm', 'worker.js'), to: 'millrace-wasm-worker' },
  { name: 'webgpu-worker.js', from: join('device', 'webgpu', 'worker.js'), to: 'millrace-webgpu-worker' },
  { name: 'checker.js', from: join('engine', 'verify', 'checker.js'), to: 'millrace-check-worker' },
];

/** @type {Record<string, string>} */
const texts = {};
for (const { name, from, to } of workers) {
  await bundle({ [to]: from }, { codeSplitting: false });
  texts[name] = await textOf(from);
}
await bundle(
  { millrace: 'browser.js', language: join('kernel', 'index.js') },
  {
    codeSplitting: {
      groups: [
        { name: 'kernel', test: /[\\/]kernel[\\/]/ },
        { name: 'wabt', test: /[\\/]wabt[\\/]/ },
        { name: 'devices', test: isOfDevices },
      ],
    },
  },
);

/** Modules that run in a thread or a process of their own in Node. `joinedFile` finds the file by this path. */
const threads = [
  ...['cuda', 'native', 'opencl', 'wasm', 'webgpu/node'].map((kind) => `device/${kind}/worker`),
  'device/gpu/host/copy-worker',
  'device/opencl/runtime/helper-process',
  'store/thread/worker',
  'workload/gaps/job/verifier-thread',
];

await bundleCommands();
for (const thread of threads) await bundleThread(thread);

/** The kernel language is a separate file, as for pages. */
async function bundleCommands() {
  const output = join(folder, 'command');
  const entries = {
    start: join(folder, 'device', 'cuda', 'runtime', 'start.js'),
    command: join(folder, 'cli', 'run-command.js'),
    // What a user's file imports, by the names of src/cli/start/library.ts.
    library: join(folder, 'index.js'),
    language: join(folder, 'kernel', 'index.js'),
    words: join(folder, 'workload', 'words', 'index.js'),
  };
  const build = await openForNode(entries, output);
  await build.write({
    dir: output,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    codeSplitting: { groups: [{ name: 'kernel', test: isOfLanguage }] },
  });
  await build.close();
}

/** @param {string} path of a module, without its extension */
async function bundleThread(path) {
  const file = join(folder, 'threads', `${path}.js`);
  const build = await openForNode({ thread: join(folder, `${path}.js`) }, dirname(file));
  await build.write({ file, format: 'esm', codeSplitting: false });
  await build.close();
}

/**
 * @param {Record<string, string>} input
 * @param {string} output the folder
 */
function openForNode(input, output) {
  return rolldown({
    input,
    platform: 'node',
    external: (id) => !/^[./\\]|^[A-Za-z]:/.test(id),
    plugins: [
      {
        name: 'places of modules',
        // A module finds its files, packages and threads from where it was.
        transform(code, id) {
          if (!code.includes('import.meta.url')) return undefined;
          const place = relative(resolve(output), id).split(sep).join('/');
          return code.replaceAll('import.meta.url', `new URL(${JSON.stringify(place)}, import.meta.url).href`);
        },
      },
    ],
    onLog: (_level, { message }) => process.stderr.write(`${message}\n`),
  });
}

/** @param {string} id */
function isOfLanguage(id) {
  return relative(resolve(folder), id).split(sep)[0] === 'kernel';
}

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
 * @param {Record<string, string>} entries
 * @param {import('rolldown').OutputOptions} options
 */
async function bundle(entries, options) {
  const build = await open(entries);
  const names = { entryFileNames: '[name].js', chunkFileNames: '[name].js' };
  await build.write({ dir: join(folder, 'browser'), format: 'esm', ...names, ...options });
  await build.close();
}

/**
 * Returns the small form of a worker, as text.
 * @param {string} from
 */
async function textOf(from) {
  const build = await open({ worker: from });
  const { output } = await build.generate({ format: 'esm', codeSplitting: false, minify: true });
  await build.close();
  return output[0].code;
}

/** @param {Record<string, string>} entries */
function open(entries) {
  return rolldown({
    input: Object.fromEntries(Object.entries(entries).map(([name, from]) => [name, join(folder, from)])),
    platform: 'browser',
    // wabt asks for them in Node only; webpack says that they exist, and does not give them.
    transform: { define: { __filename: 'undefined', __dirname: 'undefined' } },
    plugins: [workerTexts, noFileSystem],
    onLog(_level, { code, message }) {
      // A page could not load any other unresolved import.
      if (code === 'UNRESOLVED_IMPORT') throw new Error(message);
      process.stderr.write(`${message}\n`);
    },
  });
}
