import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { millrace, signalled } from './command-line.js';
import { PoolServer } from './network/pool-server.js';
import { isShort } from './tier.js';
import { zerosFile } from './zeros.js';

/** Text from files, names, arguments and servers is visible in messages and has no effect on a terminal. */

/** Escapes for colour, title and clearing, C0 and C1 control characters, direction marks, separators. */
const HOSTILE = '\u001b[31m\u001b]0;t\u0007\u009b2J\u007f\b\r\u202e\u2066\u2028\u200b';
/** A separate line that looks like ours. */
const FORGED = 'x\nerror: forged';
const LONG = 'abc '.repeat(5000) + 'y'.repeat(20_000);

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-hostile-'));
  writeFileSync(join(folder, 'job.mjs'), zerosFile(16));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Characters that a terminal would act on, except line ends. */
const ACTIVE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

function file(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return name;
}

/** An .npy file with any text as its header. */
function npy(header: string): Uint8Array {
  const text = Buffer.from(header, 'latin1');
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  return Buffer.concat([Buffer.from('\x93NUMPY\x02\x00', 'latin1'), length, text]);
}

const run = (...args: string[]): string[] => ['run', ...args, '--device', 'wasm', '--threads', '1', '--no-ledger'];

/** Where a text may come from; each makes an argument list. */
const ways: readonly [what: string, args: (text: string) => readonly string[]][] = [
  ['an option', (text) => ['devices', `--${text}`]],
  ['a command', (text) => [text]],
  ['a device', (text) => ['selftest', '--device', text]],
  ['the value of an option', (text) => run('job.mjs', '--space', text)],
  ['a parameter', (text) => run('job.mjs', '--param', `none=${text}`)],
  ['the name of a kernel', (text) => ['kernel', 'show', text]],
  ['the name of a job', (text) => ['jobs', 'show', text]],
  ['the name of a file: run', (text) => run(`none-${text}`.slice(0, 240))],
  ['the name of a file: block', (text) => ['block', 'verify', `none-${text}`]],
  ['the name of a file: encode', (text) => ['encode', `none-${text}.npy`, '-o', 'x.npy', '--device', 'wasm']],
  ['the name of a file: words', (text) => ['words', '--mask-file', `none-${text}.hcmask`]],
  ['a mask', (text) => ['words', `?9${text}`]],
  ['an address', (text) => ['block', 'mine', '--stratum', `stratum+tcp://${text}`, '--user', 'a']],
  ['a payout', (text) => ['block', 'mine', '--rpc', 'http://127.0.0.1:1', '--payout', text]],
  ['a block', (text) => ['block', 'verify', file('a.in', `1\n${text}\n${text}\n${text}\n`)]],
  ['a file of masks', (text) => ['words', '--mask-file', file('a.hcmask', `?9${text}\n`)]],
  ['a header of .npy', (text) => ['encode', file('a.npy', npy(`{'descr': '${text}', 'x': 1}`)), '-o', 'x.npy']],
  ['a file that throws', (text) => run(file('bad.mjs', `throw new Error(${JSON.stringify(text)});`))],
  ['a config file', (text) => ['devices', '--config', file('a.json', JSON.stringify({ [text]: 1 }))]],
  ['jobs', (text) => ['jobs', 'import', file('a.jobs', `{"name": ${JSON.stringify(text)}}`), '--data-dir', folder]],
];

describe.each(ways)('%s', (_, made) => {
  test('is escaped and cut, and forges no line', async () => {
    const { status, stdout, stderr } = await millrace(made(HOSTILE + FORGED + LONG), { cwd: folder });
    expect(status).not.toBe(0);
    expect(stderr).not.toBe('');
    expect(stdout + stderr).not.toMatch(ACTIVE);
    expect(`${stdout}${stderr}`).not.toMatch(/^error: forged/m);
    expect(stdout + stderr).not.toContain('y'.repeat(201));
    expect(stderr.length).toBeLessThan(2000);
  });
});

