// Runs random kernels: compares the passes, or a device, with the interpreter.
//
//   node scripts/fuzz.mjs [--device passes|native|cuda:0|…] [--kind items|tiles] [--seed N] [--seconds N]
//
// Prints the seeds done from time to time, and the first failure with its seed and a minimized kernel; exit status 1 then.
// A kernel that never ends is a failure too: its seed is printed. Compiled programs go to a temporary folder.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, orExit, root } from './prepare.mjs';
import { softwareVulkan } from './vulkan.mjs';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'native' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    kind: { type: 'string' }, // default: both, alternating
    seconds: { type: 'string' },
    count: { type: 'string' }, // kernels of one child; set by the parent
  },
});
const device = values.device ?? 'native';
const seed = Number(values.seed);

/** A process keeps every library it has loaded, and systems limit the mappings of a process. */
const KERNELS_PER_CHILD = 400;
/** A child reports a kernel that hangs, or the parent does if the child hangs too. Minimizing a failure takes minutes. */
const SILENCE_MS = 300_000;

if (values.count === undefined) await parent();
else process.exitCode = await child(Number(values.count));

async function parent() {
  orExit(() => {
    ensureInstalled();
    ensureBuilt();
  });
  const end =
    values.seconds === undefined ? Number.POSITIVE_INFINITY : performance.now() + Number(values.seconds) * 1000;
  const started = performance.now();
  const count = device === 'passes' ? 20 * KERNELS_PER_CHILD : KERNELS_PER_CHILD;
  let next = seed;
  let done = 0;
  console.log(`${device}, from seed ${seed}`);
  while (performance.now() < end) {
    const cache = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'));
    const left = Math.min(1e9, Math.ceil((end - performance.now()) / 1000));
    const args = [
      import.meta.filename,
      '--device',
      device,
      '--seed',
      String(next),
      '--count',
      String(count),
      '--seconds',
      String(left),
      ...(values.kind === undefined ? [] : ['--kind', values.kind]),
    ];
    const folder = (/** @type {string} */ name) => join(cache, name);
    const env = {
      ...process.env,
      ...softwareVulkan(),
      MILLRACE_CACHE_DIR: folder('millrace'),
      POCL_CACHE_DIR: folder('pocl'),
      CUDA_CACHE_PATH: folder('cuda'),
    };
    const { code, results, skipped } = await watchChild(
      spawn(process.execPath, args, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env }),
    );
    rmSync(cache, { recursive: true, force: true });
    if (code !== 0) {
      console.log(`failed in the kernels from seed ${next} on`);
      process.exitCode = 1;
      return;
    }
    done += results;
    const seconds = Math.round((performance.now() - started) / 1000);
    const refused = skipped > 0 ? ` (${skipped} refused)` : '';
    console.log(`seeds ${next} to ${next + results - 1}${refused}: ${done} kernels, ${seconds} s`);
    next += results;
  }
}

/**
 * Waits for a child. Kills it after `SILENCE_MS` without a result: a wrong kernel may never end.
 *
 * @param {import('node:child_process').ChildProcess} childProcess
 * @returns {Promise<{ code: number | null, results: number, skipped: number }>}
 */
function watchChild(childProcess) {
  /** @type {Set<string>} */
  const running = new Set();
  let results = 0;
  let skipped = 0;
  const end = () => {
    console.log(`no result for ${SILENCE_MS / 1000} s; running: ${[...running].join(', ') || 'none'}`);
    childProcess.kill('SIGKILL');
  };
  let timer = setTimeout(end, SILENCE_MS);
  childProcess.on('message', (/** @type {{ name: string, status?: string }} */ { name, status }) => {
    if (status === undefined) {
      running.add(name);
      return;
    }
    running.delete(name);
    results += 1;
    if (status === 'skipped') skipped += 1;
    clearTimeout(timer);
    timer = setTimeout(end, SILENCE_MS);
  });
  return new Promise((resolve) =>
    childProcess.on('close', (code, signal) => {
      clearTimeout(timer);
      if (signal) console.log(`ended by ${signal}; running: ${[...running].join(', ') || 'none'}`);
      resolve({ code, results, skipped });
    }),
  );
}

/** @param {number} count */
async function child(count) {
  const { fuzzDevice, fuzzPasses } = await built('device/conformance/fuzz/run.js');
  const { openDevice } = await built('device/registry.js');
  const stop = new Error('the first failure is enough');
  const options = {
    seed,
    count,
    seconds: Number(values.seconds),
    kind: values.kind,
    timeoutMs: 60_000,
    parallelKernels: Math.max(2, availableParallelism()),
    /** @param {string} name */
    onStart(name) {
      if (process.connected) process.send?.({ name });
    },
    /** @param {{ name: string, status: string, reason?: string }} result */
    onResult({ name, status, reason }) {
      if (process.connected) process.send?.({ name, status });
      if (status !== 'failed') return;
      console.log(reason);
      throw stop;
    },
  };
  const opened = device === 'passes' ? undefined : await openDevice(device);
  try {
    await (opened ? fuzzDevice(opened, options) : fuzzPasses(options));
    return 0;
  } catch (error) {
    if (error !== stop) console.log(error);
    return 1;
  } finally {
    // A device that hangs does not close either and would keep the process alive.
    setTimeout(() => process.exit(), 10_000).unref();
    await opened?.close();
    if (process.connected) process.disconnect();
  }
}

/** @param {string} path */
function built(path) {
  return import(pathToFileURL(join(root, 'dist', path)).href);
}
