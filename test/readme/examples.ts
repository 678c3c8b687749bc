import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { millrace, type Ran } from '../command-line.js';

/**
 * How each command of the documents is run. `short` is what `npm test` does: on the CPU, with less of it where a whole one
 * takes minutes; `long` is `npm run test:long`'s. Or another test runs it, because it needs a node, a pool or npm itself:
 * then it is named, with a piece of its text.
 */
export interface Example {
  readonly short?: Way;
  readonly long?: Way;
  readonly by?: { readonly file: string; readonly text: string };
}

export interface Way {
  readonly args: readonly string[];
  /** Exit status; default 0. */
  readonly status?: number;
  /** What must be in its folder before. */
  readonly given?: (folder: string) => void;
  readonly check: (ran: Ran, folder: string) => void;
}

const data = (name: string): string => join(import.meta.dirname, '..', 'data', name);
const wasm = ['--device', 'wasm', '--threads', '1'];
const cpu = ['--device', 'cpu'];
const by = (file: string, text: string): Example => ({ by: { file, text } });

const ZEROS = '0'.repeat(64);
const PROOF = '0096433800db02207b826a33f8b8807c73085ec52b3e731bf570c8401443d5bb';
/** A block of Gapcoin's chain: its header with shift and adder, and its gap. */
const [mined] = JSON.parse(readFileSync(data('gaps/blocks.json'), 'utf8')) as { submit_hex: string; gap: number }[];

const says =
  (...patterns: readonly RegExp[]) =>
  ({ stdout }: Ran): void => {
    for (const pattern of patterns) expect(stdout).toMatch(pattern);
  };

/** Little-endian doubles, 65,536 of them: one sample of 16 qubits. */
const samples = (folder: string): void => {
  writeFileSync(
    join(folder, 'samples.f64'),
    Float64Array.from({ length: 65_536 }, (_, i) => 1 + (i % 7)),
  );
};