describe.skipIf(isShort).each(ways)('%s', (_, made) => {
  test('has its control characters escaped', async () => {
    const { status, stdout, stderr } = await millrace(made(HOSTILE), { cwd: folder });
    expect(status).not.toBe(0);
    expect(stderr).not.toBe('');
    expect(stdout + stderr).not.toMatch(ACTIVE);
  });
  test('forges no line', async () => {
    const { stdout, stderr } = await millrace(made(FORGED), { cwd: folder });
    expect(stderr).not.toBe('');
    expect(`${stdout}${stderr}`).not.toMatch(/^error: forged/m);
  });
  test('is cut if it is long', async () => {
    const { status, stdout, stderr } = await millrace(made(LONG), { cwd: folder });
    expect(status).not.toBe(0);
    expect(stdout + stderr).not.toContain('y'.repeat(201));
    expect(stderr.length).toBeLessThan(2000);
  });
});

test('escaped text shows the original characters', async () => {
  const { stderr } = await millrace(['selftest', '--device', '\u001b[31mred\u202e'], { cwd: folder });
  expect(stderr).toContain('\\u001b[31mred\\u202e');
});

test('events are not cut, and a reader gets every character back', async () => {
  for (const text of [HOSTILE, FORGED, LONG]) {
    const name = `none-${text}.npy`;
    const { stdout, events } = await millrace(['encode', name, '-o', 'x', '--device', 'wasm', '--json'], {
      cwd: folder,
    });
    expect(stdout).not.toMatch(ACTIVE);
    expect(events.find(({ event }) => event === 'error')?.message).toContain(name);
  }
});

test('data is not escaped', async () => {
  const { stdout } = await millrace(['words', '\u001b[31m?d', '--device', 'wasm', '--threads', '1'], {
    cwd: folder,
  });
  expect(stdout.split('\n').slice(0, 2)).toEqual(['\u001b[31m0', '\u001b[31m1']);
});

test('the command line of a job in the ledger is escaped', async () => {
  const home = join(folder, 'home');
  mkdirSync(home);
  const name = file(`${HOSTILE}.mjs`, zerosFile(16));
  const kept = ['--data-dir', home];
  await millrace(['run', name, '--device', 'wasm', '--threads', '1', '--space', '2^12', ...kept], { cwd: folder });
  const { events } = await millrace(['jobs', 'list', '--json', ...kept]);
  const job = events.find(({ event }) => event === 'job')!;
  const { stdout } = await millrace(['jobs', 'show', String(job.id), ...kept]);
  expect(stdout).toContain('\\u001b[31m');
  expect(stdout).not.toMatch(ACTIVE);
});

test('messages, reasons and jobs of a pool are escaped and cut', async () => {
  const server = await new PoolServer().listen();
  onTestFinished(() => server.close());
  server.difficulty = '0.00001';
  server.misdeed = ({ id, method }, client) => {
    if (method === 'mining.authorize') {
      client.send({ method: 'client.show_message', params: [`hello ${HOSTILE}`] });
      client.send({ method: 'client.show_message', params: [`${FORGED} ${LONG}`] });
      server.job(true, { id: HOSTILE });
    }
    if (method === 'mining.submit') client.send({ id, result: false, error: [20, `no ${HOSTILE}`, null] });
    return method === 'mining.submit';
  };
  const args = ['block', 'mine', '--stratum', server.url, '--user', 'a', '--device', 'wasm', '--threads', '1'];
  const ended = await signalled([...args, '--log', 'debug'], [[/share rejected/, 'SIGINT']]);
  expect(ended.stderr).toContain('says: hello');
  expect(ended.stdout + ended.stderr).not.toMatch(ACTIVE);
  expect(ended.stderr).not.toMatch(/^error: forged/m);
  expect(Math.max(...ended.stderr.split('\n').map((line) => line.length))).toBeLessThan(500);
});
