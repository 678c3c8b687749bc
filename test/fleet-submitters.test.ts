import { describe, expect, onTestFinished, test } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { FleetClient, FleetSearch } from '../src/fleet/client/index.js';
import { packKernelJob, signingKey } from '../src/fleet/manifest/index.js';
import { millrace } from './command-line.js';
import { expectedHits, roundsKernel, whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { isShort, patience } from './tier.js';

/** What submitters may do, and are told, on a real server. */
const absent = whyNoFleet();

describe.skipIf(absent !== undefined)('submitters', { timeout: patience(120_000) }, () => {
  const [SPACE, LIMIT, ROUNDS] = [4000, 1 << 25, 10];
  const packed = () =>
    packKernelJob(
      { kernel: roundsKernel(ROUNDS), job: { limit: LIMIT }, buffers: {} },
      between(0n, BigInt(SPACE)),
      'all',
    );

  const startFleet = async (): Promise<FleetHere> => {
    const fleet = await FleetHere.start();
    onTestFinished(() => fleet.close());
    return fleet;
  };

  test('control their own jobs and no others, unless they submit the same', async () => {
    const fleet = await startFleet();
    const [ann, bob] = [
      new FleetClient(await fleet.connectAs('ann', 'submitter')),
      new FleetClient(await fleet.connectAs('bob', 'submitter')),
    ];
    const job = await ann.submit(packed(), signingKey());
    const state = async () => (await ann.poll(job, 0, 0))?.state;
    expect([...(fleet.host.service.job(job)?.submitters ?? [])]).toEqual(['ann']);
    const refused = new RegExp(`job ${job.slice(0, 12)} was not submitted by bob`);
    for (const call of [
      () => bob.control(job, 'paused'),
      () => bob.control(job, 'ended'),
      () => bob.poll(job, 0, 0, true),
      () => bob.check(job),
    ])
      await expect(call()).rejects.toThrow(refused);
    await expect(bob.setPriority(job, 9)).rejects.toThrow(/may not priority/);
    expect(await state()).toBe('running');
    await ann.control(job, 'paused');
    expect(await state()).toBe('paused');
    // The administrator controls all jobs.
    await (await fleet.client()).control(job, 'running');
    expect(await state()).toBe('running');
    // The same job has the same name: both have submitted it then.
    expect(await bob.submit(packed(), signingKey())).toBe(job);
    await bob.control(job, 'ended');
    await expect.poll(async () => (await ann.poll(job, 0, 0))?.outcome).toBe('cancelled');
  });

  test.skipIf(isShort)('are known to the next coordinator', async () => {
    const fleet = await startFleet();
    const job = await new FleetClient(await fleet.connectAs('ann', 'submitter')).submit(packed(), signingKey());
    await fleet.restart();
    expect([...(fleet.host.service.job(job)?.submitters ?? [])]).toEqual(['ann']);
    const bob = new FleetClient(await fleet.connectAs('bob', 'submitter'));
    await expect(bob.control(job, 'ended')).rejects.toThrow(/was not submitted by bob/);
  });

  test.skipIf(isShort)(
    'are told that results of a lone stranger wait, and get them when another worker has joined',
    async () => {
      const fleet = await startFleet();
      await fleet.joinBy(await fleet.connectAs('carl', 'worker'), 'c', 'wasm');
      const notes: string[] = [];
      const client = new FleetClient(await fleet.connectAs('ann', 'submitter'));
      const search = new FleetSearch(
        client,
        packed(),
        signingKey(),
        AbortSignal.timeout(Math.round(patience(60_000))),
        {
          say: (note) => void notes.push(note),
        },
      );
      const hits: { index: bigint; last: number }[] = [];
      const found = (async () => {
        for await (const { index, last } of search) hits.push({ index, last: Number(last) });
      })();
      found.catch(() => undefined); // awaited below
      await expect
        .poll(() => notes, { timeout: patience(30_000) })
        .toContain('results wait for a second worker: the only one is not trusted yet');
      await fleet.join('own', 'wasm');
      await found;
      expect(hits).toEqual(expectedHits(SPACE, LIMIT, ROUNDS));
      // Who did what is known after audits have settled and the job is over: each index once.
      const { submitters, workers, done } = await client.provenance(search.job ?? '');
      expect([submitters, done]).toEqual([['ann'], SPACE]);
      expect(workers.reduce((sum, { indices }) => sum + Number(indices), 0)).toBe(SPACE);
      expect(workers.map(({ user }) => user)).toContain('carl');
      const ranges = workers.flatMap((part) => part.ranges).sort(([a], [b]) => Number(a) - Number(b));
      expect(ranges.map(([, end]) => end)).toEqual([...ranges.slice(1).map(([start]) => start), SPACE]);
      const shown = await millrace(['fleet', 'jobs', (search.job ?? '').slice(0, 8)], { env: fleet.env });
      expect(shown.stdout).toMatch(/ rounds: complete, submitted by ann\n/);
      expect(shown.stdout).toMatch(/^carl +[\d,]+ +[\d.]+ ?% +\d+ +0–\d+/m);
      expect((await millrace(['fleet', 'jobs', 'zz'], { env: fleet.env })).status).toBe(1);
    },
  );
});
