import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { main, millrace } from './command-line.js';
import { byTier, isShort } from './tier.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-words-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const env = process.env;
async function words(...args: string[]): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const { status, stdout, stderr } = await millrace(['words', ...args], { encoding: 'latin1' });
  return { status, stdout, stderr };
}
const sha256 = (text: string): string => createHash('sha256').update(text, 'latin1').digest('hex');

/** Runs a command in a shell, for pipes. */
function shell(command: string): { status: number | null; stdout: string; stderr: string } {
  const line = command.replaceAll('millrace words', `"${process.execPath}" "${main}" words`);
  const done = spawnSync('bash', ['-o', 'pipefail', '-c', line], { encoding: 'latin1', env, maxBuffer: 2 ** 28 });
  return { status: done.status, stdout: done.stdout, stderr: done.stderr };
}

describe('words on standard output', () => {
  test('are complete, and nothing else is written', async () => {
    const all = { status: 0, stdout: 'a1\na2\na3\nb1\nb2\nb3\nc1\nc2\nc3\n', stderr: '' };
    expect(await words('-1', 'abc', '-2', '123', '?1?2')).toEqual(all);
    expect(shell("millrace words -1 abc -2 123 '?1?2' | cat")).toEqual(all);
  });

  test('are skipped and limited by index or by word, over increments, layouts and orders', async () => {
    expect((await words('?d?d?d', '--skip', '998', '--limit', '50')).stdout).toBe('998\n999\n');
    expect((await words('?d?d', '--start-word', '41', '--stop-word', '43')).stdout).toBe('41\n42\n43\n');
    expect((await words('?d?d', '--increment', '1:2', '--start-word', '8', '--limit', '4')).stdout).toBe(
      '8\n9\n00\n01\n',
    );
    expect((await words('?d?d', '--skip', '100')).stdout).toBe('');
    expect((await words('-1', 'ab', '?1?1', '--format', 'nul')).stdout).toBe('aa\0ab\0ba\0bb\0');
    expect((await words('-1', 'ab', '?1?1', '--format', 'packed')).stdout).toBe('aaabbabb');
    expect((await words('-1', 'cba', '-2', '10', '?1?2', '--order', 'hashcat')).stdout).toBe(
      'a0\nb0\nc0\na1\nb1\nc1\n',
    );
    expect((await words('-1', 'cab', '?1', '--sort-charsets')).stdout).toBe('a\nb\nc\n');
    expect((await words('?b', '--skip', '0x80', '--limit', '2')).stdout).toBe('\x80\n\x81\n');
    expect((await words('-1', 'a€', '?1!', '--utf8')).stdout).toBe('a!\n\xe2\x82\xac!\n');
    expect((await words('-1', 'ab', '?1?1?1', '--max-run', '1')).stdout).toBe('aba\nbab\n');
    expect((await words('-1', 'abc', '?1?1', '--max-occurrence', '1')).stdout).toBe('ab\nac\nba\nbc\nca\ncb\n');
  });

  test('can exceed one batch of a device and start deep in the keyspace', async () => {
    const args = ['?l?l?l?l?l?l?d?d?d?d', '--skip', '2^40', '--limit', '700000'];
    const { status, stdout, stderr } = await words(...args);
    expect([status, stderr, stdout.length]).toEqual([0, '', 7_700_000]);
    const digest = (await words(...args, '--digest')).stdout.trim();
    expect(sha256(stdout)).toBe(digest);
    const ways = [
      ['--sync'],
      ['--device', 'wasm', '--streams', '1', '--slots', '5'],
      ['--async'],
      ['--device', 'wasm'],
      ['--threads', '1'],
      ['--streams', '1', '--slots', '5'],
    ];
    for (const how of byTier(ways.slice(0, 2), ways)) {
      expect(`${how} ${(await words(...args, '--digest', ...how)).stdout.trim()}`).toBe(`${how} ${digest}`);
    }
  });

  test('come from charset files and mask files', async () => {
    const [chars, masks] = [join(folder, 'vowels.hcchr'), join(folder, 'some.hcmask')];
    writeFileSync(chars, 'aei\n');
    writeFileSync(masks, '# two\n?d\nxy,?1?2\n');
    expect((await words('-2', chars, '?2?2', '--limit', '3')).stdout).toBe('aa\nae\nai\n');
    expect((await words('-2', chars, '--mask-file', masks, '--skip', '9')).stdout).toBe('9\nxa\nxe\nxi\nya\nye\nyi\n');
    expect((await words('-2', chars, '--mask-file', masks, '--index-of', 'yi')).stdout).toBe('15\n');
  });

  test('go to a file instead with -o', async () => {
    const file = join(folder, 'out');
    expect(await words('?d?d', '-o', file)).toEqual({ status: 0, stdout: '', stderr: '' });
    expect(readFileSync(file, 'latin1')).toHaveLength(300);
  });
});

describe('answers', () => {
  test('to --keyspace and --index-of are numbers', async () => {
    expect((await words('?a'.repeat(40), '--keyspace')).stdout).toBe(`${95n ** 40n}\n`);
    expect(await words('?l?l', '--index-of', 'ba')).toEqual({ status: 0, stdout: '26\n', stderr: '' });
    const missing = await words('?l?l', '--index-of', 'b1');
    expect([missing.status, missing.stdout]).toEqual([1, '']);
    expect((await words('?b?b', '--index-of', '$HEX[0100]')).stdout).toBe('256\n');
    expect((await words('?d'.repeat(11), '--max-occurrence', '1', '--keyspace')).stdout).toBe('0\n');
  });

  test('as events go to standard error: standard output carries words', async () => {
    const { stdout, events } = await millrace(['words', '?d', '--limit', '2', '--json']);
    expect(stdout).toBe('0\n1\n');
    expect(events.at(-1)).toMatchObject({ event: 'done', exit: 0, words: 2, next: 2, bytes: 4 });
  });
});

