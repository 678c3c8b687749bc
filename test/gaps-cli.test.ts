import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { millrace } from './command-line.js';
import { eventsOf } from './events.js';

/** `millrace gaps` as people and programs run it, on the CPU. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const cpu = ['--device', 'wasm', '--primes', '20000'];

const blocks = JSON.parse(readFileSync(new URL('./data/gaps/blocks.json', import.meta.url), 'utf8')) as {
  name: string;
  submit_hex: string;
  header84_hex: string;
  hash_display: string;
  start: string;
  shift: number;
  adder: string;
  gap: number;
  difficulty_fixed: string;
}[];
const genesis = blocks[0]!;
const block = blocks.find(({ name }) => name.includes('1385452'))!;

describe('search', { timeout: 120_000 }, () => {
  test('the proof of work of the first block, for people and for programs', () => {
    const log = join(folder, 'tests');
    const args = ['gaps', 'search', '--header', genesis.header84_hex, '-f', '20', '-s', '262144', '-e', log, ...cpu];
    const { status, stdout, stderr } = millrace([...args, '--cuda-sieve-proto', '-w', '2048', '-z', '2', '-n', '8']);
    expect(status).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^${genesis.gap}  20.438427789  ${genesis.start}\n  shift 20  adder ${genesis.adder}  difficulty 20.44`,
      ),
    );
    expect(stderr.match(/warning: there is no GPU/g)).toHaveLength(1);
    const diagnostics = readFileSync(log, 'utf8');
    const ratio = (Number(genesis.difficulty_fixed) / 2 ** 52).toFixed(6);
    expect(diagnostics).toMatch(
      `submit-candidate: offset=${genesis.adder} target=${2 ** 52} pow_valid=true ratio=${ratio} share_difficulty=${genesis.difficulty_fixed} mpz_hash=0x${genesis.hash_display} mpz_adder=0x${Number(genesis.adder).toString(16)}`,
    );
    const windows = [
      ...diagnostics.matchAll(/sieve window (\d+) start=(\d+) round=\d+ candidates=(\d+) windows=(\d+)/g),
    ];
    const sum = (group: number) => windows.reduce((all, match) => all + Number(match[group]), 0);
    expect(sum(1)).toBe(2 ** 20);
    expect(sum(4)).toBe(4);
    expect(stdout + stderr).not.toMatch('sieve window');
  });

  test('events, and a batch depth by the environment', () => {
    const args = ['gaps', 'search', '--start', '2^64', '--length', '2^19', '--min-gap', '300', '--window', '65536'];
    const { status, stdout } = millrace([...args, '--json', ...cpu], { env: { MILLRACE_BATCH_DEPTH: '2' } });
    expect(status).toBe(0);
    const events = eventsOf(stdout);
    const gaps = events.filter(({ event }) => event === 'gap');
    expect(gaps.length).toBeGreaterThan(3);
    for (const { gap, start, offset } of gaps) {
      expect(gap).toBeGreaterThanOrEqual(300);
      expect(BigInt(start as string) - 2n ** 64n).toBe(BigInt(offset as number));
    }
    expect(events.at(-1)).toMatchObject({ event: 'done', gaps: gaps.length, integers: 2 ** 19, windows: 8 });
    const one = millrace([...args, '--json', '--first', '--batch-depth', '1', '--streams', '1', ...cpu]);
    const [first] = eventsOf(one.stdout).filter(({ event }) => event === 'gap');
    expect(first).toEqual(gaps[0]);
  });

  test('nothing is an answer; what makes no sense is not', () => {
    const search = (...args: string[]) => millrace(['gaps', 'search', ...args, ...cpu]).status;
    expect(search('--start', '2^64', '--length', '1000', '--min-merit', '15')).toBe(1);
    expect(search('--length', '1000')).toBe(64);
    expect(search('--start', '10')).toBe(64);
    expect(search('--start', '2^64', '--min-merit', '15', '--min-gap', '20')).toBe(64);
    expect(search('--start', 'many')).toBe(64);
  });
});

describe('verify', () => {
  test('a gap, a proof of work, and what is neither', () => {
    const record = millrace(['gaps', 'verify', '1425172824437699411', '--gap', '1476']);
    expect(record.status).toBe(0);
    expect(record.stdout).toMatch(/^valid\n {2}gap +1476\n {2}merit +35\.310308073\n/);
    expect(millrace(['gaps', 'verify', '1425172824437699411', '--gap', '1478']).status).toBe(1);
    expect(millrace(['gaps', 'verify', '1425172824437699413']).stdout).toMatch(/^invalid: \d+ is no prime/);
    const proof = millrace(['gaps', 'verify', block.submit_hex, '--json']);
    const [done] = eventsOf(proof.stdout);
    expect(done).toMatchObject({ exit: 0, valid: true, gap: block.gap, difficulty: Number(block.difficulty_fixed) });
    expect(millrace(['gaps', 'check', block.submit_hex, '--target', '23']).status).toBe(1);
  });
});

describe('difficulty', () => {
  const hash = block.hash_display;
  const limbs = ['0', ...Array.from({ length: 8 }, (_, i) => hash.slice(56 - 8 * i, 64 - 8 * i))];
  test('of offsets, in hex and in decimal', () => {
    const hex = millrace(['gaps', 'difficulty', '6244144922783894', limbs.join(','), '1396a73', '1396a75']);
    expect(hex.status).toBe(1);
    const fixed = BigInt(block.difficulty_fixed);
    expect(hex.stdout.split('\n').slice(0, 2)).toEqual([
      `1396a73  ${fixed}  0x${fixed.toString(16)}  1.028898  0x${hash}  20540019`,
      `1396a75  0  0x0  0.000000  0x${hash}  20540021`,
    ]);
    const decimal = limbs.map((limb) => Number.parseInt(limb, 16)).join(',');
    const plain = ['gaps', 'difficulty', '22.18', decimal, '20540019', '--radix', '10', '--json'];
    expect(eventsOf(millrace(plain).stdout)[0]).toMatchObject({ difficulty: Number(fixed), hash, adder: 20_540_019 });
    const shifted = millrace(['gaps', 'difficulty', '22.18', limbs.join(','), '1396a73', '--shift', '24']);
    expect(shifted.stdout).toMatch(`0x${((BigInt(`0x${hash}`) << 8n) | 1n).toString(16)}  ${0x1396a73 & 0xff_ffff}`);
  });

  test('a limb that is none', () => {
    expect(millrace(['gaps', 'difficulty', '22.18', '1ffffffff', '1']).status).toBe(64);
    expect(millrace(['gaps', 'difficulty', '22.18', 'a5ad2000', '1', '--radix', '10']).status).toBe(64);
  });
});
