// Where the time of a command's start goes, until its first launch and until its end.
//   npm run build && node test/cuda/start.mjs [--main DIST/cli/main.js] [--device cuda] [--runs 5] [--show]
// Runs `millrace block solve` on a block whose first nonce is right, with a warm cache, and prints medians of each moment in
// ms since the process began. The moments come from start-marks.cjs, which wraps koffi and the threads; one run in two is
// without it, to see what it costs.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = (/** @type {string} */ name) => fileURLToPath(new URL(name, import.meta.url));
const { values } = parseArgs({
  options: {
    main: { type: 'string', default: here('../../dist/cli/main.js') },
    input: { type: 'string', default: here('../data/block/mainnet/regtest-0.in') },
    device: { type: 'string', default: 'cuda' },
    runs: { type: 'string', default: '5' },
    show: { type: 'boolean', default: false },
    args: { type: 'string', default: '' },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'millrace-start-'));
const median = (/** @type {number[]} */ list) => [...list].sort((a, b) => a - b)[list.length >> 1] ?? Number.NaN;

function run(/** @type {boolean} */ isMarked) {
  const marks = join(folder, 'marks');
  rmSync(marks, { force: true });
  const out = join(folder, 'out');
  const command = [values.main, 'block', 'solve', values.input, out, '--device', values.device, '--no-ledger'];
  const began = performance.now();
  const { status, stderr } = spawnSync(
    process.execPath,
    [
      ...(isMarked ? ['--require', here('start-marks.cjs')] : []),
      ...command,
      ...values.args.split(' ').filter(Boolean),
    ],
    { env: { ...process.env, MILLRACE_START_MARKS: marks }, encoding: 'utf8' },
  );
  const ms = performance.now() - began;
  if (status !== 0) throw new Error(`exit ${status}: ${stderr}`);
  const lines = existsSync(marks) ? readFileSync(marks, 'utf8').trim().split('\n') : [];
  return { ms, marks: lines.map((line) => line.split('\t')) };
}

run(false); // compiles, and warms the system's caches
/** @type {Map<string, { from: number[], to: number[] }>} */
const moments = new Map();
/** @type {{ plain: number[], marked: number[] }} */
const walls = { plain: [], marked: [] };
for (let k = 0; k < Number(values.runs); k++) {
  walls.plain.push(run(false).ms);
  const { ms, marks } = run(true);
  walls.marked.push(ms);
  const seen = new Map();
  for (const [from = '', to = '', thread = '', what = ''] of marks) {
    const name = `${thread.replace(/^thread \d+ /, '')} | ${what.replace(/^(dlopen) .*\//, '$1 ')}`;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    if (count > 1 && !values.show) continue;
    const key = count > 1 ? `${name} (${count})` : name;
    const moment = moments.get(key) ?? { from: [], to: [] };
    moment.from.push(Number(from));
    moment.to.push(Number(to));
    moments.set(key, moment);
  }
}
console.log(
  `whole command, ms: ${walls.plain.map((ms) => ms.toFixed(0)).join(', ')}; with marks ${median(walls.marked).toFixed(0)}`,
);
console.log('| from, ms | to, ms | thread | what |\n| ---: | ---: | --- | --- |');
const rows = [...moments].map(([name, { from, to }]) => ({ name, from: median(from), to: median(to) }));
for (const { name, from, to } of rows.sort((a, b) => a.from - b.from))
  console.log(`| ${from.toFixed(0)} | ${to.toFixed(0)} | ${name} |`);
rmSync(folder, { recursive: true, force: true });