/** The header of a NumPy file with so many rows of doubles, then the rows. */
const npySamples = (folder: string): void => {
  const values = Float64Array.from({ length: 65_536 }, (_, i) => 1 + (i % 7));
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (1, 65536), }`.padEnd(117);
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'), Buffer.from(`${header}\n`)]);
  writeFileSync(join(folder, 'samples.npy'), Buffer.concat([head, new Uint8Array(values.buffer)]));
};

const blocks = (folder: string): void => {
  cpSync(data('block/synthetic/easy00.in'), join(folder, 'IN'));
};
const nonces = readFileSync(data('block/synthetic/easy00.out'), 'latin1');

const figuresOf =
  (...workloads: readonly string[]) =>
  ({ events }: Ran): void => {
    const told = new Set(events.filter(({ event }) => event === 'figure').map(({ workload }) => workload));
    expect([...told]).toEqual(workloads);
  };
const ALL = ['block', 'words', 'uhash', 'encode', 'gaps'];

export const examples: Readonly<Record<string, Example>> = {
  'npm start': by('test/readme.test.ts', "['start', '--', '--device'"),
  'npm test': by('package.json', '"test": "node scripts/test.mjs"'), // it is what runs this
  'npm run test:long': by('package.json', '"test:long": "node scripts/test.mjs --long"'),
  'npm run bench:gate': by('.ci/run', 'npm run --silent bench:gate'),
  'npx millrace': by('test/package.test.ts', "'npx', ['--no-install', 'millrace'"),
  'node test/cuda/block.mjs': by('docs/measurements/h200.md', '`node test/cuda/block.mjs`'), // needs a GPU

  'millrace init kernel.ts': {
    short: {
      args: ['init', 'kernel.ts'],
      check: (_, folder) => expect(readFileSync(join(folder, 'kernel.ts'), 'utf8')).toContain("from 'millrace'"),
    },
  },
  'millrace init': by('test/run.test.ts', "millrace('init')"),
  'millrace run kernel.ts --space 2^32 --param bits=24 --device cuda:0,cpu': {
    short: {
      args: ['run', 'kernel.ts', '--space', '2^18', '--param', 'bits=16', ...wasm],
      given: theirKernel,
      check: zeroBits(16),
    },
    long: {
      args: ['run', 'kernel.ts', '--space', '2^32', '--param', 'bits=24', ...cpu],
      given: theirKernel,
      check: zeroBits(24),
    },
  },
  'millrace run FILE': by('test/run.test.ts', "'run',"),
  'millrace doctor': by('test/cli.test.ts', "['doctor']"),
  'millrace devices': { short: { args: ['devices'], check: says(/^wasm /m, /^interpreter /m) } },
  'millrace selftest': {
    long: { args: ['selftest', ...wasm], check: says(/ 0 failed/) },
    ...by('test/cli.test.ts', "millrace('selftest'"),
  },
  'millrace jobs list': by('test/store-faults.test.ts', "'jobs', 'list'"),
  'millrace jobs resume': by('test/jobs-commands.test.ts', "['jobs', 'resume'"),
  'millrace cache': by('test/cache-upgrade.test.ts', "millrace(['cache', '--json']"),
  'millrace completion bash': by('test/conventions.test.ts', "millrace(['completion', shell])"),
  'millrace kernel show block --target c': {
    short: { args: ['kernel', 'show', 'block', '--target', 'c'], check: says(/^void |^static /m) },
  },
  'millrace kernel stats block': {
    // The numbers of the workload's README.
    short: { args: ['kernel', 'stats', 'block'], check: says(/^additions +1,045 /m, /^rotations +1,020 /m) },
  },
  'millrace tune': by('test/tune.test.ts', "'tune',"),

  'millrace block solve IN OUT': {
    short: {
      args: ['block', 'solve', 'IN', 'OUT', ...wasm],
      given: blocks,
      check: (_, folder) => expect(readFileSync(join(folder, 'OUT'), 'latin1')).toBe(nonces),
    },
  },
  'millrace block verify IN OUT': {
    short: {
      args: ['block', 'verify', 'IN', 'OUT'],
      given: (folder) => {
        blocks(folder);
        writeFileSync(join(folder, 'OUT'), nonces);
      },
      check: ({ stdout, stderr }) => expect(stdout + stderr).toMatch(/correct/),
    },
  },
  'millrace block mine': by('test/network-cli.test.ts', "start(['block', 'mine'"),
  'millrace block mine --rpc URL --payout ADDRESS': by('test/network-cli.test.ts', "'--rpc'"),
  'millrace bench block': {
    long: { args: ['bench', 'block', ...wasm], check: says(/wasm .*MH\/s/) },
    ...by('src/bench/suite.test.ts', 'onlyFigure'),
  },

  "millrace words '?l?l?l?d'": {
    short: {
      args: ['words', '?l?l?l?d'],
      check: ({ stdout }) => {
        const words = stdout.split('\n');
        expect(words.length).toBe(26 ** 3 * 10 + 1);
        expect([words[0], words[12], words.at(-2)]).toEqual(['aaa0', 'aab2', 'zzz9']);
      },
    },
  },
  'millrace words MASK': by('test/words-cli.test.ts', "'words'"),
  'millrace words': by('test/words-cli.test.ts', "'words'"),
  'millrace bench words': {
    long: { args: ['bench', 'words', '--only', 'resident,digests', ...wasm], check: says(/right/) },
    ...by('src/bench/suite.test.ts', 'onlyFigure'),
  },

  'millrace uhash prove --challenge 0000…00 --difficulty 8': {
    long: {
      args: ['uhash', 'prove', '--challenge', ZEROS, '--difficulty', '8', ...cpu],
      check: ({ stdout }) => expect(stdout).toBe(`445  ${PROOF}\n`),
    },
    ...by('test/uhash-cli.test.ts', "'prove', '--challenge'"),
  },
  'millrace uhash prove': by('test/uhash-cli.test.ts', "'prove', '--challenge'"),
  'millrace uhash mine --challenge 00ff --difficulty 12 --json': {
    long: {
      args: ['uhash', 'mine', '--challenge', '00ff', '--difficulty', '12', '--json', '--stop-on-proof', ...cpu],
      check: ({ events }) => expect(events.filter(({ event }) => event === 'proof_found')).toHaveLength(1),
    },
    ...by('test/uhash-cli.test.ts', "'mine'"),
  },
  'millrace uhash mine': by('test/uhash-cli.test.ts', "'mine'"),
  'millrace uhash verify --challenge 0000…00 --nonce 445 --hash 0096… --difficulty 8': {
    short: {
      args: ['uhash', 'verify', '--challenge', ZEROS, '--nonce', '445', '--hash', PROOF, '--difficulty', '8', '--json'],
      check: ({ events }) =>
        expect(events.at(-1)).toMatchObject({ valid: true, hash_matches: true, difficulty_met: true }),
    },
  },
  'millrace uhash verify': by('test/uhash-cli.test.ts', "'verify'"),
  'millrace uhash inspect 000102…': {
    short: {
      args: ['uhash', 'inspect', Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('hex'), '--json'],
      check: ({ events }) => expect(events.at(-1)).toMatchObject({ bytes_len: 32 }),
    },
  },
  'millrace uhash tune --show': by('test/tune.test.ts', "'--show'"),
  'millrace uhash tune --reset': by('test/tune.test.ts', "'--reset'"),
  'millrace uhash tune --retune': by('test/tune.test.ts', "'--retune'"),
  'millrace uhash inspect': by('test/uhash-cli.test.ts', "'inspect'"),
  'millrace bench uhash --device cuda,cpu --sweep': {
    long: { args: ['bench', 'uhash', ...cpu, '--sweep'], check: says(/H\/s/) },
    ...by('src/bench/suite.test.ts', 'onlyFigure'),
  },

  'millrace encode samples.npy --qubits 16 -o states.npy': {
    short: {
      args: ['encode', 'samples.npy', '--qubits', '16', '-o', 'states.npy', ...wasm],
      given: npySamples,
      check: (_, folder) => {
        const bytes = readFileSync(join(folder, 'states.npy'));
        expect(bytes.toString('latin1', 0, 100)).toContain("'descr': '<c16'");
        // One state of 65,536 complex numbers: x / |x| of the samples.
        const state = new Float64Array(Uint8Array.from(bytes.subarray(-(2 ** 20))).buffer);
        const norm = Math.hypot(...Array.from({ length: 65_536 }, (_, i) => 1 + (i % 7)));
        for (const i of [0, 1, 12_345, 65_535]) expect(state[2 * i]).toBeCloseTo((1 + (i % 7)) / norm, 12);
      },
    },
  },
  'millrace encode angles.parquet --encoding angle --dtype f32 -o states.arrow': {
    short: {
      args: ['encode', 'angles.parquet', '--encoding', 'angle', '--dtype', 'f32', '-o', 'states.arrow', ...wasm],
      given: (folder) => cpSync(data('encode/peers/lists.parquet'), join(folder, 'angles.parquet')),
      check: (_, folder) => expect(readFileSync(join(folder, 'states.arrow')).toString('latin1', 0, 6)).toBe('ARROW1'),
    },
  },
  'millrace encode samples.f64 --length 65536': {
    short: {
      args: ['encode', 'samples.f64', '--length', '65536', ...wasm],
      given: samples,
      check: ({ stdout, stderr }) => expect(stdout + stderr).toMatch(/1 (sample|state)/),
    },
  },
  'millrace encode FILE': by('test/encode-files.test.ts', "'encode'"),
  'millrace bench encode --device cuda:0 --batches 500 --trials 20 --report encode': {
    long: {
      args: ['bench', 'encode', ...cpu, '--batches', '5', '--trials', '20', '--report', 'encode'],
      check: says(/vec/),
    },
    ...by('test/encode-files.test.ts', "'bench'"),
  },
  'millrace bench encode': by('test/encode-files.test.ts', "'bench'"),
  'millrace bench encode --coalesced': by('test/encode-files.test.ts', "'--coalesced'"),

  'millrace gaps search --start 2^280 --length 2^30 --min-merit 15': {
    long: {
      args: ['gaps', 'search', '--start', '2^280', '--length', '2^30', '--min-merit', '15', '--json', ...cpu],
      // There is one; PARI/GP says so too.
      check: ({ events }) => {
        const found = events.filter(({ event }) => event === 'gap').map(({ gap, offset }) => [gap, offset]);
        expect(found).toEqual([[3014, 923_893_693]]);
      },
    },
    ...by('test/gaps-cli.test.ts', "'gaps', 'search', '--start', '2^64'"),
  },
  'millrace gaps search --header 0200… --shift 32 --device cuda': by('test/gaps-cli.test.ts', 'block.header84_hex'),
  'millrace gaps search --header 0200… --shift 64 --crt crt-22m-64s.txt': by('test/gaps-cli.test.ts', "'--crt', set"),
  'millrace gaps search --start 2^280 --length 2^34 --list Me': by('test/gaps-cli.test.ts', "'--list'"),
  'millrace gaps search': by('test/gaps-cli.test.ts', "'gaps', 'search'"),
  'millrace gaps verify 1425172824437699411 --gap 1476': {
    short: {
      args: ['gaps', 'verify', '1425172824437699411', '--gap', '1476', '--json'],
      check: ({ events }) => expect(events.at(-1)).toMatchObject({ valid: true, gap: 1476 }),
    },
  },
  'millrace gaps verify 0200…': {
    short: {
      args: ['gaps', 'verify', mined?.submit_hex ?? '', '--json'],
      check: ({ events }) => expect(events.at(-1)).toMatchObject({ valid: true, gap: mined?.gap }),
    },
  },
  'millrace gaps verify': by('test/gaps-cli.test.ts', "'verify'"),
  'millrace gaps difficulty 22.18 00000000,7918d8b8,… 1396a73': by('test/gaps-cli.test.ts', "'1396a73'"),
  'millrace gaps difficulty': by('test/gaps-cli.test.ts', "'gaps', 'difficulty'"),
  'millrace gaps mine --rpc URL --payout ADDRESS': by('test/network-gaps-cli.test.ts', "'--payout', PAYOUT"),
  'millrace gaps mine --rpc http://127.0.0.1:31397 --cookie ~/.gapcoin/.cookie --payout gap1…': by(
    'test/network-gaps-cli.test.ts',
    "'gaps', 'mine'",
  ),
  'millrace bench gaps --device cuda,native --bits 320': {
    long: { args: ['bench', 'gaps', ...cpu, '--bits', '320'], check: says(/tests\/s/) },
    ...by('src/bench/suite.test.ts', 'onlyFigure'),
  },

  'node scripts/performance.mjs': by('test/bench.test.ts', '../scripts/performance.mjs'),
  'millrace bench --device cuda --full --peers --scaling --save cuda.json --plot cuda.svg': by(
    'docs/PERFORMANCE.md',
    '--scaling --save',
  ), // takes minutes of a GPU: its report is what the documents are made of
  'millrace bench': {
    long: { args: ['bench', '--json', ...cpu], check: figuresOf(...ALL) },
    ...by('test/bench.test.ts', "millrace(['bench', 'all'"),
  },
  'millrace bench block words --device cuda,cpu': {
    long: { args: ['bench', 'block', 'words', '--json', ...cpu], check: figuresOf('block', 'words') },
    ...by('test/bench.test.ts', "millrace(['bench', 'all'"),
  },
  'millrace bench --compare FILE': by('test/bench.test.ts', "'--compare', 'then.json'"),
  'millrace bench --save then.json': by('test/bench.test.ts', "'--save', 'now.json'"),
  'millrace bench --compare then.json': by('test/bench.test.ts', "'--compare', 'then.json'"),
  'millrace bench --compare': by('test/bench.test.ts', "'--compare')"),
};

/** The kernel that the line before it in the README wrote. */
function theirKernel(folder: string): void {
  expect(millrace(['init', 'kernel.ts'], { cwd: folder }).status).toBe(0);
}

/** Lines of an index and a digest with so many zero bits in front. */
function zeroBits(bits: number): (ran: Ran) => void {
  return ({ stdout }) => {
    const digests = [...stdout.matchAll(/^ *\d+ {2}([0-9a-f]{64})$/gm)].map(([, digest = '']) => digest);
    expect(digests.length).toBeGreaterThan(0);
    for (const digest of digests) expect(BigInt(`0x${digest}`) >> BigInt(256 - bits)).toBe(0n);
  };
}
