import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { HTTP_SCHEMES, parseEndpoint } from '../src/network/endpoint.js';
import { type Clock, realClock } from '../src/network/failover.js';
import { JsonRpc } from '../src/network/json-rpc.js';
import { type Share, scanWork } from '../src/workload/block/mining/scan-work.js';
import { bitcoinNode } from '../src/workload/block/mining/solo.js';
import { stratumOpener } from '../src/workload/block/mining/stratum.js';
import type { Scan } from '../src/workload/mining/source.js';
import { interrupted, start } from './command-line.js';
import { RegtestChain } from './network/chain.js';
import { gapNode, gapPool, mineAt, mineGaps, PAYOUT, SCRIPT, useVerifier } from './network/gap-rig.js';
import { NodeServer } from './network/node-server.js';
import { engine, type Mining, mine, mineFor, mineFrom, pool } from './network/rig.js';
import { byTier, isShort, patience } from './tier.js';

/** Mining stops promptly while a server is silent, in every state of a connection. */

/** Two seconds on an idle machine. A miner that waited for the silent server would take ten at least. */
const LIMIT_MS = patience(8000);
const real = { clock: realClock };
type Stopped = Pick<Mining<never>, 'stop'>;

async function stopsSoon({ stop }: Stopped): Promise<void> {
  const from = performance.now();
  await stop();
  expect(performance.now() - from).toBeLessThan(LIMIT_MS);
}

/** A server that accepts connections and sends nothing. */
async function silentServer(): Promise<{ readonly port: number; readonly connected: Promise<void> }> {
  let connect: () => void = () => undefined;
  const connected = new Promise<void>((resolve) => {
    connect = resolve;
  });
  const server = createServer((socket) => {
    socket.on('error', () => undefined).on('data', () => connect());
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, connected };
}

async function bitcoin(): Promise<NodeServer<RegtestChain>> {
  const server = await new NodeServer(new RegtestChain(SCRIPT)).listen();
  onTestFinished(() => server.close());
  return server;
}

function mineAlone(url: string): Stopped {
  const credentials = () => ({ user: 'miner', password: 'sesame-1234' });
  const rpc = new JsonRpc(parseEndpoint(url, HTTP_SCHEMES), { credentials });
  onTestFinished(() => rpc.close());
  return mineFrom(bitcoinNode(rpc, PAYOUT, 0x1fffe000), (work, how) => scanWork(engine, work, how));
}

/** Resolves when the node receives this call, which it leaves unanswered. */
function silentAt(node: NodeServer<RegtestChain> | Awaited<ReturnType<typeof gapNode>>, call: string): Promise<void> {
  return new Promise((resolve) => {
    node.misdeed = (method, _, __, [given]) => {
      const isPoll = (given as { readonly longpollid?: string } | undefined)?.longpollid !== undefined;
      const state = isPoll ? 'long poll' : given !== undefined && method === 'getwork' ? 'getwork of a block' : method;
      if (state !== call) return undefined;
      resolve();
      return 'done';
    };
  });
}

useVerifier();

describe('mining stops while a pool is silent', () => {
  test.each(
    byTier(['mining.subscribe'], ['mining.configure', 'mining.subscribe', 'mining.authorize', 'mining.submit']),
  )('at %s', async (silent) => {
    const server = await pool();
    server.misdeed = ({ method }) => method === silent;
    const mining = mine([server.url], real);
    await server.until(() => server.lines.some(({ method }) => method === silent));
    await stopsSoon(mining);
  });

  test('in a TLS handshake', async () => {
    const { port, connected } = await silentServer();
    const mining = mine([`stratum+ssl://127.0.0.1:${port}`], real);
    await connected;
    await stopsSoon(mining);
  });

  test('before the first job', async () => {
    const server = await pool();
    server.misdeed = ({ id, method }, client) => {
      if (method === 'mining.authorize') client.send({ id, result: true, error: null });
      return method === 'mining.authorize';
    };
    const mining = mine([server.url], real);
    await server.until(() => server.lines.some(({ method }) => method === 'mining.authorize'));
    await stopsSoon(mining);
  });

  test.skipIf(isShort)('while thousands of easy shares wait to be sent', async () => {
    const server = await pool();
    server.difficulty = '0.0000000003';
    server.misdeed = ({ method }) => method === 'mining.submit';
    let isStopped = false;
    let taken = 0;
    const counted: Scan<Share> = async function* (work, how) {
      for await (const share of scanWork(engine, work, how)) {
        if (isStopped) taken += 1;
        yield share;
      }
    };
    const mining = mineFor([server.url], real, stratumOpener({ agent: 'millrace/test', mask: 0 }), counted, {});
    const sent = (): number => server.lines.filter(({ method }) => method === 'mining.submit').length;
    await server.until(() => sent() >= 64);
    // Devices keep working while nothing is sent: more than half of all tries are shares.
    while (mining.miner.tally.tries < byTier(2000n, 5000n)) await new Promise((resolve) => setTimeout(resolve, 10));
    isStopped = true;
    await stopsSoon(mining);
    // Waiting shares are dropped, not checked one by one.
    expect(taken).toBeLessThan(3);
    expect(sent()).toBe(64);
    expect(mining.miner.tally.counts).toMatchObject({ accepted: 0, lost: 64 });
  });

  test('during a minute that the pool requested before the next connection', async () => {
    const server = await pool();
    let wait: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      wait = resolve;
    });
    const clock: Clock = {
      now: () => performance.now(),
      wait: (ms, signal) => {
        if (ms === 60_000) wait();
        return realClock.wait(ms === 60_000 ? ms : 1, signal);
      },
    };
    const mining = mine([server.url], { clock });
    await server.until(() => server.accepted.length >= 1);
    for (const client of server.clients) client.send({ method: 'client.reconnect', params: ['127.0.0.1', 1, 60] });
    await waiting;
    await stopsSoon(mining);
  });

  test.each(byTier(['mining.request'], ['mining.request', 'mining.submit']))('Gapcoin: at %s', async (silent) => {
    const server = await gapPool();
    server.misdeed = ({ method }) => method === silent;
    const mining = mineGaps([server.url], real);
    await server.until(() => server.lines.some(({ method }) => method === silent));
    await stopsSoon(mining);
  });
});

