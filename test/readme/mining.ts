import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { Ran } from '../command-line.js';
import { GapChain } from '../network/gap-chain.js';
import { GapPoolServer } from '../network/gap-pool-server.js';
import { NodeServer } from '../network/node-server.js';
import { PoolServer } from '../network/pool-server.js';
import { by, type Examples, says, wasm } from './example.js';

const GAP_PAYOUT = 'rric1qw508d6qejxtdg4y5r3zarvary0c5xw7kpt4dsz';
const SCRIPT = '0014751e76e8199196d454941c45d1b3a323f1433bd6';
const COOKIE = '__cookie__:0123456789abcdef';
const few = ['--count', '1'];
const little = [...wasm, '-f', '20', '--primes', '500', '--window', '8192', ...few];

/** Starts a node on loopback that accepts the cookie it has written. */
async function node<Chain extends GapChain>(folder: string, chain: Chain): Promise<NodeServer<Chain>> {
  const server = await new NodeServer(chain).listen();
  onTestFinished(() => server.close());
  server.credentials = COOKIE;
  writeFileSync(join(folder, '.cookie'), COOKIE);
  return server;
}

/** Starts a pool on loopback in place of the document's two, and writes a password. */
async function pool(folder: string, server: PoolServer | GapPoolServer): Promise<string> {
  await server.listen();
  onTestFinished(() => server.close());
  writeFileSync(join(folder, 'password'), 'sesame-1234\n');
  return `${server.url},${server.url}`;
}

/** Checks that at least one share was accepted. */
const accepted = ({ stderr }: Ran): void => expect(stderr).toMatch(/^[1-9]\d* accepted, /m);

/** Commands that run until they are stopped, with test servers that recompute every result. */
export const mining: Examples = {
  'millrace block mine --rpc http://127.0.0.1:18443 --cookie ~/.bitcoin/regtest/.cookie --payout $ADDRESS --count 101':
    by(
      'test/network-cli.test.ts',
      "millrace(['block', 'mine', ...args], { env })",
      "['--rpc', server.url, '--payout', PAYOUT, '--count', '1', ...here]",
      "run([...args, '--cookie', cookie])",
    ),
  'millrace block mine --stratum stratum+tcp://pool.example:3333,stratum+ssl://other.example:3334 --user WORKER --password-file password':
    {
      long: {
        served: async (folder) => ({
          'stratum+tcp://pool.example:3333,stratum+ssl://other.example:3334': await pool(folder, easyPool()),
          WORKER: 'worker',
        }),
        more: [...wasm, ...few],
        check: accepted,
      },
    },
  'millrace gaps mine --rpc http://127.0.0.1:31397 --cookie ~/.gapcoin/.cookie --payout ADDRESS': {
    all: {
      served: async (folder) => ({
        'http://127.0.0.1:31397': (await node(folder, new GapChain(SCRIPT))).url,
        '~/.gapcoin/.cookie': '.cookie',
        ADDRESS: GAP_PAYOUT,
      }),
      more: little,
      check: says(/^block 1 {2}[0-9a-f]{64} {2}accepted\n/),
    },
  },
  'millrace gaps mine --rpc http://127.0.0.1:31397 --user NAME --password-file password': {
    long: {
      served: async (folder) => {
        const server = await node(folder, new GapChain(SCRIPT));
        server.credentials = 'miner:sesame-1234';
        writeFileSync(join(folder, 'password'), 'sesame-1234\n');
        return { 'http://127.0.0.1:31397': server.url, NAME: 'miner' };
      },
      more: little,
      check: accepted,
    },
  },
  'millrace gaps mine --stratum stratum+tcp://pool.example:3385,stratum+ssl://other.example:3385 --user WORKER --password-file password':
    {
      long: {
        served: async (folder) => ({
          'stratum+tcp://pool.example:3385,stratum+ssl://other.example:3385': await pool(folder, new GapPoolServer()),
          WORKER: 'worker',
        }),
        more: little,
        check: accepted,
      },
    },
};

function easyPool(): PoolServer {
  const server = new PoolServer();
  server.difficulty = '0.00001';
  return server;
}
