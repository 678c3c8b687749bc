import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { nextPrime } from '../src/workload/gaps/kernel/reference-primes.js';
import { millrace, signalled, start } from './command-line.js';
import { eventsOf } from './events.js';
import { byTier, isShort } from './tier.js';

/** `millrace gaps` as people and programs run it, on the CPU. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const cpu = ['--device', 'wasm', '--primes', '2000', '--no-ledger'];

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
  test('finds the proof of work of the first block, and writes diagnostics to the log', async () => {
    const args = ['gaps', 'search', '--header', genesis.header84_hex, '-f', '20', '-s', '262144', '-e', ...cpu];
    const more = ['--cuda-sieve-proto', '-w', '2048', '-z', '2', '-n', '8'];
    const { status, stdout, stderr } = await millrace([...args, ...more], { cwd: folder });
    expect(status).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^${genesis.gap}  20.438427789  ${genesis.start}\n  shift 20  adder ${genesis.adder}  difficulty 20.44`,
      ),
    );
    expect(stderr.match(/warning: there is no GPU/g)).toHaveLength(1);
    expect(stderr).toMatch(/integers in .*int\/s, [\d.]+ k?tests\/s/);
    const diagnostics = readFileSync(join(folder, 'tests'), 'utf8'); // the default name
    const ratio = (Number(genesis.difficulty_fixed) / 2 ** 52).toFixed(6);
    expect(diagnostics).toMatch(
      `submit-candidate: offset=${genesis.adder} target=${2 ** 52} pow_valid=true ratio=${ratio} share_difficulty=${genesis.difficulty_fixed} mpz_hash=0x${genesis.hash_display} mpz_adder=0x${Number(genesis.adder).toString(16)}`,
    );
    const windows = [
      ...diagnostics.matchAll(/sieve window (\d+) start=(\d+) round=(\d+) candidates=(\d+)( gap=\d+)?/g),
    ];
    const start = BigInt(genesis.start) - BigInt(genesis.adder);
    const byRound = windows.toSorted((a, b) => Number(a[3]) - Number(b[3]));
    expect(byRound.map(([, size, from]) => [Number(size), BigInt(from!) - start])).toEqual(
      [0, 1, 2, 3].map((round) => [2 ** 18, BigInt(round * 2 ** 18)]),
    );
    expect(byRound.map((window) => window[5])).toEqual([undefined, undefined, undefined, ` gap=${genesis.adder}`]);
    const batches = [
      ...diagnostics.matchAll(/batched (\d+) windows from \d+; candidates=(\d+) tests=\d+ limbs=9×u32/g),
    ];
    const sum = (lines: RegExpMatchArray[], group: number) => lines.reduce((all, line) => all + Number(line[group]), 0);
    expect(sum(batches, 1)).toBe(4);
    expect(sum(batches, 2)).toBe(sum(windows, 4));
    expect(diagnostics).toMatch('streams count=2 handles: [0]=wasm/0 [1]=wasm/1 device=wasm');
    expect(diagnostics).toMatch(`plan of wasm: window=262144 depth=4 tile=131072 chain=512 threads=${2048 * 512}`);
    // Eight candidates of each piece, as the device adds and tests them.
    const samples = [
      ...diagnostics.matchAll(
        /trace sample (\d) offset=(\d+) added=\d+ words: ([0-9a-f ]+) carries: ([01 ]+) residue: ([0-9a-f ]+) host=same device=wasm/g,
      ),
    ];
    expect(samples).toHaveLength(8 * batches.length);
    expect(diagnostics.match(/trace sample/g)).toHaveLength(samples.length);
    expect(diagnostics.match(/trace base of wasm: ([0-9a-f]{8} ){8}[0-9a-f]{8}$/gm)).toHaveLength(batches.length);
    for (const [, , offset, words] of samples) {
      const number = BigInt(`0x${words!.split(' ').reverse().join('')}`);
      expect(number).toBe(start + BigInt(offset!));
    }
    expect(stdout + stderr).not.toMatch(/submit-candidate|sieve window|limbs=|streams count|trace/);
  });

  test.skipIf(isShort)('writes the candidate for submission only to the log', async () => {
    const log = join(folder, 'submits');
    const near = ['--offset', '20539000', '--length', '2000'];
    const { status, stdout, stderr } = await millrace([
      'gaps',
      'search',
      '--header',
      block.header84_hex,
      ...near,
      '-e',
      log,
      ...cpu,
    ]);
    expect(status).toBe(0);
    expect(readFileSync(log, 'utf8')).toMatch(
      `submit-candidate: offset=20540019 target=6244144922783894 pow_valid=true ratio=1.028898 share_difficulty=${block.difficulty_fixed} mpz_hash=0x${block.hash_display} mpz_adder=0x1396a73`,
    );
    expect(stdout + stderr).not.toMatch('submit-candidate');
  });

  test('writes events, and reads the batch depth from the environment', async () => {
    const count = byTier(4, 8);
    const length = `${count * 65_536}`;
    const args = ['gaps', 'search', '--start', '2^64', '--length', length, '--min-gap', '300', '--window', '65536'];
    const { status, stdout } = await millrace([...args, '--json', ...cpu], { env: { MILLRACE_BATCH_DEPTH: '2' } });
    expect(status).toBe(0);
    const events = eventsOf(stdout);
    const gaps = events.filter(({ event }) => event === 'gap');
    expect(gaps.length).toBeGreaterThan(3);
    for (const { gap, start, offset } of gaps) {
      expect(gap).toBeGreaterThanOrEqual(300);
      expect(BigInt(start as string) - 2n ** 64n).toBe(BigInt(offset as number));
    }
    expect(events.at(-1)).toMatchObject({ event: 'done', gaps: gaps.length, integers: count * 65_536, windows: count });
    const one = await millrace([...args, '--json', '--first', '--batch-depth', '1', '--streams', '1', ...cpu]);
    const [first] = eventsOf(one.stdout).filter(({ event }) => event === 'gap');
    expect(first).toEqual(gaps[0]);
    // How the work was batched.
    const [batches] = events.filter(({ event }) => event === 'batches');
    const { pieces, windows, depths, slots } = batches as unknown as Record<'pieces' | 'windows' | 'slots', number> & {
      depths: number[];
    };
    expect([windows, slots]).toEqual([count, 6]);
    expect(batches).toMatchObject({ bytesToDevice: 0 });
    expect(depths.length).toBeLessThanOrEqual(3);
    expect(depths.reduce((all, count) => all + count, 0)).toBe(pieces);
    expect(depths.reduce((all, count, depth) => all + count * depth, 0)).toBe(windows);
    const other = (await millrace([...args, '--json', '-n', '1', '-w', '1', '-z', '1', '--streams', '3', ...cpu]))
      .events;
    expect(other.filter(({ event }) => event === 'gap')).toEqual(gaps);
    expect(other.find(({ event }) => event === 'batches')).toMatchObject({ streams: 3, slots: 3 });
    expect(other.at(-1)).toMatchObject({ streams: 3 });
  });

  test('resumes after a signal or a kill; a completed search needs no device', async () => {
    const length = byTier('2^18', '2^20');
    const args = ['gaps', 'search', '--start', '2^64', '--length', length, '--min-gap', '300', '--window', '65536'];
    const ledger = ['--device', 'wasm', '--primes', '2000', '--data-dir', join(folder, 'data'), '--json'];
    const first = [...args, ...ledger, '--list', 'Me'];
    if (isShort) expect((await signalled(first, [[/"event":"gap"/, 'SIGINT']])).status).toBe(2);
    else {
      const killed = start(first);
      await killed.until(({ event }) => event === 'gap');
      killed.child.kill('SIGKILL');
      await killed.ended;
    }
    const again = await millrace([...args, ...ledger]);
    expect(again.status).toBe(0);
    const gaps = again.events.filter(({ event }) => event === 'gap');
    // In order, and none twice.
    const starts = gaps.map((gap) => BigInt(gap.start as string));
    expect(starts).toEqual([...new Set(starts)].sort((a, b) => (a < b ? -1 : 1)));
    expect(again.events.find(({ event }) => event === 'job')).toMatchObject({ length: byTier(2 ** 18, 2 ** 20) });
    const whole = (await millrace([...args, '--json', ...cpu])).events.filter(({ event }) => event === 'gap');
    expect(gaps).toEqual(whole);
    const known = (await millrace([...args, ...ledger])).events;
    expect(known.filter(({ event }) => event === 'gap')).toEqual(whole);
    expect(known.some(({ event }) => event === 'device')).toBe(false);
  });

  test('finds gaps in the intervals of a set, and prints them in the format of the lists', async () => {
    const set = join(folder, 'set.txt');
    const fields = ['n_primes: 9', 'size: 700', 'n_candidates: 200', 'offset: 20000000'];
    writeFileSync(set, ['|== ChineseSet ==|', ...fields, ''].join('\n'));
    const args = ['gaps', 'search', '--start', '2^80', '--length', '2^36', '--crt', set, '--min-gap', '150'];
    const ledger = ['--device', 'wasm', '--primes', '2000', '--data-dir', join(folder, 'intervals')];
    const { status, stdout } = await millrace([...args, '--list', 'Me', ...(isShort ? cpu : ledger)]);
    expect(status).toBe(0);
    if (!isShort) {
      const known = await millrace([...args, '--list', 'Me', ...ledger]);
      expect(known).toMatchObject({ status: 0, stdout, stderr: expect.stringContaining('--fresh searches again') });
    }
    const lines = stdout.split('\n').filter((line) => line !== '');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) {
      const [, gap, year, prime] = /^ +(\d+) {2}C\?P Me {6} (\d{4}) +\d+\.\d{4} +25 (\d{25})$/.exec(line) ?? [];
      expect(Number(year)).toBeGreaterThan(2025);
      expect(nextPrime(BigInt(prime!)) - BigInt(prime!)).toBe(BigInt(gap!));
      expect(Number(gap)).toBeGreaterThan(150);
    }
    expect((await millrace(['gaps', 'search', '--start', '2^80', '--crt', join(folder, 'none'), ...cpu])).status).toBe(
      74,
    );
  });

  test('exits with 1 if nothing is found, and with 64 for invalid arguments', async () => {
    const search = async (...args: string[]) => (await millrace(['gaps', 'search', ...args, ...cpu])).status;
    expect(await search('--start', '2^64', '--length', '1000', '--min-merit', '15')).toBe(1);
    expect(await search('--header', genesis.header84_hex, '-f', '20', '--offset', '1000000', '--length', '50000')).toBe(
      64,
    );
    expect(await search('--length', '1000')).toBe(64);
    expect(await search('--start', '10')).toBe(64);
    expect(await search('--start', '2^64', '--min-merit', '15', '--min-gap', '20')).toBe(64);
    expect(await search('--start', 'many')).toBe(64);
  });
});

describe('verify', () => {
  test('accepts a gap or a proof of work, and rejects the rest', async () => {
    const record = await millrace(['gaps', 'verify', '1425172824437699411', '--gap', '1476']);
    expect(record.status).toBe(0);
    expect(record.stdout).toMatch(/^valid\n {2}gap +1476\n {2}merit +35\.310308073\n/);
    expect((await millrace(['gaps', 'verify', '1425172824437699411', '--gap', '1478'])).status).toBe(1);
    expect((await millrace(['gaps', 'verify', '1425172824437699413'])).stdout).toMatch(/^invalid: \d+ is not prime/);
    const proof = await millrace(['gaps', 'verify', block.submit_hex, '--json']);
    const [done] = eventsOf(proof.stdout);
    expect(done).toMatchObject({ exit: 0, valid: true, gap: block.gap, difficulty: Number(block.difficulty_fixed) });
    expect((await millrace(['gaps', 'check', block.submit_hex, '--target', '23'])).status).toBe(1);
  });
});

describe('difficulty', () => {
  const hash = block.hash_display;
  const limbs = ['0', ...Array.from({ length: 8 }, (_, i) => hash.slice(56 - 8 * i, 64 - 8 * i))];
  test('is printed for offsets in hex or decimal', async () => {
    const hex = await millrace(['gaps', 'difficulty', '6244144922783894', limbs.join(','), '1396a73', '1396a75']);
    expect(hex.status).toBe(1);
    const fixed = BigInt(block.difficulty_fixed);
    expect(hex.stdout.split('\n').slice(0, 2)).toEqual([
      `1396a73  ${fixed}  0x${fixed.toString(16)}  1.028898  0x${hash}  20540019`,
      `1396a75  0  0x0  0.000000  0x${hash}  20540021`,
    ]);
    const decimal = limbs.map((limb) => Number.parseInt(limb, 16)).join(',');
    const plain = ['gaps', 'difficulty', '22.18', decimal, '20540019', '--radix', '10', '--json'];
    expect(eventsOf((await millrace(plain)).stdout)[0]).toMatchObject({
      difficulty: Number(fixed),
      hash,
      adder: 20_540_019,
    });
    const shifted = await millrace(['gaps', 'difficulty', '22.18', limbs.join(','), '1396a73', '--shift', '24']);
    expect(shifted.stdout).toMatch(`0x${((BigInt(`0x${hash}`) << 8n) | 1n).toString(16)}  ${0x1396a73 & 0xff_ffff}`);
  });

  test('rejects an invalid limb', async () => {
    expect((await millrace(['gaps', 'difficulty', '22.18', '1ffffffff', '1'])).status).toBe(64);
    expect((await millrace(['gaps', 'difficulty', '22.18', 'a5ad2000', '1', '--radix', '10'])).status).toBe(64);
  });
});
