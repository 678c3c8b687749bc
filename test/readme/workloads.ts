import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { nextPrime } from '../../src/workload/gaps/kernel/reference-primes.js';
import type { Ran } from '../command-line.js';
import { by, type Examples, eventsNamed, says, wasm } from './example.js';
import { root } from './follow.js';

const data = (name: string): string => join(root, 'test', 'data', name);
/** Few sieve primes: preparing more takes longer than a short search. */
const little = [...wasm, '--primes', '2000', '--no-ledger'];

/** Returns text that a README writes to a file with a shell command. */
const written = (workload: string, what: RegExp): string => {
  const text = readFileSync(join(root, 'src', 'workload', workload, 'README.md'), 'utf8');
  return what.exec(text)?.[1] ?? '';
};
export const blocks = (folder: string): void =>
  writeFileSync(join(folder, 'blocks.in'), written('block', /^cat > blocks\.in <<END\n([\s\S]*?)^END$/m));
const set = (folder: string): void => {
  const lines = written('gaps', /^printf '%s\\n' '(.*)' > set\.txt$/m).split("' '");
  writeFileSync(join(folder, 'set.txt'), lines.map((line) => `${line}\n`).join(''));
};

const SAMPLES = 65_536;
const samples = Float64Array.from({ length: SAMPLES }, (_, i) => 1 + (i % 7));
const norm = Math.hypot(...samples);
const raw = (folder: string): void => writeFileSync(join(folder, 'samples.f64'), samples);

/** Writes a NumPy file with one row of doubles. */
const npy = (folder: string): void => {
  const header = `{'descr': '<f8', 'fortran_order': False, 'shape': (1, ${SAMPLES}), }`.padEnd(117);
  const head = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'), Buffer.from(`${header}\n`)]);
  writeFileSync(join(folder, 'samples.npy'), Buffer.concat([head, new Uint8Array(samples.buffer)]));
};

/** Checks for one state of complex doubles: x / |x| of the samples. */
const stateOfThem = (_: Ran, folder: string): void => {
  const bytes = readFileSync(join(folder, 'states.npy'));
  expect(bytes.toString('latin1', 0, 100)).toContain("'descr': '<c16'");
  const state = new Float64Array(Uint8Array.from(bytes.subarray(-16 * SAMPLES)).buffer);
  for (const i of [0, 1, 12_345, 65_535]) expect(state[2 * i]).toBeCloseTo((1 + (i % 7)) / norm, 12);
};

/** Checks lines of a gap and its prime: the next prime is that far away. Other tests compare with PARI/GP. */
const gaps =
  (line: RegExp, minGap: number) =>
  ({ stdout }: Ran): void => {
    const found = [...stdout.matchAll(line)];
    expect(found.length).toBe(stdout.split('\n').length - 1);
    expect(found.length).toBeGreaterThan(0);
    for (const [, gap, prime] of found) {
      expect(Number(gap)).toBeGreaterThanOrEqual(minGap);
      expect(nextPrime(BigInt(prime ?? 0)) - BigInt(prime ?? 0)).toBe(BigInt(gap ?? 0));
    }
  };

