import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type Fault, sequence, survive } from './fleet/faults.js';
import { expectedHits, ownServer, saying, TestFleet, whyNoFleet } from './fleet/fleet.js';
import { FaultWorld } from './fleet/world.js';
import { byTier, isShort, patience } from './tier.js';

/**
 * Leaders that fail and standbys that take over, in processes on a real server. Each time the ledger of the standby has the
 * whole space once, and hits and their order are those that arithmetic gives.
 */
const absent = whyNoFleet();

/** Slower clocks than those of other faults: a busy machine must not look like a silent leader. */
const SPEED = 10;

const killed: Fault = {
  name: 'the leader is killed',
  strike: async (world) => {
    await world.kill(world.coordinator);
    await world.promoteStandby();
    await world.startStandby();
  },
};

const stopped: Fault = {
  name: 'the leader stops past its term, and goes on',
  strike: async (world) => {
    const before = world.coordinator;
    before.child.kill('SIGSTOP');
    await world.promoteStandby();
    before.child.kill('SIGCONT');
    await before.ended;
    expect(before.failure).toMatch(/another coordinator of this fleet has taken over/);
    await world.kill(before);
    await world.startStandby();
  },
};

const cutOff: Fault = {
  name: 'the leader is cut off, and comes back',
  strike: async (world) => {
    const before = world.coordinator;
    before.proxy.cut();
    await world.promoteStandby();
    await pause(CUT_MS);
    before.proxy.heal();
    await before.ended;
    expect(before.failure).toMatch(/another coordinator of this fleet has taken over/);
    await world.kill(before);
    await world.startStandby();
  },
};

const CUT_MS = byTier(0, 0, 60_000);
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('a standby takes over with all answers when', () => {
  test('the leader is killed', { timeout: patience(120_000) }, async (ctx) => {
    if (absent) return ctx.skip(absent);
    const world = await FaultWorld.start(20, true);
    try {
      await world.startStandbyHere();
      const job = world.runJob();
      job.catch(() => undefined); // thrown below
      await Promise.race([world.moreResults(2), job]);
      await world.kill(world.coordinator);
      await world.promoteStandby();
      await job;
    } finally {
      await world.close();
    }
  });
});

describe.skipIf(isShort)('standbys take over from each other, with five workers, when', () => {
  let world: FaultWorld | undefined;
  afterAll(() => world?.close());
  const times = byTier(1, 10, 50);

  test.for([
    [killed.name, times, killed],
    [stopped.name, byTier(1, 2, 10), stopped],
    [cutOff.name, byTier(1, 2, 3), cutOff],
  ] as const)('%s, %i times', { timeout: patience(600_000) }, async ([, count, fault], ctx) => {
    if (absent) return ctx.skip(absent);
    if (world === undefined) {
      world = await FaultWorld.start(SPEED);
      await Promise.all(Array.from({ length: 3 }, () => world?.startWorker()));
      await world.startStandby();
    }
    await survive(
      world,
      Array.from({ length: count }, () => fault),
      sequence(count),
    );
  });
});

test.skipIf(isShort)(
  'commands go on when the coordinator is killed: a worker works, `run` ends with all hits',
  { timeout: patience(120_000) },
  async (ctx) => {
    if (absent) return ctx.skip(absent);
    const fleet = new TestFleet();
    const stop: (() => void)[] = [];
    try {
      const config = await fleet.start('fleet', 'config').ended;
      const server = await ownServer(fleet.folder, config.stdout);
      stop.push(() => server.child.kill('SIGKILL'));
      const leader = fleet.start('fleet', 'serve', '--nats', server.url);
      await saying(leader, /^fleet /m);
      const spare = join(fleet.folder, 'spare');
      expect((await fleet.start('fleet', 'backup', spare).ended).status).toBe(0);
      expect((await fleet.start('fleet', 'backup', spare).ended).stderr).toMatch(/is not empty/);
      const standby = fleet.start('fleet', 'serve', '--standby', '--nats', server.url, '--data-dir', spare);
      await saying(standby, /follows its leader/);
      await fleet.join('attic');
      const [space, limit] = [2_000_000, 20_000];
      const run = fleet.run(space, limit);
      await saying(run, /^ *\d+ /m);
      const isTaken = saying(standby, /takes over/);
      leader.child.kill('SIGKILL');
      await isTaken;
      const { status, stdout } = await run.ended;
      const shown = stdout
        .trim()
        .split('\n')
        .map((line) => line.trim().split(/\s+/).join(' '));
      expect(shown).toEqual(expectedHits(space, limit).map(({ index, last }) => `${index} ${last}`));
      expect(status).toBe(0);
      // The first leader is now the standby.
      const again = fleet.start('fleet', 'serve', '--standby', '--nats', server.url);
      await saying(again, /follows its leader/);
      again.child.kill('SIGINT');
      expect(await again.ended).toMatchObject({ status: 2, stderr: expect.not.stringMatching(/error/i) });
      // The backup is also what the fleet can be restored from.
      standby.child.kill('SIGKILL');
      await standby.ended;
      await saying(fleet.start('fleet', 'serve', '--nats', server.url, '--data-dir', spare), /^fleet /m);
    } finally {
      await fleet.close();
      for (const end of stop) end();
    }
  },
);
