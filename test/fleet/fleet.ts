import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cell, loop, when } from '../../src/kernel/language/control.js';
import { items } from '../../src/kernel/language/items.js';
import type { Kernel } from '../../src/kernel/language/signature.js';
import { u32 } from '../../src/kernel/language/types.js';
import { type Started, type StartOptions, start } from '../command-line.js';
import { patience } from '../tier.js';

/** Why fleets cannot be tested here. Undefined if they can. */
export function whyNoFleet(): string | undefined {
  const path = `${process.env.PATH}:/usr/sbin`;
  return spawnSync('nats-server', ['--version'], { env: { PATH: path } }).status === 0
    ? undefined
    : 'nats-server is not installed';
}

/** Rounds of a linear congruential generator, which a loop takes one by one and arithmetic in one step. */
export const ROUNDS = 2000;
export const [A, C] = [1_664_525, 1_013_904_223];

/** The file of a kernel that hits where the generator, seeded with the index, ends below a limit. */
export const kernelText = `import { cell, items, loop, u32, when } from '${new URL('../../dist/kernel/index.js', import.meta.url).href}';
export default {
  kernel: items('rounds', { job: { limit: u32 }, hit: { last: u32 } }, ({ index, job, emit }) => {
    const x = cell(u32, index.lo);
    loop(${ROUNDS}, () => x.set(x.mul(${A}).add(${C})));
    when(x.lt(job.limit), () => emit({ last: x.add(0) }));
  }),
};
`;

/** The same kernel with any number of rounds. */
export const roundsKernel = (rounds: number): Kernel =>
  items('rounds', { job: { limit: u32 }, hit: { last: u32 } }, ({ index, job, emit }) => {
    const x = cell(u32, index.lo);
    loop(rounds, () => x.set(x.mul(A).add(C)));
    when(x.lt(job.limit), () => emit({ last: x.add(0) }));
  }) as unknown as Kernel;

export interface RoundsHit {
  readonly index: bigint;
  readonly last: number;
}

/** The same in one step: the hits below `space`, as the command prints them. */
export function expectedHits(space: number, limit: number, rounds = ROUNDS): RoundsHit[] {
  let [a, c] = [1, 0];
  for (let round = 0; round < rounds; round++) [a, c] = [Math.imul(a, A) >>> 0, (Math.imul(c, A) + C) >>> 0];
  const hits: RoundsHit[] = [];
  for (let index = 0; index < space; index++) {
    const last = (Math.imul(index, a) + c) >>> 0;
    if (last < limit) hits.push({ index: BigInt(index), last });
  }
  return hits;
}

/** A fleet of processes, with its own data directory. */
export class TestFleet {
  readonly folder = mkdtempSync(join(tmpdir(), 'millrace-fleet-'));
  readonly #all: Started[] = [];
  readonly dataFolder = join(this.folder, 'data');
  readonly #env = { MILLRACE_HOME: this.dataFolder };

  constructor() {
    writeFileSync(join(this.folder, 'kernel.mjs'), kernelText);
  }

  start(...args: string[]): Started {
    return this.startWith({}, ...args);
  }

  /** Starts a command with other variables. */
  startWith(env: NodeJS.ProcessEnv, ...args: string[]): Started {
    return this.#start(args, { env: { ...this.#env, ...env } });
  }

  /** Starts a command by another program. */
  startThrough(through: readonly string[], ...args: string[]): Started {
    return this.#start(args, { env: this.#env, through });
  }

  #start(args: readonly string[], options: StartOptions): Started {
    const started = start(args, { cwd: this.folder, ...options });
    started.ended.catch(() => undefined); // each test looks at those it cares about
    this.#all.push(started);
    return started;
  }

  /** Starts the coordinator and waits until it serves. */
  async serve(): Promise<Started> {
    const served = this.start('fleet', 'serve');
    await saying(served, /^fleet /m);
    return served;
  }

  async join(name: string): Promise<Started> {
    const joined = this.start('fleet', 'join', '--device', 'wasm', '--threads', '1', '--name', name);
    await saying(joined, /works for the fleet/);
    return joined;
  }

  /** Runs the kernel on the fleet. */
  run(space: number, limit: number, ...more: string[]): Started {
    const given = ['--space', String(space), '--param', `limit=${limit}`, '--fleet', ...more];
    return this.start('run', 'kernel.mjs', ...given);
  }

  get serverPid(): number {
    const found = spawnSync('pgrep', ['-f', join(this.dataFolder, 'fleet', 'nats', 'server.conf')], {
      encoding: 'utf8',
    });
    return Number(found.stdout.trim().split('\n')[0]);
  }

  get storeFolder(): string {
    return join(this.dataFolder, 'fleet', 'nats', 'store');
  }

  async close(): Promise<void> {
    for (const { child } of this.#all) child.kill('SIGKILL');
    await Promise.all(this.#all.map(({ ended }) => ended.catch(() => undefined)));
    const { serverPid } = this;
    if (serverPid > 0) process.kill(serverPid, 'SIGKILL');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

/** Waits until a command has said something. Throws with its output if it ends before. */
export function saying({ child, ended }: Started, what: RegExp): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = '';
    const look = (part: string): void => {
      said += part;
      if (what.test(said)) resolve();
    };
    child.stderr?.on('data', look);
    child.stdout?.on('data', look);
    ended.then((end) => reject(new Error(`it ended with ${end.status}: ${said}`)), reject);
  });
}

/** Starts a server that is not the fleet's own, with these lines in its configuration. */
export async function ownServer(
  folder: string,
  lines: string,
): Promise<{ readonly url: string; readonly child: ChildProcess; readonly folder: string }> {
  const store = mkdtempSync(join(folder, 'own-'));
  const config = join(store, 'own.conf');
  const place = `host: 127.0.0.1\nport: -1\nports_file_dir: ${JSON.stringify(store)}\njetstream { store_dir: ${JSON.stringify(store)} }\n`;
  writeFileSync(config, place + lines);
  const child = spawn('nats-server', ['-c', config], {
    env: { PATH: `${process.env.PATH}:/usr/sbin` },
    stdio: 'ignore',
  });
  const ports = join(store, `nats-server_${child.pid}.ports`);
  let url: string | undefined;
  await expect
    .poll(
      () => {
        const text = existsSync(ports) ? readFileSync(ports, 'utf8') : '';
        url = /"(nats:[^"]+)"/.exec(text)?.[1];
        return url;
      },
      { timeout: patience(30_000) },
    )
    .toBeDefined();
  return { url: url ?? '', child, folder: store };
}
