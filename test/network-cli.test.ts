import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { millrace, signalled } from './command-line.js';
import { RegtestChain } from './network/chain.js';
import { NodeServer } from './network/node-server.js';
import { PoolServer } from './network/pool-server.js';

/** `millrace block mine` as users run it, against servers on loopback. */
const PAYOUT = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const SCRIPT = '0014751e76e8199196d454941c45d1b3a323f1433bd6';
const here = ['--device', 'wasm', '--threads', '1'];

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-network-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}) => millrace(['block', 'mine', ...args], { env });

async function node(): Promise<NodeServer<RegtestChain>> {
  const server = await new NodeServer(new RegtestChain(SCRIPT)).listen();
  onTestFinished(() => server.close());
  return server;
}

describe('solo', () => {
  test('mines blocks, reports each, and never shows the password', async () => {
    const server = await node();
    server.chain.transactions = 3;
    const verbose = join(folder, 'verbose.log');
    const password = join(folder, 'password');
    writeFileSync(password, 'sesame-1234\nmore\n');
    const args = ['--rpc', server.url, '--user', 'miner', '--password-file', password, '--payout', PAYOUT];
    const { status, stdout, stderr, events } = await run([...args, ...here, '--count', '3', '--json', '-e', verbose]);
    expect([status, stderr, server.chain.refusals]).toEqual([0, '', []]);
    expect(events.at(-1)).toMatchObject({ event: 'done', exit: 0, accepted: 3, blocks: 3, hardwareErrors: 0 });
    const mined = events.filter(({ event }) => event === 'mined');
    expect(mined.map(({ hash }) => hash)).toEqual(server.chain.tips.slice(1));
    expect(mined.map(({ height, state }) => [height, state])).toEqual([1, 2, 3].map((height) => [height, 'accepted']));
    expect(events.filter(({ event }) => event === 'work').length).toBeGreaterThanOrEqual(3);
    // Request and answer have the same number.
    const log = readFileSync(verbose, 'utf8');
    const [, id, block] = /rpc → #(\d+) \{.*"submitblock","params":\["([0-9a-f]+)"\]/.exec(log)!;
    expect(block).toBe(server.chain.blocks[0]);
    expect(log).toContain(`rpc ← #${id} 200 {"result":null,"error":null,"id":${id}}`);
    expect(stdout + log).not.toContain('sesame');
  });

  test('accepts a cookie, or a name and password from the environment', async () => {
    const server = await node();
    const cookie = join(folder, '.cookie');
    writeFileSync(cookie, '__cookie__:0123456789abcdef');
    server.credentials = '__cookie__:0123456789abcdef';
    const args = ['--rpc', server.url, '--payout', PAYOUT, '--count', '1', ...here];
    const byCookie = await run([...args, '--cookie', cookie]);
    expect([byCookie.status, server.chain.height]).toEqual([0, 1]);
    expect(byCookie.stdout).toMatch(/^block 1 {2}[0-9a-f]{64} {2}accepted\n$/);
    server.credentials = 'anna:apple-pass';
    // The error about the chain shows that the credentials were accepted.
    server.name = 'main';
    const byEnvironment = await run(args, { MILLRACE_USER: 'anna', MILLRACE_PASSWORD: 'apple-pass' });
    expect([byEnvironment.status, byEnvironment.stderr]).toEqual([
      64,
      expect.stringMatching(/another chain than main/),
    ]);
    const wrong = await run(args, { MILLRACE_USER: 'anna', MILLRACE_PASSWORD: 'pear-pass' });
    expect(wrong.status).toBe(64);
    expect(wrong.stderr).toMatch(/rejected these credentials/);
    expect(wrong.stderr).not.toMatch(/pear-pass/);
    const none = await run([...args, '--ca', join(folder, 'none.pem')]);
    expect([none.status, none.stderr]).toEqual([74, expect.stringContaining('none.pem')]);
  });

  test('reports that signet cannot be mined', async () => {
    const server = await node();
    server.name = 'signet';
    const args = ['--rpc', server.url.replace('//', '//miner:sesame-1234@'), '--payout', PAYOUT, ...here];
    const signet = await run(args);
    expect(signet.status).toBe(64);
    expect(signet.stderr).toMatch(/signet cannot be mined: its blocks need a signature[\s\S]*regtest/);
    expect(signet.stderr).not.toContain('sesame');
  });
});

describe('pools', () => {
  test('get shares until a signal stops the command with exit status 2', async () => {
    const server = await new PoolServer().listen();
    onTestFinished(() => server.close());
    server.difficulty = '0.00001';
    const url = server.url.replace('//', '//worker:apple-pass@');
    const args = ['block', 'mine', '--stratum', url, ...here, '--json'];
    const { status, stdout, events } = await signalled(args, [[/"event":"mined"/, 'SIGINT']]);
    expect(status).toBe(2);
    expect(events.find(({ event }) => event === 'pool')).toMatchObject({ server: server.url, state: 'difficulty' });
    expect(events.some(({ event, state }) => event === 'mined' && state === 'accepted')).toBe(true);
    expect(server.refused).toEqual([]);
    expect(stdout).not.toMatch(/apple-pass/);
  });
});

test('rejects invalid options', async () => {
  const calls: readonly [args: readonly string[], why: RegExp][] = [
    [['--stratum', 'stratum2+tcp://pool:3336', '--user', 'a'], /Stratum V2 is not supported/],
    [['--stratum', 'stratum+tcp://pool:3333'], /no worker name for/],
    [['--rpc', 'http://127.0.0.1:1'], /no payout address/],
    [['--rpc', 'http://127.0.0.1:1', '--payout', 'bc1qnonsense'], /cannot be paid/],
    [['--rpc', 'http://127.0.0.1:1', '--stratum', 'a:1', '--payout', PAYOUT], /both --rpc and --stratum are given/],
    [[], /neither --rpc nor --stratum is given/],
  ];
  const ended = await Promise.all(calls.map(([args]) => run(args)));
  expect(ended.map(({ status, stderr }) => [status, stderr])).toEqual(
    calls.map(([, why]) => [64, expect.stringMatching(why)]),
  );
});