describe('mining stops while a node is silent', () => {
  test.each(byTier(['long poll'], ['getblockchaininfo', 'getblocktemplate', 'long poll', 'submitblock']))(
    'at %s',
    async (silent) => {
      const node = await bitcoin();
      const reached = silentAt(node, silent);
      const mining = mineAlone(node.url);
      await reached;
      await stopsSoon(mining);
    },
  );

  test('in a TLS handshake', async () => {
    const { port, connected } = await silentServer();
    const mining = mineAlone(`https://127.0.0.1:${port}`);
    await connected;
    await stopsSoon(mining);
  });

  const calls: readonly [method: string, payout: string | undefined][] = [
    ['getblocktemplate', PAYOUT],
    ['getwork', undefined],
    ['submitblock', PAYOUT],
    ['getwork of a block', undefined],
  ];
  test.each(byTier(calls.slice(0, 2), calls))('Gapcoin: at %s', async (silent, payout) => {
    const node = await gapNode();
    const reached = silentAt(node, silent);
    const mining = mineAt(node, payout);
    await reached;
    await stopsSoon(mining);
  });
});

describe('commands exit with status 2', () => {
  const here = ['--device', 'wasm', '--threads', '1', '--json'];
  const account = ['--user', 'miner', '--password', 'sesame-1234'];
  const mines: readonly [coin: string, silent: string, plan: readonly string[]][] = [
    ['block', 'getblockchaininfo', []],
    ['gaps', 'submitblock', ['-f', '20', '--primes', '500', '--window', '8192']],
    ['block', 'submitblock', []],
  ];
  test.each(byTier(mines.slice(0, 1), mines))('%s mine, while %s is unanswered', async (coin, silent, plan) => {
    const node = coin === 'block' ? await bitcoin() : await gapNode();
    const reached = silentAt(node, silent);
    const args = [coin, 'mine', '--rpc', node.url, ...account, '--payout', PAYOUT, ...plan, ...here];
    const { child, ended } = start(args);
    await reached;
    const from = performance.now();
    child.kill('SIGTERM');
    expect((await ended).status).toBe(2);
    expect(performance.now() - from).toBeLessThan(LIMIT_MS);
  });

  // An ordinary exit waits for the thread that looks up the name, here for a minute.
  test.runIf(process.platform === 'linux')('while a name server is silent', async ({ skip }) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-names-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [source, library] = [join(folder, 'names.c'), join(folder, 'names.so')];
    const text = 'int getaddrinfo(void) { return write(2, "looking up", 10) + sleep(60); }\n';
    writeFileSync(source, `#include <unistd.h>\n${text}`);
    const { status } = spawnSync('cc', ['-shared', '-fPIC', '-o', library, source]);
    if (status !== 0) return skip('no C compiler');
    const args = ['block', 'mine', '--stratum', 'stratum+tcp://pool.example:3333', '--user', 'a', ...here];
    let from = 0;
    const act = (pid: number): void => {
      from = performance.now();
      process.kill(pid, 'SIGTERM');
    };
    expect((await interrupted(args, { when: /looking up/, act, env: { LD_PRELOAD: library } })).status).toBe(2);
    expect(performance.now() - from).toBeLessThan(30_000);
  });

  // test/network-hostile.test.ts sends long lines in short runs too.
  test.skipIf(isShort)('block mine, which works while a pool floods it with long lines', async () => {
    const server = await pool();
    server.difficulty = '0.0001';
    const long = ['token', '--token-', 'password: ', 'a://b'].map((part) => ({
      method: 'client.show_message',
      params: [part.repeat(1_000_000 / part.length)],
    }));
    const wrong = [
      { id: 'x', method: 5 },
      { id: [], result: 7 },
      { method: 'mining.what', params: 3 },
      { error: [[]] },
    ];
    const flood = Array.from({ length: 1000 }, (_, at) => wrong[at % wrong.length]);
    const lines = [...long, ...flood].map((message) => `${JSON.stringify(message)}\n`).join('');
    server.misdeed = ({ method }, client) => {
      if (method === 'mining.submit') client.socket.write(lines);
      return false;
    };
    const log = ['-e', join(tmpdir(), `millrace-flood-${process.pid}`)];
    onTestFinished(() => rmSync(log[1]!, { force: true }));
    const { child, ended } = start(['block', 'mine', '--stratum', server.url, '--user', 'a', ...here, ...log]);
    onTestFinished(() => void child.kill('SIGKILL'));
    await server.until(() => server.accepted.length >= 5);
    const from = performance.now();
    child.kill('SIGTERM');
    expect((await ended).status).toBe(2);
    expect(performance.now() - from).toBeLessThan(LIMIT_MS);
  });
});
