import { describe, expect, onTestFinished, test } from 'vitest';
import type { LiveFleet } from '../src/console/live/event-hub.js';
import { between } from '../src/engine/work/space.js';
import { FleetClient } from '../src/fleet/client/index.js';
import { CoordinatedFleet } from '../src/fleet/coordinator/index.js';
import { packKernelJob, signingKey } from '../src/fleet/manifest/index.js';
import { watchRemoteFleet } from '../src/web/live/fleet/remote-fleet.js';
import { roundsKernel, whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { patience } from './tier.js';

/** What a page shows and changes of a fleet: in the process of its coordinator, and through NATS from another machine. */
describe.skipIf(whyNoFleet() !== undefined)('those who watch a fleet', { timeout: patience(60_000) }, () => {
  const [SPACE, UNKNOWN] = [4000, 'ab'.repeat(32)];
  const ALL = { from: 0, count: 10, order: 'name', isReversed: false, search: '' } as const;

  test('see and control the same, wherever they are', async () => {
    const fleet = await FleetHere.start();
    onTestFinished(() => fleet.close());
    const client = await fleet.client();
    const work = { kernel: roundsKernel(10), job: { limit: 1 << 25 }, buffers: {} };
    const job = await client.submit(packKernelJob(work, between(0n, BigInt(SPACE)), 'all'), signingKey());
    const watched = watchRemoteFleet(client);
    onTestFinished(() => watched.close());
    const shown = async (): Promise<unknown[]> => {
      const { jobs, states } = await client.overview();
      return [...jobs.map(({ state, priority, done }) => [state, priority, done]), states.idle + states.draining];
    };
    expect(await shown()).toEqual([['running', 0, 0], 0]);
    // The page asks every second.
    await expect.poll(() => watched.model.fleet?.jobs.length).toBe(1);
    const ways: LiveFleet[] = [new CoordinatedFleet(fleet.host.service), watched.fleet!];
    for (const [at, way] of ways.entries()) {
      expect(await way.control({ action: 'pause', job })).toBe('paused');
      expect(await way.control({ action: 'priority', job, priority: 7 + at })).toBe(`priority ${7 + at}`);
      expect(await shown()).toEqual([['paused', 7 + at, 0], 0]);
      expect(await way.coverage(job)).toMatchObject({ length: SPACE });
      expect(await way.workers(ALL)).toMatchObject({ total: 0, workers: [] });
      expect(await way.control({ action: 'resume', job })).toBe('resumed');
      await expect(way.control({ action: 'drain', worker: 'nobody' })).rejects.toThrow('no worker is called nobody');
      await expect(way.coverage(UNKNOWN)).rejects.toThrow(/there is no job|not known here/);
      for (const action of ['pause', 'stop'] as const)
        await expect(way.control({ action, job: UNKNOWN })).rejects.toThrow(/there is no job|not known here/);
      await expect(way.control({ action: 'priority', job: UNKNOWN, priority: 1 })).rejects.toThrow(/no job|not known/);
    }
    // A process that is reached through its fleet only.
    await expect(watched.control({ action: 'pause' })).rejects.toThrow('reached through its fleet only');
    expect(() => watched.trace()).toThrow('reached through its fleet only');
    expect(watched.hits(0, 10, '')).toEqual({ total: 0, rows: [] });
    expect(await watched.fleet!.control({ action: 'stop', job })).toBe('stopped: the same command resumes it');
    await expect.poll(async () => (await client.poll(job, 0, 0))?.outcome).toBe('cancelled');
    await expect(ways[0]!.control({ action: 'pause', job })).rejects.toThrow('the job is over: cancelled');
  });

  test('workers know the jobs and how they are seen; a fleet without a page has no links', async () => {
    const fleet = await FleetHere.start();
    onTestFinished(() => fleet.close());
    const client = await fleet.client();
    const work = { kernel: roundsKernel(10), job: { limit: 1 << 25 }, buffers: {} };
    await client.submit(packKernelJob(work, between(0n, 1n << 40n), 'all'), signingKey());
    const bus = await fleet.connectAs('ann', 'worker');
    await fleet.joinBy(bus, 'ann.desk', 'wasm');
    const ann = new FleetClient(bus);
    await expect
      .poll(async () => (await ann.about('ann.desk')).worker)
      .toMatchObject({ state: 'working', trust: 'new' });
    const { workers, jobs, worker } = await ann.about();
    expect([workers, worker]).toEqual([1, undefined]);
    expect(jobs).toMatchObject([{ name: 'rounds', work: 'kernel', state: 'running' }]);
    await expect(fleet.host.service.invite('worker', 60, { name: 'bea' }, true)).rejects.toThrow(
      'no page for browsers',
    );
  });
});
