import { describe, expect, test } from 'vitest';
import { Engine, type FaultSpec, virtualDevices } from '../src/engine/index.js';
import { device, methods, mine, pool, useDevice } from './network/rig.js';
import { byTier } from './tier.js';

/** Mining for pools on loopback, which recompute every share with their own code. */

useDevice();

describe('shares', () => {
  test('are all accepted: no duplicates, versions within the mask, headers recomputed by the pool', async () => {
    const server = await pool();
    const { miner, until, stop } = mine([server.url]);
    await until(() => miner.tally.counts.accepted >= byTier(4, 20));
    await stop();
    expect(server.refused).toEqual([]);
    expect(new Set(server.accepted.map(({ hash }) => hash)).size).toBe(server.accepted.length);
    expect(miner.tally.counts.rejected + miner.tally.counts.stale).toBe(0);
    expect(methods(server).slice(0, 4)).toEqual([
      'mining.configure',
      'mining.subscribe',
      'mining.extranonce.subscribe',
      'mining.authorize',
    ]);
  });

  test.each([
    ['without version rolling, by a pool that does not support it', undefined, 6],
    ['with two free bits and one byte of extranonce', 0x00006000, 1],
    ['with no extranonce at all', 0x1fffe000, 0],
  ])('are accepted %s', async (_, mask, size) => {
    const server = await pool();
    server.mask = mask;
    server.size = size;
    const { stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= byTier(2, 5));
    await stop();
    expect(server.refused).toEqual([]);
    const wanted = mask === undefined ? 5 : 6;
    const submits = server.lines.filter(({ method }) => method === 'mining.submit');
    expect(submits.every(({ params }) => params?.length === wanted)).toBe(true);
  });

  test('are accepted by a pool that closes the connection on mining.configure', async () => {
    const server = await pool();
    server.mask = undefined;
    server.misdeed = ({ method }, client) => {
      if (method === 'mining.configure') client.socket.destroy();
      return method === 'mining.configure';
    };
    const { told, stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 3);
    await stop();
    expect(server.refused).toEqual([]);
    expect(told.join('\n')).toContain('continuing without version rolling');
    expect(methods(server).filter((one) => one === 'mining.configure')).toHaveLength(1);
  });

  test('meet the difficulty of their job: 0.001, a million, fractions', async () => {
    const server = await pool();
    const { stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 2);
    server.setDifficulty('1000000');
    server.send();
    server.setDifficulty('0.001');
    server.send();
    server.setDifficulty('0.00000123456');
    const { id } = server.send();
    await server.until(() => server.accepted.filter(({ job }) => job === id).length >= byTier(1, 5));
    await stop();
    // A share may have been in flight when its job ended; a wrong target would give another reason.
    expect(server.refused.filter((why) => why !== 'Job not found')).toEqual([]);
  });

  test('are not repeated when a job is sent again', async () => {
    const server = await pool();
    const { stop } = mine([server.url]);
    for (let again = 1; again <= byTier(2, 5); again++) {
      await server.until(() => server.accepted.length >= byTier(2, 4) * again);
      for (const client of server.clients) server.notify(client, server.current!, false);
    }
    await stop();
    expect(server.refused).toEqual([]);
  });
});

describe('several devices', () => {
  async function withDevices(faults: readonly FaultSpec[], use: (engine: Engine) => Promise<void>): Promise<void> {
    const own = new Engine(virtualDevices(device, faults), { streams: 1, slots: 2 });
    try {
      await use(own);
    } finally {
      await own.close();
    }
  }

  test('never try the same header: all of them work, and no share is found twice', async () => {
    const server = await pool();
    await withDevices([{}, {}, {}], async (own) => {
      const { until, miner, stop } = mine([server.url], {}, {}, own);
      await until(() => miner.tally.counts.accepted >= byTier(6, 30) && own.devices.every(({ items }) => items > 0n));
      await stop();
    });
    expect(server.refused).toEqual([]);
    expect(new Set(server.accepted.map(({ hash }) => hash)).size).toBe(server.accepted.length);
  });

  test('exclude one that lies: none of its wrong shares is sent, and the others continue', async () => {
    const server = await pool();
    await withDevices([{ liesAt: 2 }, {}], async (own) => {
      const { until, miner, stop } = mine([server.url], {}, {}, own);
      await until(() => own.devices.some(({ fault }) => fault !== undefined) && miner.tally.counts.accepted >= 5);
      await stop();
      const [liar, honest] = own.devices;
      expect(liar!.wrong).toBeGreaterThanOrEqual(3);
      expect([honest!.wrong, honest!.fault]).toEqual([0, undefined]);
    });
    expect(server.refused).toEqual([]);
  });
});

