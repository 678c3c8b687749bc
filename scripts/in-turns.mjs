// Compares two builds on the same devices, in turns: `bench all` of the first, of the second, of the first again, and so on.
//   node scripts/in-turns.mjs OLD/dist/cli/main.js dist/cli/main.js [--device cuda:0] [--rounds 2] [--share 0.97] [-- WORKLOAD…]
// A build's figure is its best median of all rounds. The table is the last thing on stdout. Exit status 1 if a figure of the
// second build is below `--share` of the first build's, or if the second lacks it. Each figure was checked by the bench.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: {
    device: { type: 'string' },
    rounds: { type: 'string', default: '2' },
    share: { type: 'string', default: '0.97' },
  },
  allowPositionals: true,
});
const [old, current, ...workloads] = positionals;
if (old === undefined || current === undefined) {
  console.error('in-turns: name the main.js of two builds');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'millrace-in-turns-'));
const [first, second] = [new Map(), new Map()];
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    measure(old, first);
    measure(current, second);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
report();

/** @param {string} main @param {Map<string, number>} best  by device, workload and name */
function measure(main, best) {
  const file = join(folder, 'report.json');
  const device = values.device === undefined ? [] : ['--device', values.device];
  const args = [main, 'bench', 'all', ...workloads, ...device, '--save', file];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (status !== 0) throw new Error(`${main} bench all: exit status ${status}\n${stderr.slice(-2000)}`);
  const { figures } = JSON.parse(readFileSync(file, 'utf8'));
  for (const { workload, name, device: id, rate } of figures) {
    const key = `${id}  ${workload}: ${name}`;
    best.set(key, Math.max(rate.median, best.get(key) ?? 0));
  }
}

function report() {
  let lost = 0;
  for (const [key, before] of first) {
    const after = second.get(key) ?? 0;
    const kept = after >= Number(values.share) * before;
    if (!kept) lost++;
    console.log(
      `${kept ? 'kept' : 'LOST'}  ${(after / before).toFixed(3)}  ${before.toPrecision(4)} → ${after.toPrecision(4)}  ${key}`,
    );
  }
  process.exitCode = lost > 0 ? 1 : 0;
}
