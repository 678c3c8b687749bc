import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { millrace, signalled } from './command-line.js';
import { GapChain } from './network/gap-chain.js';
import { GapPoolServer } from './network/gap-pool-server.js';
import { NodeServer } from './network/node-server.js';
import { byTier } from './tier.js';

/** `millrace gaps mine` as users run it, against servers on loopback. */
const PAYOUT = 'rric1qw508d6qejxtdg4y5r3zarvary0c5xw7kpt4dsz';
const SCRIPT = '0014751e76e8199196d454941c45d1b3a323f1433bd6';
const plan = ['--device', 'wasm', '--threads', '1', '-f', '20', '--primes', '500', '--window', '8192'];

const folder = mkdtempSync(join(tmpdir(), 'millrace-network-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('solo: mines blocks, reports each, and never shows the password', async () => {
  const server = await new NodeServer(new GapChain(SCRIPT)).listen();
  onTestFinished(() => server.close());
  const [verbose, password] = [join(folder, 'tests'), join(folder, 'password')];
  writeFileSync(password, 'sesame-1234\n');
  const { hostname, port } = new URL(server.url);
  const args = ['-o', hostname, '-p', port, '-u', 'miner', '--password-file', password, '--payout', PAYOUT];
  const count = byTier(1, 2);
  const mining = ['gaps', 'mine', ...args, ...plan, '--count', String(count), '--json', '-e', verbose];
  const { status, stdout, stderr, events } = await millrace(mining);
  expect([status, stderr, server.chain.refusals]).toEqual([0, '', []]);
  expect(events.at(-1)).toMatchObject({ event: 'done', exit: 0, accepted: count, blocks: count, hardwareErrors: 0 });
  const mined = events.filter(({ event }) => event === 'mined');
  expect(mined.map(({ hash, height, state }) => [hash, height, state])).toEqual(
    server.chain.tips.slice(1).map((hash, at) => [hash, at + 1, 'accepted']),
  );
  expect(mined.every(({ shift, gap, merit }) => shift === 20 && Number(gap) > 700 && Number(merit) > 3.9)).toBe(true);
  // The log has the candidate, the request and its answer.
  const log = readFileSync(verbose, 'utf8');
  const { hash, adder, difficulty } = mined[0]!;
  const candidate = `pow_valid=true ratio=\\d\\.\\d{6} share_difficulty=${difficulty} mpz_hash=0x${hash} mpz_adder=0x${Number(adder).toString(16)}`;
  expect(log).toMatch(new RegExp(`submit-candidate: offset=${adder} target=\\d+ ${candidate}\n`));
  const [, id, block] = /rpc → #(\d+) \{.*"submitblock","params":\["([0-9a-f]+)"\]/.exec(log)!;
  expect(block).toBe(server.chain.blocks[0]);
  expect(log).toContain(`rpc ← #${id} 200 {"result":null,"error":null,"id":${id}}`);
  expect(log).toMatch('streams count=2 handles: [0]=wasm/0 [1]=wasm/1 device=wasm');
  expect(log).toMatch(
    /trace sample 0 offset=\d+ added=\d+ words: [0-9a-f ]+ carries: [01 ]+ residue: [0-9a-f ]+ host=same/,
  );
  expect(log).toMatch(/share of 1: accepted hash [0-9a-f]{64} adder 0x[0-9a-f]+ target \d+ difficulty \d+ ratio/);
  expect(stdout + log).not.toContain('sesame');
});

test('pools get shares until a signal stops the command with exit status 2', async () => {
  const server = await new GapPoolServer().listen();
  onTestFinished(() => server.close());
  const { hostname, port } = new URL(server.url);
  const args = [
    'gaps',
    'mine',
    '-c',
    '-o',
    hostname,
    '-p',
    port,
    '-u',
    'worker',
    '-x',
    'apple-pass',
    ...plan,
    '--json',
  ];
  const { status, stdout, events } = await signalled(args, [[/"event":"mined"/, 'SIGINT']]);
  expect(status).toBe(2);
  expect(events.find(({ event }) => event === 'pool')).toMatchObject({ state: 'difficulty', message: '4.000000000' });
  expect(events.find(({ event }) => event === 'work')).toMatchObject({ difficulty: 4, blockDifficulty: 22 });
  expect(events.some(({ event, state }) => event === 'mined' && state === 'accepted')).toBe(true);
  expect(server.refused).toEqual([]);
  expect(stdout).not.toMatch(/apple-pass/);
});

test('rejects invalid options', async () => {
  const stderrOf = async (...args: string[]): Promise<string> => {
    const { status, stderr } = await millrace(['gaps', 'mine', ...args]);
    expect(status).toBe(64);
    return stderr;
  };
  const [nowhere, half, twice, payout] = await Promise.all([
    stderrOf('--shift', '32'),
    stderrOf('--host', 'localhost'),
    stderrOf('--host', 'localhost', '--port', '1', '--rpc', 'http://127.0.0.1:1'),
    stderrOf('--rpc', 'http://127.0.0.1:1', '--payout', 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4'),
  ]);
  expect(nowhere).toMatch(/neither --rpc nor --stratum is given/);
  expect(half).toMatch(/--host and --port belong together/);
  expect(twice).toMatch(/--host and a URL are given/);
  expect(payout).toMatch(/cannot be paid/);
});
