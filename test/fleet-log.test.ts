import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstreamManager } from '@nats-io/jetstream';
import { connect, jwtAuthenticator, type NatsConnection } from '@nats-io/transport-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Authority } from '../src/fleet/access/index.js';
import { FleetClient } from '../src/fleet/client/index.js';
import { FleetHost } from '../src/fleet/coordinator/index.js';
import { Bus } from '../src/fleet/nats/index.js';
import { copyCoordinator, FleetFiles } from '../src/fleet/replica/index.js';
import { openStore } from '../src/store/index.js';
import { whyNoFleet } from './fleet/fleet.js';
import { TestServer } from './fleet/server.js';
import { byTier, isShort, patience } from './tier.js';

/** What a coordinator reads of the log of commits when it starts, on a real server. */
describe.skipIf(whyNoFleet() !== undefined)('the log of a fleet', { timeout: patience(120_000) }, () => {
  const root = mkdtempSync(join(tmpdir(), 'millrace-log-'));
  const files = new FleetFiles(join(root, 'first', 'fleet'));
  const { fleet } = files;
  const { signal } = new AbortController();
  let server: TestServer;
  let authority: Authority;
  let url = '';

  beforeAll(async () => {
    authority = await Authority.open(files.folder, fleet);
    server = new TestServer(join(root, 'server'), authority.serverLines);
    await server.start();
    url = `nats://127.0.0.1:${server.port}`;
  });

  afterAll(async () => {
    await server?.kill();
    rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  });

  const open = async (): Promise<Bus> => {
    const bus = await Bus.connect({ url, fleet, ...(await authority.coordinator()) }, 'test', { callMs: 500 });
    onTestFinished(() => bus.close());
    return bus;
  };

  /** A connection by NATS's own client. */
  const plain = async (): Promise<NatsConnection> => {
    const { jwt, seed } = await authority.coordinator();
    const connection = await connect({
      servers: url,
      authenticator: jwtAuthenticator(jwt, new TextEncoder().encode(seed)),
    });
    onTestFinished(() => connection.close());
    return connection;
  };

  /** Starts a coordinator with the files of a folder. */
  const lead = async (folder: string): Promise<{ readonly host: FleetHost; close(): Promise<void> }> => {
    const store = await openStore(folder);
    const say = (): void => undefined;
    const host = await FleetHost.start({
      ...{ folder: join(folder, 'fleet'), store, server: { kind: 'given', url } as const, say, warn: say },
    });
    let isClosed = false;
    const close = async (): Promise<void> => {
      if (isClosed) return;
      isClosed = true;
      await host.close();
      await store.close();
    };
    onTestFinished(close);
    return { host, close };
  };

  /** Counts the messages of the log that anyone asks the server for. */
  const countReads = async (): Promise<() => Promise<number>> => {
    const connection = await plain();
    let count = 0;
    connection.subscribe('$JS.API.STREAM.MSG.GET.*', { callback: () => void count++ });
    await connection.flush();
    return async () => {
      await connection.flush();
      return count;
    };
  };

  const LENGTH = byTier(300, 5_000);

  test('is read from where a coordinator knows it, however long it is; one that was replaced answers no calls', async () => {
    const [here, elsewhere] = [join(root, 'first'), join(root, 'copy')];
    const first = await lead(here);
    const store = await openStore(here);
    await copyCoordinator(store, elsewhere);
    await store.close();
    await first.close();
    // The leader lived for a while, and invited three users that the copy does not know.
    const log = (await open()).log(() => undefined);
    const { term } = first.host.service;
    for (let at = 0; at < LENGTH; at++) await log.append(term, 0, undefined, signal);
    const second = await lead(here);
    for (const name of ['ann', 'bob', 'carl']) await second.host.service.invite('worker', 600, { name });
    await second.close();

    const reads = await countReads();
    const third = await lead(here);
    const afterSame = await reads();
    // Two ends of the log, and what was written since.
    expect(afterSame).toBeLessThan(10);
    const fourth = await lead(elsewhere);
    expect((await reads()) - afterSame).toBeLessThan(2 * Math.log2(LENGTH) + 20);
    expect(['ann', 'bob', 'carl'].map((name) => fourth.host.authority.user(name)?.name)).toEqual([
      'ann',
      'bob',
      'carl',
    ]);
    expect(fourth.host.service.term).toBeGreaterThan(third.host.service.term);

    // Both hear a call. Only the one that leads answers, and nobody does when it has ended.
    await expect(third.host.failed).rejects.toThrow(/another coordinator of this fleet has taken over/);
    const client = new FleetClient(await open(), 0);
    expect((await client.overview()).term).toBe(fourth.host.service.term);
    await fourth.close();
    await expect(client.overview()).rejects.toThrow(/does not answer/);
  });

  test.skipIf(isShort)('that lacks records is not followed by a coordinator that does not know them', async () => {
    const [here, elsewhere] = [join(root, 'first'), join(root, 'old')];
    const first = await lead(here);
    const store = await openStore(here);
    await copyCoordinator(store, elsewhere);
    await store.close();
    for (const name of ['dora', 'emil']) await first.host.service.invite('worker', 600, { name });
    await first.close();
    const manager = await jetstreamManager(await plain());
    await manager.streams.purge(`millrace-${fleet}-log`, { keep: 1 });
    await expect(lead(elsewhere)).rejects.toThrow("the fleet's log no longer has all that is missing here");
    expect((await lead(here)).host.authority.user('dora')?.name).toBe('dora');
  });

  test.skipIf(isShort)('has its place for each number of records, also if some of its messages are lost', async () => {
    const other = `${fleet}x`;
    const bus = await Bus.connect({ url, fleet: other, ...(await authority.coordinator()) }, 'test');
    onTestFinished(() => bus.close());
    const log = bus.log(() => undefined);
    expect(await log.find(0)).toEqual({ sequence: 0, term: 0 });
    expect(await log.read(0)).toEqual({ frames: [], last: 0 });
    const large = new Uint8Array(2_000_000);
    for (let number = 1; number <= 12; number++) {
      const term = 1 + Math.floor(number / 5);
      await log.append(term, number, number === 6 ? large : Uint8Array.of(number), signal);
      for (let beats = 0; beats < (number * 7) % 11; beats++) await log.append(term, number, undefined, signal);
    }
    /** What a message is, with the size of its part of a record. */
    const read = async (after: number) =>
      (await log.read(after)).frames.map(({ bytes, ...header }) => ({ ...header, size: bytes.length }));
    const all = await read(0);
    const check = async (): Promise<void> => {
      for (let known = 0; known <= 13; known++) {
        const { sequence, term } = await log.find(known);
        const left = all.filter((frame) => frame.number > known);
        // Nothing else is read, and no term is missed.
        expect(await read(sequence)).toEqual(left);
        expect(Math.max(term, ...left.map((frame) => frame.term))).toBe(all.at(-1)?.term);
      }
    };
    await check();
    const manager = await jetstreamManager(await plain());
    for (const { sequence, parts } of all.splice(0).filter(({ sequence: at }) => at % 3 === 0))
      if (parts === 0) await manager.streams.deleteMessage(`millrace-${other}-log`, sequence);
    all.push(...(await read(0)));
    await check();
  });
});
