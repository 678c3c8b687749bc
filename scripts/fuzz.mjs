// Random kernels without end: the passes against the interpreter, or a device against it.
//
//   node scripts/fuzz.mjs [--device native|passes] [--kind items|tiles] [--seed N] [--seconds N]
//
// Prints a line now and then, and the first failure with its seed and a kernel made small; exit 1 then.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureBuilt, ensureInstalled, orExit, root } from './prepare.mjs';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'native' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    kind: { type: 'string' }, // both, in turn, where none is given
    seconds: { type: 'string' },
    count: { type: 'string' }, // of one child; set by the parent
  },
});
const device = values.device ?? 'native';
const seed = Number(values.seed);

/** A process keeps every library it has loaded, and systems limit the mappings of a process: so many to a child. */
const KERNELS_A_CHILD = 400;
const SILENCE_MS = 180_000; // making a failure small takes minutes with a compiler in it

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
  const many = device === 'passes' ? 20 * KERNELS_A_CHILD : KERNELS_A_CHILD;
  let next = seed;
  let done = 0;
  console.log(`${device}, from seed ${seed}`);
  while (performance.now() < end) {
    const cache = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'));
    const left = Math.min(1e9, Math.ceil((end - performance.now()) / 1000));
    const words = [
      import.meta.filename,
      '--device',
      device,
      '--seed',
      String(next),
      '--count',
      String(many),
      '--seconds',
      String(left),
      ...(values.kind === undefined ? [] : ['--kind', values.kind]),
    ];
    const env = { ...process.env, MILLRACE_CACHE_DIR: cache };
    const { code, results } = await watched(
      spawn(process.execPath, words, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'], env }),
    );
    rmSync(cache, { recursive: true, force: true });
    if (code !== 0) {
      console.log(`failed in the kernels from seed ${next} on`);
      process.exitCode = 1;
      return;
    }
    next += many;
    done += results;
    console.log(`${done} kernels, ${Math.round((performance.now() - started) / 1000)} s`);
  }
}

/**
 * A wrong kernel may run for ever. A child that says nothing for so long is ended.
 *
 * @param {import('node:child_process').ChildProcess} one
 * @returns {Promise<{ code: number | null, results: number }>}
 */
function watched(one) {
  let last = 'none';
  let results = 0;
  const end = () => {
    console.log(`no result for ${SILENCE_MS / 1000} s; the last was ${last}`);
    one.kill('SIGKILL');
  };
  let timer = setTimeout(end, SILENCE_MS);
  one.on('message', (name) => {
    last = String(name);
    results += 1;
    clearTimeout(timer);
    timer = setTimeout(end, SILENCE_MS);
  });
  return new Promise((resolve) =>
    one.on('close', (code) => {
      clearTimeout(timer);
      resolve({ code, results });
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
    /** @param {{ name: string, status: string, reason?: string }} result */
    onResult({ name, status, reason }) {
      if (process.connected) process.send?.(name);
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
    await opened?.close();
    if (process.connected) process.disconnect();
  }
}

/** @param {string} path */
function built(path) {
  return import(pathToFileURL(join(root, 'dist', path)).href);
}
