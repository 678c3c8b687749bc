// @ts-nocheck: wraps what other modules call, whatever its type
// Preloaded by start.mjs into a command and its worker threads: writes when things happen, in ms since the process began.
const { appendFileSync } = require('node:fs');
const Module = require('node:module');
const threads = require('node:worker_threads');

const file = process.env.MILLRACE_START_MARKS;
const origin = Number(process.env.MILLRACE_START_ORIGIN ?? performance.timeOrigin);
process.env.MILLRACE_START_ORIGIN = String(origin);
const now = () => performance.timeOrigin + performance.now() - origin;
/** Worker threads are told their name below. */
const thread = threads.isMainThread ? 'main' : process.argv.at(-1);
/** @type {string[]} */
let lines = [];
/** @param {string} what @param {number} [began] */
const mark = (what, began) => {
  lines.push(`${(began ?? now()).toFixed(1)}\t${now().toFixed(1)}\t${thread}\t${what}`);
  if (lines.length > 40 || !threads.isMainThread) flush();
};
const flush = () => {
  if (lines.length > 0) appendFileSync(file, `${lines.join('\n')}\n`);
  lines = [];
};
process.on('exit', flush);

/** Calls that matter, each told once; the first launch too. */
const told = new Set();
const interesting =
  /^(cuInit|cuDevicePrimaryCtxRetain|cuModuleLoadData|cuModuleGetFunction|cuLaunchKernel|cuMemHostAlloc|cuMemAlloc|cuMemAllocAsync|cuStreamCreate|nvml\w*|nvrtc\w*|dlopen)/;
const timed =
  (name, call) =>
  (...given) => {
    const began = now();
    const result = call(...given);
    const what = name === 'dlopen' ? `dlopen ${given[0]}` : name;
    if (now() - began > 1 || !told.has(what)) mark(what, began);
    told.add(what);
    return result;
  };
const { _load } = Module;
Module._load = function (request, ...rest) {
  const began = now();
  const made = _load.call(this, request, ...rest);
  if (request !== 'koffi' || made.isMarked) return made;
  mark('koffi loaded', began);
  const marked = Object.create(made, { isMarked: { value: true } });
  marked.load = (path) => {
    const library = made.load(path);
    const func = (...args) => {
      const own = library.func(...args);
      const name = /(\w+)\s*(\(|$)/.exec(args[0])?.[1] ?? '';
      return interesting.test(name) ? timed(name, own) : own;
    };
    return { func };
  };
  return marked;
};

const { Worker } = threads;
threads.Worker = class extends Worker {
  constructor(url, options = {}) {
    mark(`starts ${options.name ?? url}`);
    super(url, { ...options, argv: [options.name ?? 'worker'], execArgv: ['--require', __filename] });
    const began = now();
    this.once('online', () => mark(`online ${options.name ?? url}`, began));
  }
};
Module.syncBuiltinESMExports();
if (!threads.isMainThread) {
}
mark('preloaded');
