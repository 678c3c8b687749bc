import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { Authority } from '../src/fleet/access/index.js';
import { Bus } from '../src/fleet/nats/index.js';
import { type Fault, faults, sequence, survive } from './fleet/faults.js';
import { whyNoFleet } from './fleet/fleet.js';
import { TestServer } from './fleet/server.js';
import { TcpProxy } from './fleet/tcp-proxy.js';
import { FaultWorld } from './fleet/world.js';
import { byTier, patience } from './tier.js';

/**
 * Faults in a fleet of processes on a real server. Each time: the ledger has the whole space once, and hits and their
 * order are those that arithmetic gives. The protocol's clocks run faster, so that what takes seconds does not.
 */
const absent = whyNoFleet();

describe('answers are those of one machine although', () => {
  let world: FaultWorld | undefined;
  const close = async () => {
    await world?.close();
    world = undefined;
  };
  afterAll(close);
  afterEach(async (ctx) => {
    if (ctx.task.result?.state === 'fail') await close();
  });

  /** Of a short run: one fault of each part. The test below shows what a coordinator that was cut off shows. */
  const some = /^a worker is killed|^the server loses its files|is half-open$|played again|^the coordinator is paused/;
  /** Faults by name, each with its own seeds; in a short run some of them in turn. */
  const cases: [string, number, readonly Fault[]][] = byTier(
    [['each part fails once', 1, faults.filter(({ name }) => some.test(name))]],
    faults.flatMap((fault) =>
      Array.from({ length: byTier(1, Math.ceil(200 / faults.length), 500) }, (_, seed): [string, number, Fault[]] => [
        fault.name,
        seed,
        [fault],
      ]),
    ),
  );

  test.for(cases)('%s (%i)', { timeout: patience(120_000) }, async ([, seed, struck], ctx) => {
    if (absent) return ctx.skip(absent);
    world ??= await FaultWorld.start();
    await survive(world, struck, sequence(seed));
  });
});

describe('of two coordinators', () => {
  test('only the newer one commits, whatever the server loses', async (ctx) => {
    if (absent) return ctx.skip(absent);
    const folder = mkdtempSync(join(tmpdir(), 'millrace-fence-'));
    const authority = await Authority.open(folder, 'f');
    const server = new TestServer(join(folder, 'server'), authority.serverLines);
    await server.start();
    const proxy = await TcpProxy.start(() => server.port);
    const invite = { url: proxy.url, fleet: 'f', ...(await authority.coordinator()) };
    const buses = [await Bus.connect(invite, 'older'), await Bus.connect(invite, 'newer')] as const;
    const { signal } = new AbortController();
    const fence = (at: 0 | 1) => {
      const log = buses[at].log(() => undefined);
      return { pass: (signal: AbortSignal) => log.append(at + 1, 1, undefined, signal) };
    };
    try {
      const [older, newer] = [fence(0), fence(1)];
      await older.pass(signal);
      await older.pass(signal);
      await newer.pass(signal);
      await expect(older.pass(signal)).rejects.toThrow(/taken over/);
      await newer.pass(signal);
      await expect(fence(0).pass(signal)).rejects.toThrow(/taken over/);
      await server.kill();
      server.loseFiles();
      await server.start();
      // Nothing tells it that there is a newer one, until that writes again.
      const unaware = fence(0);
      await unaware.pass(signal);
      await newer.pass(signal);
      await expect(unaware.pass(signal)).rejects.toThrow(/taken over/);
      await newer.pass(signal);
    } finally {
      for (const bus of buses) await bus.close();
      await proxy.close();
      await server.kill();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