test('mining ends when no device is left, and the error names the device', async () => {
  const server = await pool();
  const own = new Engine(virtualDevices(device, [{ liesAt: 2 }]), { streams: 1, slots: 2 });
  await expect(mine([server.url], { mask: 0 }, {}, own).running).rejects.toThrow(/virtual:0/);
  await own.close();
  expect(server.refused).toEqual([]);
});

describe('a new job', () => {
  test('with clean_jobs ends shares of the old job as soon as it is received', async () => {
    const server = await pool();
    const { miner, stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 1);
    /** Jobs that the client knows to be old: it has answered a request sent after the new one. */
    const over = new Set<string>();
    const late: string[] = [];
    server.misdeed = ({ id, method, params }) => {
      const [, job = ''] = (params ?? []) as string[];
      if (method === 'mining.submit' && over.has(job)) late.push(job);
      if (method === undefined && typeof id === 'string') for (const one of id.split(',')) over.add(one);
      return method === undefined;
    };
    const jobs: string[] = [];
    for (let n = 0; n < byTier(4, 30); n++) {
      const old = server.current!.id;
      jobs.push(old);
      server.send(true);
      for (const client of server.clients) client.send({ id: old, method: 'client.get_version', params: [] });
      // Half of them come when the job before has only just started.
      if (n % 2 === 0) await server.until(() => over.has(old));
      else await server.until(() => server.accepted.some(({ job }) => job === server.current!.id));
    }
    await server.until(() => jobs.every((job) => over.has(job)));
    await server.until(() => server.accepted.some(({ job }) => job === server.current!.id));
    await stop();
    expect(late).toEqual([]);
    expect(server.refused.filter((why) => why !== 'Job not found')).toEqual([]);
    expect(miner.tally.switchMs).toBeGreaterThan(0);
  });

  test('without clean_jobs leaves shares of the old job valid', async () => {
    const server = await pool();
    const { stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 2);
    for (let n = 0; n < byTier(2, 10); n++) {
      const { id } = server.send(false);
      await server.until(() => server.accepted.some(({ job }) => job === id));
    }
    await stop();
    expect(server.refused).toEqual([]);
  });

  test('uses the extranonce that was set before it, also of another size', async () => {
    const server = await pool();
    const { stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 1);
    for (const [extranonce1, size] of [
      ['aabb', 8],
      ['', 2],
      ['00112233445566778899', 3],
    ] as const) {
      [server.extranonce1, server.size] = [extranonce1, size];
      for (const client of server.clients)
        client.send({ id: null, method: 'mining.set_extranonce', params: [extranonce1, size] });
      const { id } = server.send(false);
      await server.until(() => server.accepted.some(({ job }) => job === id));
    }
    await stop();
    expect(server.refused).toEqual([]);
    expect(new Set(server.accepted.map(({ extranonce2 }) => extranonce2.length))).toEqual(new Set([8, 16, 4, 6]));
  });

  test('is not needed for a new version mask, which takes effect at once', async () => {
    const server = await pool();
    const { stop } = mine([server.url]);
    await server.until(() => server.accepted.length >= 1);
    const before = server.accepted.length;
    for (const client of server.clients) client.send({ method: 'mining.set_version_mask', params: ['00c00000'] });
    await server.until(() => server.accepted.slice(before).some(({ version }) => (version & 0x00c00000) !== 0));
    await stop();
    // The pool itself accepts the wider mask throughout.
    const last = server.accepted.at(-1)!;
    expect((last.version & ~0x00c00000) >>> 0).toBe(0x20000000);
    expect(server.refused).toEqual([]);
  });
});