/** Commands of the workloads' READMEs. */
export const workloads: Examples = {
  'millrace block solve blocks.in nonces.out': {
    all: {
      given: blocks,
      more: wasm,
      check: (_, folder) => expect(readFileSync(join(folder, 'nonces.out'), 'latin1')).toBe('1\n7ab60000\n'),
    },
  },
  'millrace block verify blocks.in nonces.out': {
    short: {
      given: (folder) => {
        blocks(folder);
        writeFileSync(join(folder, 'nonces.out'), '1\n7ab60000\n');
      },
      check: ({ stdout }) => expect(stdout).toBe('block 1: correct\n'),
    },
  },
  'millrace bench block': { long: { more: wasm, check: says(/wasm .*MH\/s/) } },

  "millrace words '?l?l?l?d'": {
    short: {
      check: ({ stdout }) => {
        const words = stdout.split('\n');
        expect(words.length).toBe(26 ** 3 * 10 + 1);
        expect([words[0], words[12], words.at(-2)]).toEqual(['aaa0', 'aab2', 'zzz9']);
      },
    },
  },
  'millrace bench words': { long: { more: ['--only', 'resident,digests', ...wasm], check: says(/right/) } },

  'millrace uhash prove --challenge 00ff --difficulty 8': {
    long: {
      more: ['--device', 'cpu'],
      check: ({ stdout }) => expect(stdout).toBe(`383  ${written('uhash', /^HASH=(\w+)$/m)}\n`),
    },
    ...by(
      'test/uhash-cli.test.ts',
      "millrace(['uhash', ...args], { env })",
      "run('prove', '--challenge', challenge, '--difficulty', '3',",
    ),
  },
  'millrace uhash mine --challenge 00ff --difficulty 12 --json': {
    long: {
      more: ['--device', 'cpu'],
      until: /"event":"proof_found"/,
      status: 2,
      check: (ran) => expect(eventsNamed(ran, 'proof_found')[0]).toMatchObject({ hash: expect.stringMatching(/^000/) }),
    },
    ...by(
      'test/uhash-cli.test.ts',
      "millrace(['uhash', ...args], { env })",
      "['mine', '--challenge', challenge, '-d', '3', '--batch-size', '6', '--max-batches', '2', '--json']",
    ),
  },
  'millrace uhash verify --challenge 00ff --nonce 383 --hash $HASH --difficulty 8': {
    short: { check: says(/^valid/) },
  },
  'millrace uhash inspect $HASH': { short: { check: says(/^kind +hash$/m, /^leading_zero_bits +11$/m) } },
  'millrace bench uhash --device cuda,cpu --sweep': {
    long: { swap: { 'cuda,cpu': 'cpu' }, check: says(/H\/s/) },
  },

  "node -e 'process.stdout.write(new Uint8Array(Float64Array.from({ length: 131072 }, Math.random).buffer))' > samples.f64":
    { short: { check: ({ stdout }) => expect(stdout.length).toBe(2 * 8 * SAMPLES) } },
  'millrace encode samples.f64 --length 65536': {
    all: {
      given: raw,
      more: wasm,
      check: ({ stderr }) => expect(stderr).toMatch(/^1 state of 16 qubits \(amplitude, f64, 1\.00 MiB\)/),
    },
  },
  'millrace encode samples.f64 --length 65536 -o states.npy': {
    short: { given: raw, more: wasm, check: stateOfThem },
  },
  'millrace encode samples.npy --qubits 16 -o states.npy': { short: { given: npy, more: wasm, check: stateOfThem } },
  'millrace encode angles.parquet --encoding angle --dtype f32 -o states.arrow': {
    short: {
      given: (folder) => cpSync(data('encode/peers/lists.parquet'), join(folder, 'angles.parquet')),
      more: wasm,
      check: (_, folder) => expect(readFileSync(join(folder, 'states.arrow')).toString('latin1', 0, 6)).toBe('ARROW1'),
    },
  },
  'millrace bench encode --device cuda:0 --batches 500 --trials 20 --report encode': {
    long: {
      swap: { 'cuda:0': 'cpu', '500': '5' },
      check: says(/vec/),
    },
    ...by(
      'test/encode-files.test.ts',
      "'--batches', '4', '--trials', '3', '--source', 'plain']",
      "['bench', 'encode', '--device', 'wasm', ...small, '--use-coalesced', '--report', prefix]",
    ),
  },
  'millrace bench encode --source all': by(
    'test/encode-files.test.ts',
    "'--trials', '5', '--source', 'all']",
    "millrace(['bench', 'encode', '--device', 'wasm', ...sizes])",
  ),
  'millrace bench encode --coalesced': by(
    'test/encode-files.test.ts',
    "['bench', 'encode', ...large, '--source', 'plain', '--coalesced']",
  ),

  'millrace gaps search --start 2^280 --length 2^30 --min-merit 15': {
    all: {
      swap: { '2^30': '2^13', '15': '3' },
      more: little,
      check: gaps(/^(\d+) {2}\d+\.\d{9} {2}(\d+)$/gm, 3 * 280 * Math.LN2),
    },
    long: {
      more: ['--json', '--device', 'cpu'],
      // There is one; PARI/GP agrees.
      check: (ran) =>
        expect(eventsNamed(ran, 'gap').map(({ gap, offset }) => [gap, offset])).toEqual([[3014, 923_893_693]]),
    },
  },
  'millrace gaps search --start 2^280 --length 2^24 --min-merit 10 --list Me': {
    long: {
      more: ['--device', 'cpu', '--no-ledger'],
      check: gaps(/^ +(\d+) {2}C\?P Me {7}\d{4} +1\d\.\d{4} +85 (\d{85})$/gm, 10 * 280 * Math.LN2),
    },
    ...by(
      'test/gaps-cli.test.ts',
      "'gaps', 'search', '--start', '2^64', '--length', length, '--min-gap', '300'",
      "'--list', 'Me', ...(isShort ? cpu : ledger)]",
      "'--min-merit', '15'",
    ),
  },
  // The same header and its gap.
  'millrace gaps search --header $HEADER --shift 20': by(
    'test/gaps-cli.test.ts',
    "['gaps', 'search', '--header', genesis.header84_hex, '-f', '20', '-s', '262144', '-e', ...cpu]",
  ),
  'millrace gaps search --start 2^80 --length 2^36 --crt set.txt --min-gap 150': {
    all: { given: set, more: little, check: gaps(/^(\d+) {2}\d+\.\d{9} {2}(\d+)$/gm, 150) },
  },
  'millrace gaps verify 1425172824437699411 --gap 1476': {
    short: { check: says(/^valid\n {2}gap +1476\n {2}merit +35\.310308073\n/) },
  },
  // A header with shift and adder: a proof of work of the chain.
  'millrace gaps verify ${HEADER}1400e99c0f': { short: { check: says(/^valid\n {2}gap +3908\n/) } },
  'millrace gaps difficulty 22.18 $LIMBS 1396a73': {
    // Block 1385452.
    short: {
      check: says(/^1396a73 {2}6424591240180635 {2}0x16d321b6b2b39b {2}1\.029068 {2}0xd5cada15\w+ {2}20540019\n$/),
    },
  },
  'millrace bench gaps --device cuda,native --bits 320': {
    long: { swap: { 'cuda,native': 'native' }, check: says(/tests\/s/) },
  },
};
