import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../src/store/index.js';
import type { Started } from './command-line.js';
import { expectedHits, ROUNDS, saying, TestFleet, whyNoFleet } from './fleet/fleet.js';
import { Machines } from './fleet/machines.js';
import { byTier, isLong, isShort, patience } from './tier.js';

/** A network that is cut in half. Silent workers lose their leases after 10 s. */
const CUT_MS = byTier(0, 15_000, 60_000);

const SERVERS = [
  { connection: 'TLS', options: ['--listen', '127.0.0.1:0'], address: /^fleet \w+ at tls:/m },
  { connection: 'no TLS', options: [], address: /^fleet \w+ at nats:/m },
];

test.skipIf(isShort).for(isLong ? SERVERS : SERVERS.slice(0, 1))(
  `half of the workers are cut off for ${CUT_MS / 1000} s, with $connection: answers are those of one machine`,
  { timeout: patience(60_000 + 10 * CUT_MS) },
  async ({ options, address }, ctx) => {
    const absent = whyNoFleet();
    if (absent) return ctx.skip(absent);
    let machines: Machines;
    try {
      machines = await Machines.open(4);
    } catch (error) {
      return ctx.skip(`network namespaces are not permitted: ${(error as Error).message}`);
    }
    onTestFinished(() => machines.close());
    const fleet = new TestFleet();
    onTestFinished(() => fleet.close());
    const onHub = (...args: string[]): Started => fleet.startThrough(machines.hub, ...args);
    const served = onHub('fleet', 'serve', ...options);
    await saying(served, address);
    const workers = NAMES.map((name, machine) => {
      const device = ['--device', 'wasm', '--threads', '1'];
      return fleet.startThrough(machines.on(machine), 'fleet', 'join', ...device, '--name', name);
    });
    await Promise.all(workers.map((worker) => saying(worker, /works for the fleet/)));

    const run = (space: number, limit: number): Started =>
      onHub('run', 'kernel.mjs', '--space', String(space), '--param', `limit=${limit}`, '--fleet');
    const expectAnswers = async (started: Started, space: number, limit: number): Promise<void> => {
      const { status, stdout, stderr } = await started.ended;
      expect(status, stderr).toBe(0);
      const shown = stdout.trim().split('\n');
      expect(shown.map((line) => line.trim().split(/\s+/).map(Number))).toEqual(
        expectedHits(space, limit, ROUNDS).map(({ index, last }) => [Number(index), last]),
      );
    };
    /** Names of workers in these states. */
    const workersIn = async (...states: string[]): Promise<string[]> => {
      const { events } = await onHub('fleet', 'workers', '--json').ended;
      const { workers: rows } = events.at(-1) as unknown as { workers: { id: string; state: string }[] };
      const names = rows.filter(({ state }) => states.includes(state)).map(({ id }) => /^admin\.(\w+)-/.exec(id)?.[1]);
      return [...new Set(names.map(String))].sort();
    };

    // A small job says how large one has to be that lasts for longer than the cut.
    const begun = performance.now();
    await expectAnswers(run(SMALL, 1 << 20), SMALL, 1 << 20);
    const perMs = SMALL / (performance.now() - begun);
    const space = Math.ceil(Math.min(MAX_SPACE, 3 * CUT_MS * perMs));
    const limit = Math.floor((HITS / space) * 2 ** 32);
    const opened = workers.map((worker) => saying(worker, /: rounds/));
    const job = run(space, limit);
    await Promise.all(opened);

    const cutAt = performance.now();
    for (const machine of CUT) machines.cut(machine);
    const isSeen = { timeout: patience(60_000), interval: 1000 };
    await expect.poll(() => workersIn('gone'), isSeen).toEqual(CUT.map((machine) => NAMES[machine]));
    await new Promise((resolve) => setTimeout(resolve, cutAt + CUT_MS - performance.now()));
    for (const machine of CUT) machines.heal(machine);
    await expect.poll(() => workersIn('working', 'idle'), isSeen).toEqual(NAMES);

    await expectAnswers(job, space, limit);
    served.child.kill('SIGTERM');
    expect((await served.ended).stderr).not.toMatch(/wrong/);
    const store = await openStore(fleet.dataFolder);
    onTestFinished(() => store.close());
    const [large] = (await store.jobs()).filter(({ job: { space: of } }) => of.length === BigInt(space));
    expect(large).toMatchObject({ job: { state: 'complete' }, hits: expectedHits(space, limit, ROUNDS).length });
  },
);

const NAMES = ['attic', 'barn', 'cellar', 'den'];
/** Machines that are cut off. */
const CUT = [2, 3];
const SMALL = 400_000;
const MAX_SPACE = 200_000_000;
const HITS = 300;
