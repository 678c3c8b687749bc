// Ends processes that use a real GPU in every way, at random times. Checks the exit code or signal, and that no process
// hangs or is left and the GPU's memory is freed.
//   npm run build && node test/cuda/kill.mjs [--runs 48] [--seed 1]
import { execFileSync, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '48' }, seed: { type: 'string', default: '1' } },
});
const child = fileURLToPath(new URL('teardown-child.mjs', import.meta.url));
const LIMIT_MS = 30_000;
/** Opening takes about 0.3 s and compiling 0.2 s; after that, work is in flight. */
const LATEST_MS = 1500;

/** The expected exit code or signal of each way to end. @type {Readonly<Record<string, number | NodeJS.Signals>>} */
const ways = {
  exit: 7,
  throw: 1,
  SIGINT: 'SIGINT',
  SIGKILL: 'SIGKILL',
  close: 5,
  natural: 0,
  SIGTERM: 'SIGTERM',
  forgotten: 0,
};
const tag = `millrace-kill-${process.pid}`;

let state = Number(values.seed) >>> 0;
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const memoryUsed = () =>
  Number(
    execFileSync('nvidia-smi', ['--query-gpu=memory.used', '--format=csv,noheader,nounits'], {
      encoding: 'utf8',
    }).split('\n')[0],
  );
const left = () =>
  readdirSync('/proc').filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/environ`, 'latin1').includes(tag);
    } catch {
      return false; // ended, or not readable
    }
  });

/** @param {string} way @param {number} delay @returns {Promise<string | undefined>} the fault, if any */
function end(way, delay) {
  return new Promise((resolve) => {
    const env = { ...process.env, MILLRACE_TEARDOWN: tag };
    const started = spawn(process.execPath, [child, way, String(delay)], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let hung = false;
    let stderr = '';
    const limit = setTimeout(() => {
      hung = true;
      started.kill('SIGKILL');
    }, LIMIT_MS);
    started.stderr.on('data', (data) => {
      stderr += data;
    });
    started.stdout.once('data', () => {
      const wanted = ways[way];
      if (typeof wanted === 'string') setTimeout(() => started.kill(wanted), delay);
    });
    started.once('close', (code, signal) => {
      clearTimeout(limit);
      const right = (typeof ways[way] === 'string' ? signal : code) === ways[way];
      resolve(
        right && !hung
          ? undefined
          : `${way} after ${delay} ms: ${hung ? 'hung' : `${code} ${signal}`}\n${stderr.slice(-500)}`,
      );
    });
  });
}

const before = memoryUsed();
/** @type {string[]} */
const wrong = [];
const names = Object.keys(ways);
const started = performance.now();
const waiting = Array.from({ length: Number(values.runs) }, (_, i) => [
  names[i % names.length] ?? '',
  Math.floor(random() * LATEST_MS),
]);
const next = async () => {
  for (let one = waiting.pop(); one; one = waiting.pop()) {
    const fault = await end(String(one[0]), Number(one[1]));
    if (fault) wrong.push(fault);
  }
};
await Promise.all([next(), next(), next(), next()]);
const after = memoryUsed();
for (const fault of wrong) console.log(fault);
console.log(
  `${values.runs} processes in ${((performance.now() - started) / 1000).toFixed(1)} s, ${wrong.length} ended wrongly, ${left().length} left, ` +
    `memory in use ${before} MiB before and ${after} MiB after`,
);
process.exitCode = wrong.length === 0 && left().length === 0 && after <= before + 16 ? 0 : 1;
