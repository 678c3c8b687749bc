// Measures the cost of telemetry: the same search with and without all views, alternating.
//   node scripts/telemetry-cost.mjs [--device D] [--rounds 5] [--seconds 3]
// Each round runs one search of each kind for a fixed time; the figure is the ratio of indices per second.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    device: { type: 'string', default: 'auto' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    threads: { type: 'string' },
  },
});
const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-cost-'));
writeFileSync(
  join(folder, 'job.mjs'),
  `import { items, sha256, u32, when } from ${JSON.stringify(new URL('../dist/index.js', import.meta.url).href)};
const kernel = items('cost', { hit: { n: u32 } }, ({ index, emit }) => {
  when(sha256.hash([index.lo, index.hi])[0].eq(0), () => emit({ n: index.lo }));
});
export default { kernel, space: 2n ** 60n };
`,
);
const views = ['--metrics', 'm.csv', '--trace', 't.json', '--pool-metrics', '--overlap', '--prometheus', '0'];

/** Returns indices per second, by the engine's clock. @param {readonly string[]} extraArgs */
function measure(extraArgs) {
  const threads = values.threads === undefined ? [] : ['--threads', values.threads];
  const args = ['--device', values.device, ...threads, '--runtime', `${values.seconds}s`, '--no-ledger', '--json'];
  const ran = spawnSync(process.execPath, [main, 'run', 'job.mjs', ...args, ...extraArgs], {
    cwd: folder,
    encoding: 'utf8',
  });
  const done = JSON.parse(ran.stdout.trimEnd().split('\n').at(-1) ?? '{}');
  if (done.event !== 'done' || !(done.tried > 0)) throw new Error(ran.stdout + ran.stderr);
  return done.tried / done.seconds;
}

try {
  measure([]); // compiles
  const ratios = [];
  for (let round = 0; round < Number(values.rounds); round++) {
    // The order alternates, so that a machine that warms up favours neither.
    const isOffFirst = round % 2 === 0;
    const first = measure(isOffFirst ? [] : views);
    const second = measure(isOffFirst ? views : []);
    const [off, on] = isOffFirst ? [first, second] : [second, first];
    ratios.push(on / off);
    console.log(
      `round ${round + 1}: off ${off.toExponential(4)}/s, on ${on.toExponential(4)}/s, ${((on / off - 1) * 100).toFixed(2)} %`,
    );
  }
  ratios.sort((a, b) => a - b);
  const median = ratios[ratios.length >> 1] ?? 1;
  console.log(`median: ${((median - 1) * 100).toFixed(2)} % (all views on, against none)`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