describe('invalid input is reported before the first byte', () => {
  test.each([
    [['ab?'], 'ends in a single ?'],
    [['?1'], 'charset 1 is not defined'],
    [[], 'no mask was given'],
    [['?d', '--mask-file', 'x'], 'both a mask and a mask file'],
    [['?d', '--skip', '11'], 'past the end'],
    [['?d', '--skip', 'x'], 'Expected a whole number'],
    [['?d', '--skip', '1', '--start-word', '1'], 'exclude each other'],
    [['?d', '--limit', '1', '--stop-word', '1'], 'exclude each other'],
    [['?d', '--start-word', 'x'], 'not in the keyspace'],
    [['?d', '--start-word', '5', '--stop-word', '4'], 'before the first'],
    [['?d?d', '--increment', '2:1'], 'Expected MIN:MAX'],
    [['?d?d', '--increment', '3:4'], 'no mask is that long'],
    [['?d?d', '--increment', '1:2', '--format', 'packed'], 'where a word ends'],
    [['-1', 'a€', '?1', '--utf8', '--format', 'packed'], 'where a word ends'],
    [['?d', '--format', 'columns'], 'Allowed choices'],
    [['?d', '--sync', '--async'], 'several pipelines'],
    [['?d', '--device', 'cuda:77'], 'cuda'],
  ])('%j', async (args, message) => {
    const { status, stdout, stderr } = await words(...args);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect([64, 69]).toContain(status);
  });

  test('a mask file with a mistake in its last line; missing files', async () => {
    const masks = join(folder, 'wrong.hcmask');
    writeFileSync(masks, '?d\n?l\n?1\n');
    expect(await words('--mask-file', masks)).toMatchObject({ status: 74, stdout: '' });
    expect(await words('--mask-file', join(folder, 'none'))).toMatchObject({ status: 74, stdout: '' });
    expect(await words('-1', 'none.hcchr', '?1')).toMatchObject({ status: 74, stdout: '' });
    expect(await words('?d', '-o', join(folder, 'none', 'out'))).toMatchObject({ status: 74, stdout: '' });
  });

  test('bytes that look like characters cause a warning', async () => {
    const { stdout, stderr } = await words('-1', 'a€', '?1', '--keyspace');
    expect(stdout).toBe('4\n');
    expect(stderr).toContain('with --utf8 it has 2 characters');
  });
});

describe('ends', () => {
  test.each(byTier(['?l?l?l?l?l?l?l?l'], ['?d?d?d', '?l?l?l?l?l?l?l?l']))(
    'if the reader closes the pipe: %s',
    (mask) => {
      expect(shell(`millrace words '${mask}' | head -n 2`)).toMatchObject({ status: 0, stderr: '' });
    },
  );

  test('on a full disk: reports how far it came, and how to resume', async () => {
    const { status, stdout, stderr } = await words('?l?l?l?l?l?l?l?l', '--skip', '5', '-o', '/dev/full');
    expect([status, stdout]).toEqual([74, '']);
    expect(stderr).toContain('the words before 5 are written');
    expect(stderr).toContain('--skip 5');
  });

  test.skipIf(isShort)('at a file size limit: leaves whole words, and the rest completes the file', async (ctx) => {
    if (process.platform !== 'linux') return ctx.skip('needs ulimit -f in blocks of 1024 bytes');
    const file = join(folder, 'short');
    // 3,000 KiB; SIGXFSZ is ignored, so that the write fails instead.
    const { status, stderr } = shell(
      `trap '' XFSZ; ulimit -f 3000; millrace words '?l?l?l?l?l?l' --limit 1000000 -o '${file}'`,
    );
    expect(status).toBe(74);
    const next = Number(/--skip (\d+)/.exec(stderr)?.[1]);
    expect(next).toBeGreaterThan(0);
    expect(statSync(file).size).toBe(next * 7);
    const rest = await words('?l?l?l?l?l?l', '--skip', `${next}`, '--limit', `${1_000_000 - next}`);
    expect(rest.status).toBe(0);
    expect(sha256(readFileSync(file, 'latin1') + rest.stdout)).toBe(
      (await words('?l?l?l?l?l?l', '--limit', '1000000', '--digest')).stdout.trim(),
    );
  });

  test('on Ctrl-C while the reader sleeps: ends without waiting for it', async () => {
    const child: ChildProcess = spawn(process.execPath, [main, 'words', '?l?l?l?l?l?l?l?l'], { env });
    let stderr = '';
    child.stderr?.on('data', (text: Buffer) => {
      stderr += text.toString();
    });
    // Reads some bytes, then stops reading.
    await once(child.stdout as NodeJS.ReadableStream, 'readable');
    (child.stdout as NodeJS.ReadableStream).pause();
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill('SIGINT');
    const [status] = await once(child, 'exit');
    expect([status, stderr]).toEqual([3, 'stopping; Ctrl-C again aborts\naborted\n']);
  });
});

test('--emit-c writes the C library to the given folder', async () => {
  const { status, stdout } = await words('--emit-c', join(folder, 'c'));
  expect(status).toBe(0);
  const written = stdout.trim().split('\n');
  for (const name of ['words.h', 'words.c', 'wordlist_generator.h', 'wordlist_generator.c', 'Makefile'])
    expect(written).toContain(join(folder, 'c', name));
});
