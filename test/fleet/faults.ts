import { expect } from 'vitest';
import type { Direction, TcpProxy } from './tcp-proxy.js';
import { type FaultWorld, SPEED } from './world.js';

/** What can go wrong with machines, disks and networks. Each fault happens to a fleet that works on a job. */
export interface Fault {
  readonly name: string;
  strike(world: FaultWorld, random: () => number): Promise<void>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** Time on the protocol's clock. */
const protocolMs = (ms: number): Promise<void> => pause(ms / SPEED);
/** After this time without a word a worker has lost its leases. */
const SILENCE_MS = 10_000;

const pick = <T>(random: () => number, from: readonly T[]): T => from[Math.floor(random() * from.length)]!;

/** The connection of the coordinator or of a worker. */
const anyone = (world: FaultWorld, random: () => number): TcpProxy =>
  pick(random, [world.coordinator.proxy, world.worker.proxy, world.resident]);

/** Up to twice as long as leases live without a heartbeat. */
const aWhile = (random: () => number): Promise<void> => protocolMs(random() * 2 * SILENCE_MS);

async function restartServer(world: FaultWorld, change: () => void): Promise<void> {
  await world.server.kill();
  change();
  await world.server.start();
}

export const faults: readonly Fault[] = [
  {
    name: 'a worker is killed, and another one joins',
    strike: async (world) => {
      await world.kill(world.worker);
      world.worker = await world.startWorker();
    },
  },
  {
    name: 'a worker stops for longer than its leases last, and goes on',
    strike: async (world, random) => {
      const { child } = world.worker;
      child.kill('SIGSTOP');
      await protocolMs(SILENCE_MS * (1.1 + random()));
      child.kill('SIGCONT');
    },
  },
  {
    name: 'the coordinator is killed and started again',
    strike: async (world, random) => {
      await world.kill(world.coordinator);
      await protocolMs(random() * SILENCE_MS);
      world.coordinator = await world.startCoordinator();
    },
  },
  { name: 'the server is killed and started again', strike: (world) => restartServer(world, () => undefined) },
  {
    name: "the server's files are cut short",
    strike: (world, random) =>
      restartServer(world, () => world.say(`cut: ${world.server.truncateFiles(random).join(', ')}`)),
  },
  {
    // It then numbers results as it did earlier ones.
    name: 'the server loses messages, but not how far they were read',
    strike: (world) => restartServer(world, () => world.server.loseMessages()),
  },
  { name: 'the server loses its files', strike: (world) => restartServer(world, () => world.server.loseFiles()) },
  {
    name: 'a machine is cut off for a while',
    strike: async (world, random) => {
      const proxy = anyone(world, random);
      proxy.cut();
      await aWhile(random);
      proxy.heal();
    },
  },
  {
    name: 'connections are torn within a message',
    strike: async (world, random) => {
      const proxy = anyone(world, random);
      for (let times = 0; times < 3; times++) {
        proxy.tearAfter = Math.floor(random() * 2000);
        await protocolMs(random() * 4000);
      }
      proxy.heal();
    },
  },
  {
    name: 'messages are delayed',
    strike: async (world, random) => {
      const proxy = anyone(world, random);
      proxy.delayMs = random() * (SILENCE_MS / SPEED);
      await aWhile(random);
      proxy.heal();
    },
  },
  {
    name: 'a connection is half-open',
    strike: async (world, random) => {
      const proxy = anyone(world, random);
      proxy.hold(pick<Direction>(random, ['up', 'down', 'both']));
      await aWhile(random);
      proxy.heal(pick(random, ['late', 'lost'] as const));
    },
  },
  {
    name: 'a connection is slow',
    strike: async (world, random) => {
      const proxy = anyone(world, random);
      proxy.bytesPerMs = 1 + random() * 20;
      await aWhile(random);
      proxy.heal();
    },
  },
  {
    name: 'messages of this and earlier jobs are played again, in another order',
    strike: async (world, random) => {
      const played = world.recorded.filter(() => random() < 0.5).sort(() => random() - 0.5);
      await world.replay(played);
    },
  },
  {
    name: 'the coordinator is paused, another one takes over, and it goes on',
    strike: async (world, random) => {
      const paused = world.coordinator;
      paused.child.kill('SIGSTOP');
      await protocolMs(random() * SILENCE_MS);
      await world.replaceCoordinator();
      paused.child.kill('SIGCONT');
      await paused.ended;
      expect(paused.failure).toMatch(/another coordinator of this fleet has taken over/);
      await world.kill(paused);
    },
  },
  {
    name: 'the coordinator is cut off, another one takes over, and it comes back',
    strike: async (world) => {
      world.coordinator.proxy.cut();
      const { before, store } = await world.replaceCoordinator();
      const doneOf = async () => (await store.jobs()).reduce((sum, { done }) => sum + done, 0n);
      const committed = await doneOf();
      before.proxy.heal();
      // It has not heard of its successor, and takes some of the results for new ones.
      const results = world.recorded.filter(({ subject }) => subject === 'result');
      while (before.failure === undefined && before.child.exitCode === null) {
        await world.replay(results.slice(-50));
        await pause(50);
      }
      await before.ended;
      expect(before.failure).toMatch(/another coordinator of this fleet has taken over/);
      expect(await doneOf()).toBe(committed);
      await store.close();
      await world.kill(before);
    },
  },
];

/** A repeatable sequence from 0 to 1. */
export function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Lets faults strike one after another while jobs run. */
export async function survive(world: FaultWorld, struck: readonly Fault[], random: () => number): Promise<void> {
  const rest = [...struck];
  do {
    let isOver = false;
    const job = world.runJob().finally(() => {
      isOver = true;
    });
    job.catch(() => undefined); // thrown below
    while (!isOver && rest.length > 0) {
      await Promise.race([world.moreResults(1 + Math.floor(random() * 4)), job]);
      if (isOver) break;
      const { name, strike } = rest.shift()!;
      world.say(`-- ${name}`);
      await strike(world, random);
    }
    await job;
  } while (rest.length > 0);
}
