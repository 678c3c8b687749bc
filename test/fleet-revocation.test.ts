import { type ChildProcess, fork } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { FleetClient, type FleetHit, FleetSearch } from '../src/fleet/client/index.js';
import { packKernelJob, signingKey } from '../src/fleet/manifest/index.js';
import { parseInvite } from '../src/fleet/nats/index.js';
import { millrace } from './command-line.js';
import { expectedHits, roundsKernel, whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { type Lie, liars, without } from './fleet/liars.js';
import { startMember } from './fleet/members.mjs';
import { type SimulatedJob, type SimulatedWorker, simulate } from './fleet/simulation.js';
import { FaultWorld } from './fleet/world.js';
import { byTier, isLong, isShort, patience } from './tier.js';

/**
 * Workers whose results counted, until they were revoked or found to lie. The simulated ledger throws if a job ends without a hit,
 * and if something is reopened that is not done: so whatever they left out is found by others before the job is complete.
 */
const HITS = 500n;
const job = (length: bigint, more: Partial<SimulatedJob> = {}): SimulatedJob => ({
  ...{ id: 'job', space: between(0n, length), mode: 'all', hitEvery: length / HITS + 1n },
  ...more,
});
const rate = (workers: readonly SimulatedWorker[]): number => workers.reduce((sum, { perMs }) => sum + perMs, 0);

const speed = fc.constantFrom(20, 1000, 30_000);
const lie = fc.constantFrom<() => Lie>(
  liars['leaves hits out']!,
  liars['skips every tenth lease']!,
  () => (result) => without(result, (range) => [range]),
);
const world = fc.record({
  seed: fc.nat(),
  network: fc.record({
    loss: fc.constantFrom(0, 0.01, 0.2),
    duplicates: fc.constantFrom(0, 0.3),
    latencyMs: fc.constantFrom(0.1, 5, 300),
    late: fc.constantFrom(0, 0.05),
  }),
  liar: fc.record({ perMs: speed, lie }),
  honest: fc.array(
    fc.record({ perMs: speed, clock: fc.constantFrom(1, 0.9, 1.1), isStranger: fc.constantFrom(false, false, true) }),
    { minLength: 1, maxLength: 4 },
  ),
  atMs: fc.integer({ min: 1000, max: 40_000 }),
  // Around the moment of the revocation: before what it does to the job is in the ledger, and after.
  faults: fc.array(
    fc.record({
      afterMs: fc.oneof(fc.integer({ min: 0, max: 15 }), fc.integer({ min: -3000, max: 20_000 })),
      kind: fc.constantFrom('crash' as const, 'pause' as const),
    }),
    { maxLength: 2 },
  ),
  returns: fc.boolean(),
  mode: fc.constantFrom('all' as const, 'arrival' as const),
});

describe('a trusted worker that left hits out and is revoked', () => {
  test(
    'in any world, whenever the coordinator dies: the job ends with the right answer',
    () => {
      let reopened = 0n;
      fc.assert(
        fc.property(world, ({ liar, honest, atMs, faults, returns, mode, ...rest }) => {
          const workers: SimulatedWorker[] = [
            // Sound, and fast enough to do all of it in a while.
            { perMs: (liar.perMs + rate(honest)) / 4 },
            { ...liar, lie: liar.lie(), ...(returns && { diesAtMs: atMs / 2, returnsAfterMs: 100 }) },
            ...honest,
          ];
          const outcome = simulate({
            ...rest,
            workers,
            // It cannot be over before.
            jobs: [job(BigInt(Math.ceil(rate(workers) * (1.3 * atMs + 10_000))), { mode, hasWitnesses: true })],
            revocations: [{ atMs, worker: 1 }],
            coordinatorFaults: faults.map(({ afterMs, kind }) => ({ atMs: Math.max(0, atMs + afterMs), kind })),
          });
          expect(outcome.jobs.get('job')).toMatchObject({ outcome: 'complete', hits: { length: Number(HITS) } });
          reopened += outcome.reopened;
        }),
        { numRuns: byTier(3, 60, 10_000) },
      );
      // In a few worlds it may have done nothing yet.
      if (!isShort) expect(reopened).toBeGreaterThan(0n);
    },
    patience(isLong ? 3_600_000 : 120_000),
  );

  test('does not end a search for the first hit without it', () => {
    const workers = [{ perMs: 1000 }, { perMs: 20_000, lie: liars['leaves hits out']!() }];
    // The only hit is where nobody but the liar was.
    const first = 100_000_007n;
    const { jobs, reopened } = simulate({
      ...{ seed: 3, network: { loss: 0, duplicates: 0, latencyMs: 20, late: 0 }, workers },
      jobs: [{ id: 'job', space: between(1n, 2n * first), mode: 'first', hitEvery: first }],
      revocations: [{ atMs: 7000, worker: 1 }],
    });
    expect(reopened).toBeGreaterThan(first);
    expect(jobs.get('job')).toMatchObject({ outcome: 'answered', hits: [first] });
  });
});

describe('a stranger', () => {
  test('that is revoked loses only what no other worker has agreed on', () => {
    // New workers are audited, so all that counts of theirs was done twice.
    const workers: SimulatedWorker[] = [1, 2, 3].map((n) => ({ perMs: 1000 * n, isStranger: true }));
    const { jobs, reopened } = simulate({
      ...{ seed: 5, network: { loss: 0, duplicates: 0, latencyMs: 20, late: 0 }, workers },
      jobs: [job(BigInt(rate(workers) * 40_000), { hasWitnesses: true })],
      revocations: [{ atMs: 30_000, worker: 1 }],
    });
    expect(jobs.get('job')).toMatchObject({ outcome: 'complete', hits: { length: Number(HITS) } });
    expect(reopened).toBe(0n);
  });

  test.skipIf(isShort)(
    'that has earned trust and is found to lie much later: what counted by its word alone is done again',
    { timeout: patience(300_000) },
    () => {
      const leases = new Set<string>();
      // It leaves out hits from the first lease on that is not audited for sure, and skips everything much later.
      const liar: Lie = (result) => {
        const { size } = leases.add(result.claim.id);
        if (size > 400) return without(result, (range) => [range]);
        return size > 60 && result.hits.length === 1 ? { ...result, hits: [] } : result;
      };
      const workers: SimulatedWorker[] = [0, 1, 2, 3, 4].map((at) => ({
        perMs: 1000,
        isStranger: true,
        ...(at === 2 && { lie: liar }),
      }));
      const length = BigInt(rate(workers) * 400 * 32_000);
      const { jobs, reopened, barred } = simulate({
        ...{ seed: 6, network: { loss: 0, duplicates: 0, latencyMs: 20, late: 0 }, workers, maxEvents: 20_000_000 },
        jobs: [{ ...job(length, { hasWitnesses: true }), hitEvery: length / 40n + 1n }],
      });
      expect(barred.map(({ worker }) => worker)).toEqual([2]);
      expect(jobs.get('job')?.hits.length).toBe(40);
      expect(reopened).toBeGreaterThan(0n);
    },
  );
});

const absent = whyNoFleet();

describe('on a real server', () => {
  test('a worker is revoked in the middle: others do its ranges again', {
    timeout: patience(240_000),
  }, async (ctx) => {
    if (absent) return ctx.skip(absent);
    const [space, limit, rounds] = [6000, 2 ** 29, 8];
    const fleet = await FleetHere.start();
    const children: ChildProcess[] = [];
    const members: { close(): Promise<void> }[] = [];
    try {
      const admin = await fleet.client();
      const start = async (name: string, more: { lies?: number; results?: number } = {}): Promise<void> => {
        const invite = parseInvite((await admin.invite('worker', 600, name, true)).line);
        const spec = { kind: 'worker', invite, speed: 20, ...more } as const;
        // A short run has them in this process, which is faster.
        if (isShort) members.push(await startMember(spec, () => undefined));
        else {
          const child = fork(new URL('./fleet/members.mjs', import.meta.url), ['member']);
          children.push(child);
          child.send(spec);
        }
      };
      const packed = packKernelJob(
        { kernel: roundsKernel(rounds), job: { limit }, buffers: {} },
        between(0n, BigInt(space)),
        'all',
      );
      const client = new FleetClient(await fleet.connect('submitter'));
      const signal = AbortSignal.timeout(Math.round(patience(180_000)));
      const submit = () => new FleetSearch(client, packed, signingKey(), signal);
      const hitsOf = async (search: FleetSearch): Promise<FleetHit[]> => {
        const hits: FleetHit[] = [];
        for await (const hit of search) hits.push(hit);
        return hits;
      };
      const search = submit();
      const found = hitsOf(search);
      found.catch(() => undefined); // thrown below
      const job = async () => (await admin.overview()).jobs[0];
      const soon = { timeout: patience(60_000) };
      // It sends a few results, and then no more: the job cannot end with it. Hits of ranges that are done again stay.
      await start('cellar', { results: 4 });
      await expect.poll(async () => (await job())?.hits, soon).toBeGreaterThan(0);
      await expect.poll(async () => BigInt((await job())?.done ?? 0), soon).toBeGreaterThan(0n);
      expect((await admin.revoke('cellar'))?.reopened).toHaveLength(1);
      await expect.poll(async () => (await job())?.done, soon).toBe(0);
      // The same without hits.
      await start('liar', { lies: 2 });
      await expect.poll(async () => BigInt((await job())?.done ?? 0), soon).toBeGreaterThan(0n);

      const revoked = await millrace(['fleet', 'revoke', 'liar'], { env: fleet.env });
      expect(revoked.stdout).toMatch(
        /^liar is revoked\njob [0-9a-f]{12}: [\d,]+ indices in \d+ ranges?, which only liar has done, are done again\n$/,
      );
      // Progress goes back, and the rate and the time that is left are no nonsense.
      await expect.poll(async () => (await job())?.done, soon).toBe(0);
      const { fraction, perSecond, reopened, etaSeconds } = (await job())!;
      expect({ fraction, perSecond, etaSeconds }).toEqual({ fraction: 0, perSecond: 0, etaSeconds: undefined });
      expect(Number(reopened)).toBeGreaterThan(0);
      await expect.poll(() => search.progress, soon).toMatchObject({ done: 0n, waiting: BigInt(space) });

      await start('attic');
      await start('barn');
      const right = expectedHits(space, limit, rounds);
      expect(await found).toEqual(right);
      const { jobs, coordinator } = await admin.overview();
      expect([jobs[0]?.hits, coordinator.hits]).toEqual([right.length, right.length]);
      // Of a job that is over nothing is done again, but it is told what rests on whom.
      const { id } = (await job())!;
      const { workers } = await admin.provenance(id);
      expect(workers.map(({ user }) => user)).not.toContain('liar');
      const most = workers[0]!;
      const later = await millrace(['fleet', 'revoke', most.user], { env: fleet.env });
      expect(later.stdout).toMatch(
        new RegExp(
          `^${most.user} is revoked\njob \\w+ rounds is over: [\\d.]+ % of it rests on the word of ${most.user} alone\n$`,
        ),
      );
      expect((await job())?.state).toBe('complete');
      // It can be, if it is submitted again.
      const rechecked = await millrace(['fleet', 'jobs', id.slice(0, 12), '--recheck', most.user], { env: fleet.env });
      expect(rechecked.stdout).toMatch(
        new RegExp(
          `^job ${id.slice(0, 12)}: [\\d,]+ indices, which only ${most.user} has done, are open: submit it again\n$`,
        ),
      );
      const again = submit();
      expect(await hitsOf(again)).toEqual(right);
      // Others have not done their part again.
      expect(again.before).toBeGreaterThanOrEqual(BigInt(space) - BigInt(most.indices));
      expect((await job())?.state).toBe('complete');
    } finally {
      const gone = children.map((child) => new Promise((resolve) => child.once('exit', resolve)));
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(gone);
      for (const member of members) await member.close();
      await fleet.close();
    }
  });

  test.skipIf(isShort)(
    'the leader is killed right after a revocation: its standby has the ranges reopened',
    { timeout: patience(240_000) },
    async (ctx) => {
      if (absent) return ctx.skip(absent);
      const world = await FaultWorld.start(20, true);
      try {
        await world.startStandbyHere();
        // The only honest worker is cut off until then, so that the job cannot end.
        world.resident.cut();
        const liar = await world.startLiar(2);
        const job = world.runJob(false);
        job.catch(() => undefined); // thrown below
        await Promise.race([world.moreResults(2), job]);
        const soon = { timeout: patience(60_000) };
        await expect
          .poll(async () => Number((await world.client.overview()).jobs[0]?.done ?? 0), soon)
          .toBeGreaterThan(0);
        const revoked = await world.client.revoke(liar);
        expect(revoked?.reopened).toMatchObject([{ indices: expect.any(BigInt) }]);
        await world.kill(world.coordinator);
        await world.promoteStandby();
        world.resident.heal();
        await job;
      } finally {
        await world.close();
      }
    },
  );

  test.skipIf(isShort).for([
    ['it starts again', false],
    ['its standby takes over, dies and starts again', true],
  ] as const)(
    'the leader dies between a revocation and what it does to the job: when %s, the invite has expired',
    { timeout: patience(240_000) },
    async ([, hasStandby], ctx) => {
      if (absent) return ctx.skip(absent);
      const world = await FaultWorld.start(20, true);
      try {
        await world.kill(world.coordinator);
        world.coordinator = await world.startCoordinator({ diesAt: 'is revoked' });
        if (hasStandby) await world.startStandby({ diesAt: 'takes over' });
        world.resident.cut();
        const liar = await world.startLiar(2);
        const job = world.runJob(false);
        job.catch(() => undefined); // thrown below
        await Promise.race([world.moreResults(2), job]);
        await expect
          .poll(async () => Number((await world.client.overview()).jobs[0]?.done ?? 0), { timeout: patience(60_000) })
          .toBeGreaterThan(0);
        await world.revokeUntilDeath(liar);
        // Its invite is for ten minutes.
        const late = { laterSeconds: 3600 };
        if (hasStandby) {
          await world.standbyEnded();
          await world.startStandby(late);
          await world.promoteStandby();
        } else world.coordinator = await world.startCoordinator(late);
        world.resident.heal();
        await job;
        expect(world.log.join('\n')).toMatch(/indices in \d+ ranges are done again/);
      } finally {
        await world.close();
      }
    },
  );
});
