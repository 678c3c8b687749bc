import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { millrace, type Ran } from '../command-line.js';
import { documents } from './documents.js';
import { by, type Examples, eventsNamed, says, wasm } from './example.js';
import { mining } from './mining.js';
import { workloads } from './workloads.js';

const cpu = { 'cuda,cpu': 'cpu' };
const WORKLOADS = ['block', 'words', 'uhash', 'encode', 'gaps'];

const figuresOf =
  (...workloads: readonly string[]) =>
  (ran: Ran): void =>
    expect([...new Set(eventsNamed(ran, 'figure').map(({ workload }) => workload))]).toEqual(workloads);

/** Checks the last line of `npm test` for a file with few tests. */
const passed = says(/^type check: ok/m, /^lint: ok/m, /^[1-9]\d* passed, 0 failed/m);

/** The code of `test/bench.test.ts` that runs `bench all`. */
const saved = [
  "millrace(['bench', 'all', ...more]",
  "const files = ['--save', 'now.json'",
  "bench(...wasm, '--json', ...files, '--compare', 'then.json')",
];

/** All commands of the documents. */
export const examples: Examples = {
  'npm start': { long: { more: ['--', '--device', 'wasm'], check: toured } },
  'millrace tour': { long: { more: wasm, check: toured } },
  // These run tests; here those of one small file.
  'npm test': { long: { more: ['--', 'src/network/endpoint.test.ts'], check: passed } },
  'npm run test:long': { long: { more: ['--', 'src/network/endpoint.test.ts'], check: passed } },
  'npm run site': {
    all: {
      more: ['--', 'node_modules/.cache/millrace/site'],
      check: ({ stderr }) => expect(stderr).toContain('is ready for a web server'),
    },
  },
  'npm run bench:gate': { long: { check: says(/^kept {2}block on (native|wasm): \d/m) } },
  'node scripts/bench-gate.mjs --slowed': { long: { more: ['gaps'], status: 1, check: says(/^LOST {2}gaps on/m) } },
  'npm pack': by('test/package.test.ts', "npm(root, 'pack', '--json'", "return run(cwd, 'npm', args)"),
  'npm install': by(
    'test/package.test.ts',
    "npm(folder, 'install', '--prefer-offline'",
    "return run(cwd, 'npm', args)",
  ),
  'npx millrace': by('test/package.test.ts', "run(folder, 'npx', ['--no-install', 'millrace', 'devices', '--json'])"),
  'node scripts/performance.mjs': by('test/bench.test.ts', "['node', 'scripts/performance.mjs', '--check']"),
  'node test/cuda/block.mjs': {
    all: {
      more: ['--device', 'wasm', '--parts', 'files', '--most', '1e5'],
      check: says(/files, wasm, persistent \| 2 of 2 byte for byte/, /^all right$/m),
    },
  },

  'millrace init kernel.ts': {
    short: {
      check: (_, folder) => expect(readFileSync(join(folder, 'kernel.ts'), 'utf8')).toContain("from 'millrace'"),
    },
  },
  'millrace run kernel.ts --space 2^32 --param bits=24': {
    short: {
      swap: { '2^32': '2^16', 'bits=24': 'bits=13' },
      more: ['--device', 'wasm'],
      given: theirKernel,
      check: zeroBits(13),
    },
    long: { more: ['--device', 'cpu'], given: theirKernel, check: zeroBits(24) },
  },
  'node vanity.mjs': by('test/readme.test.ts', "run('node', ['vanity.mjs']"),
  'millrace export block --language cu --out miner': {
    all: {
      check: (_, folder) =>
        expect(readFileSync(join(folder, 'miner', 'block.cu'), 'utf8')).toContain('search_nonces<<<'),
    },
  },
  'millrace jobs list': by('test/store-faults.test.ts', "millrace(folder, 'jobs', 'list')"),
  'millrace jobs resume': by('test/jobs-commands.test.ts', "millraceProcess(['jobs', 'resume', 'last'], options)"),
  'millrace devices': { all: { check: says(/^wasm /m, /^interpreter /m) } },
  'millrace doctor': by('test/cli.test.ts', "run(['doctor'], {"),
  'millrace selftest': {
    long: { more: wasm, check: says(/ 0 failed/) },
    ...by('test/cli.test.ts', "millrace('selftest', '--device', 'interpreter', '--filter', 'atomics', '--json')"),
  },
  'millrace cache': by('test/cache-upgrade.test.ts', "millrace(['cache', '--json']"),
  'millrace kernel show block --target c': { short: { check: says(/^void |^static /m) } },
  'millrace playground': by('test/playground-server.test.ts', "new RunningCommand(tmpdir(), ['playground', '--json'])"),
  'millrace kernel stats block': {
    // The numbers in the workload's README.
    all: { check: says(/^additions +1,045 /m, /^rotations +1,020 /m) },
  },
  'millrace uhash tune --show': { all: { more: wasm, check: says(/^uhash on wasm: nothing is stored$/m) } },
  'millrace uhash tune --reset': { long: { more: wasm, check: says(/^uhash on wasm: stored settings deleted$/m) } },
  'millrace uhash tune --retune': {
    long: { more: [...wasm, '--budget', '1s'], check: says(/H\/s +1\.000 .* best$/m) },
  },

  'millrace bench': {
    long: { more: ['--json', '--device', 'cpu'], check: figuresOf(...WORKLOADS) },
    ...by('test/bench.test.ts', ...saved),
  },
  'millrace bench block words --device cuda,cpu': {
    long: { swap: cpu, more: ['--json'], check: figuresOf('block', 'words') },
  },
  'millrace bench --save then.json': by('test/bench.test.ts', ...saved),
  'millrace bench --compare then.json': by('test/bench.test.ts', ...saved),
  'millrace bench --compare': by('test/bench.test.ts', saved[0] ?? '', "'--json', '--compare')"),
  'millrace bench --device cuda --full --peers --scaling --save cuda.json': {
    long: {
      swap: { cuda: 'wasm' },
      more: ['block', '--threads', '1'],
      check: (_, folder) => {
        const { figures } = JSON.parse(readFileSync(join(folder, 'cuda.json'), 'utf8')) as { figures: object[] };
        expect(figures.length).toBeGreaterThan(0);
      },
    },
  },
  ...workloads,
  ...mining,
  ...documents,
};

/** Checks for a figure of each workload, the first block's nonce, and the next commands. */
function toured({ stdout }: Ran): void {
  for (const workload of WORKLOADS) expect(stdout).toMatch(new RegExp(`^ *${workload} .*/s`, 'm'));
  expect(stdout).toContain('nonce 2,083,236,893');
  // `./millrace` if npm runs it.
  expect(stdout).toMatch(/^ {2}(\.\/)?millrace bench --peers /m);
}

/** Writes the kernel that the previous line of the README creates. */
async function theirKernel(folder: string): Promise<void> {
  expect((await millrace(['init', 'kernel.ts'], { cwd: folder })).status).toBe(0);
}

/** Checks lines of an index and a digest with `bits` leading zero bits. */
function zeroBits(bits: number): (ran: Ran) => void {
  return ({ stdout }) => {
    const digests = [...stdout.matchAll(/^ *\d+ {2}([0-9a-f]{64})$/gm)].map(([, digest = '']) => digest);
    expect(digests.length).toBeGreaterThan(0);
    for (const digest of digests) expect(BigInt(`0x${digest}`) >> BigInt(256 - bits)).toBe(0n);
  };
}
