// How long `millrace block solve` takes for the course's files, as whoever starts the process sees it: from its start to
// its end, and without what goes before the first search. The files must be right.
//   npm run build && node test/cuda/cases.mjs [--device cuda] [--runs 9]
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: { device: { type: 'string', default: 'cuda' }, runs: { type: 'string', default: '9' } },
});
const data = fileURLToPath(new URL('../data/block/', import.meta.url));
const command = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-cases-'));
const names = ['mainnet/regtest-0', 'course/case00', 'course/case01', 'course/case02', 'course/case03'];
const figures = ['wall time', 'start-up', 'OUT is written after it', 'gone after it'];

/** One process; seconds in the order of `figures`. */
async function run(/** @type {string} */ name) {
  const out = join(folder, 'out');
  const start = Date.now();
  const solver = spawn(
    process.execPath,
    [command, 'block', 'solve', join(data, `${name}.in`), out, '--device', values.device, '--json'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let said = '';
  solver.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const code = await new Promise((resolve) => solver.on('close', resolve));
  const wall = (Date.now() - start) / 1000;
  if (code !== 0 || readFileSync(out, 'latin1') !== readFileSync(join(data, `${name}.out`), 'latin1')) {
    throw new Error(`${name}: exit ${code}, ${said}`);
  }
  const { startup } = JSON.parse(said.trim().split('\n').at(-1) ?? '');
  const written = (statSync(out).ctimeMs - start) / 1000;
  return [wall, startup, written - startup, wall - startup];
}

const median = (/** @type {number[]} */ list) => list.toSorted((a, b) => a - b)[list.length >> 1] ?? Number.NaN;

try {
  for (const name of names) await run(name); // warm caches
  /** @type {Map<string, number[][]>} */
  const rows = new Map(names.map((name) => [name, []]));
  for (let i = 0; i < Number(values.runs); i++) for (const name of names) rows.get(name)?.push(await run(name));
  console.log(['', ...figures, '(gone: least, most)'].join(' | '));
  for (const [name, all] of rows) {
    const medians = figures.map((_, at) => median(all.map((one) => one[at] ?? Number.NaN)).toFixed(3));
    const gone = all.map((one) => one[3] ?? Number.NaN);
    console.log([name, ...medians, `(${Math.min(...gone).toFixed(3)}, ${Math.max(...gone).toFixed(3)})`].join(' | '));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
