import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SearchMode } from '../src/engine/makers/reorder-buffer.js';
import { between } from '../src/engine/work/space.js';
import { Authority } from '../src/fleet/access/index.js';
import { FleetClient, FleetSearch } from '../src/fleet/client/index.js';
import { fleetFolder } from '../src/fleet/local.js';
import { encodeManifest, manifestId, packKernelJob, signingKey, signManifest } from '../src/fleet/manifest/index.js';
import { parseInvite } from '../src/fleet/nats/index.js';
import { Coordinator, type CoordinatorEffect, type StateChange } from '../src/fleet/protocol/index.js';
import { encodeRecord, FleetFiles, type FleetRecord, Replica } from '../src/fleet/replica/index.js';
import { decodeRecord } from '../src/fleet/replica/records.js';
import { openStore } from '../src/store/index.js';
import { expectedHits, type RoundsHit, roundsKernel, whyNoFleet } from './fleet/fleet.js';
import { FleetHere } from './fleet/here.js';
import { startMember } from './fleet/members.mjs';
import { isShort, patience } from './tier.js';

/** A paused job whose work is submitted in another form: the new job knows who did what, and what waits for audits. */
const [SPACE, LIMIT, ROUNDS] = [1000, 2 ** 29, 8];

const pack = (mode: SearchMode, space = SPACE, witness?: number) =>
  packKernelJob(
    {
      ...{ kernel: roundsKernel(ROUNDS), job: { limit: LIMIT }, buffers: {} },
      ...(witness !== undefined && { witness: { limit: witness } }),
    },
    between(0n, BigInt(space)),
    mode,
  );

/** A job as records have it. */
function form(mode: SearchMode, witness?: number) {
  const { manifest, attachments } = pack(mode, SPACE, witness);
  const bytes = encodeManifest(manifest);
  return { id: manifestId(bytes), signed: signManifest(bytes, signingKey()), attachments };
}

const [all, arrival, other] = [form('all', 2 ** 30), form('arrival', 2 ** 30), form('arrival', 2 ** 31)];

/** What one machine knows of a fleet, in its folder. */
async function openReplica(folder: string): Promise<{ readonly replica: Replica; close(): Promise<void> }> {
  const files = new FleetFiles(join(folder, 'fleet'));
  const store = await openStore(folder);
  const authority = await Authority.open(files.folder, files.fleet);
  const fetch = async (digest: string) => all.attachments.get(digest)!;
  const warn = (message: string) => expect.fail(message);
  const replica = await Replica.open({ files, store, authority, workloads: [], warn, fetch });
  const close = async () => {
    await replica.close();
    await store.close();
  };
  return { replica, close };
}

/** Applies records as they come from the log, from the next one on. */
async function apply(replica: Replica, ...records: readonly FleetRecord[]): Promise<void> {
  for (const record of records)
    expect(await replica.apply(decodeRecord(encodeRecord(record)), replica.number + 1)).toBeUndefined();
}

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-replaced-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

const open = ({ id, signed }: typeof all, submitter = 'ann'): FleetRecord => ({
  ...{ kind: 'open', job: id, signed, submitter },
});

/**
 * Cellar and attic, which are trusted, have done [0, 400) and [400, 500). Barn has agreed to the first 100. Carl, a stranger, has done
 * [500, 600), which waits for an audit.
 */
const done: FleetRecord = {
  kind: 'commit',
  entries: [{ job: all.id, ranges: [between(0n, 500n)], hits: [], early: [] }],
  changes: Object.entries({
    'did.cellar.0': '400',
    'did.attic.400': '500',
    'agreed.barn.0': '100',
    'part.500': { worker: 'carl', range: ['500', '600'], bits: 0, hits: [], witnesses: [['511', { last: 5 }]] },
    audited: '100',
    paused: true,
  }).map(([key, value]): StateChange => ({ scope: all.id, key, value })),
};

/** The end of a job that is open. */
const replaced = (replica: Replica, { id } = all): FleetRecord => ({
  ...{ kind: 'end', job: id, outcome: 'replaced', ledgerId: replica.jobs.get(id)!.ledgerId },
});

/** Has the job done in part, and replaces it. */
async function replace(replica: Replica, ...by: readonly FleetRecord[]): Promise<void> {
  await apply(replica, open(all), done);
  await apply(replica, replaced(replica), ...by);
}

/** A coordinator that starts with the only open job of a replica. */
function lead(replica: Replica, revoked = new Set<string>()) {
  const [job, ...rest] = [...replica.jobs.values()];
  expect(rest).toEqual([]);
  const core = new Coordinator({
    ...{ term: 1, tokens: { make: () => '', isValid: () => true }, now: 0 },
    trust: {
      isOwn: (worker) => ['cellar', 'attic'].includes(worker),
      isRevoked: (worker) => revoked.has(worker),
      random: () => 0.5,
    },
  });
  const reopened = (effects: readonly CoordinatorEffect[]) =>
    effects.flatMap((effect) => (effect.kind === 'reopened' ? [effect.indices] : []));
  const add = core.handle({ kind: 'add', job: job!.added(replica.files.state.scope(job!.id)) }, 0);
  return {
    job: job!,
    reopenedAtStart: reopened(add),
    view: () => {
      const { state, table, trust } = core.jobs.get(job!.id)!;
      return { state, waiting: table.waiting, unsettled: trust.unsettled, audited: trust.auditedIndices };
    },
    revoke: (who: string) => {
      revoked.add(who);
      return reopened(core.handle({ kind: 'revoke', who }, 1));
    },
  };
}

type Way = (folder: string) => Promise<Awaited<ReturnType<typeof openReplica>>>;

/** Where a replacement may be cut short. Each ends with a replica that has the new job. */
const ways: Record<string, Way> = {
  'at once': async (folder) => {
    const opened = await openReplica(folder);
    const { replica } = opened;
    await replace(replica, open(arrival, 'bob'));
    return opened;
  },
  'and the coordinator starts again': async (folder) => {
    const first = await openReplica(folder);
    await replace(first.replica, open(arrival, 'bob'));
    await first.close();
    return openReplica(folder);
  },
  'and the coordinator dies before the new job is open': async (folder) => {
    const first = await openReplica(folder);
    await replace(first.replica);
    await first.close();
    const second = await openReplica(folder);
    // The name of a user that was revoked is not given to another meanwhile.
    expect(['cellar', 'barn', 'carl', 'dora'].map((name) => second.replica.names(name))).toEqual([
      ...[true, true, true, false],
    ]);
    await apply(second.replica, open(arrival, 'bob'));
    return second;
  },
  'and the coordinator dies while it makes the change': async (folder) => {
    const first = await openReplica(folder);
    await apply(first.replica, open(all), done);
    const end = replaced(first.replica);
    await first.replica.apply(end, first.replica.number);
    // The file of the old job was not yet removed, that of the new one was just written.
    first.replica.files.saveJob(all.id, all.signed);
    await first.close();
    const second = await openReplica(folder);
    await apply(second.replica, end);
    second.replica.files.saveJob(arrival.id, arrival.signed);
    await second.close();
    const third = await openReplica(folder);
    await apply(third.replica, open(arrival, 'bob'));
    return third;
  },
  'and records come twice': async (folder) => {
    const opened = await openReplica(folder);
    const { replica } = opened;
    await apply(replica, open(all), done, done);
    const end = replaced(replica);
    await apply(replica, end, end, open(arrival, 'bob'), end, open(arrival, 'bob'));
    return opened;
  },
  'by a coordinator of an earlier release': async (folder) => {
    const opened = await openReplica(folder);
    await apply(opened.replica, open(all), done, { kind: 'end', job: all.id, outcome: 'replaced' });
    await apply(opened.replica, open(arrival, 'bob'));
    return opened;
  },
  'and back': async (folder) => {
    const opened = await openReplica(folder);
    const { replica } = opened;
    await replace(replica, open(arrival, 'bob'));
    await apply(replica, replaced(replica, arrival), open(all, 'bob'));
    return opened;
  },
};

describe('a job that replaces a paused one', { timeout: patience(60_000) }, () => {
  // A short run has one of them.
  const some = Object.keys(ways).filter((way) => !isShort || way.endsWith('before the new job is open'));
  test.each(some)('takes over who did what, and what waits for audits: %s', async (way) => {
    const { replica, close } = await ways[way]!(newFolder());
    const { job, view, revoke, reopenedAtStart } = lead(replica);
    expect([...job.submitters]).toEqual(['bob']);
    expect(reopenedAtStart).toEqual([]);
    expect(view()).toEqual({ state: 'running', waiting: 400n, unsettled: 100n, audited: 100n });
    expect(job.provenance.workers.map(({ worker, indices }) => [worker, indices])).toEqual([
      ['cellar', 400n],
      ['attic', 100n],
    ]);
    expect(revoke('cellar')).toEqual([300n]);
    expect(view().waiting).toBe(700n);
    // What waits for an audit is not counted: it is done again without a word.
    expect(revoke('carl')).toEqual([]);
    expect(view()).toMatchObject({ waiting: 800n, unsettled: 0n });
    await close();
  });

  test('does again at once what a worker did that was revoked before', async () => {
    const { replica, close } = await ways['at once']!(newFolder());
    const { reopenedAtStart, view } = lead(replica, new Set(['cellar', 'carl']));
    expect(reopenedAtStart).toEqual([300n]);
    expect(view()).toMatchObject({ waiting: 800n, unsettled: 0n });
    await close();
  });

  test.skipIf(isShort)(
    'does again what waits for audits if its witnesses are others: honest workers would seem to differ',
    async () => {
      const { replica, close } = await openReplica(newFolder());
      await replace(replica, open(other));
      const { view, revoke } = lead(replica);
      expect(view()).toMatchObject({ waiting: 500n, unsettled: 0n });
      expect(revoke('cellar')).toEqual([300n]);
      await close();
    },
  );

  test.skipIf(isShort)('is known in a copy that was made in between, with the earlier state', async () => {
    const [folder, copy] = [newFolder(), newFolder()];
    const first = await openReplica(folder);
    await apply(first.replica, open(all), done);
    cpSync(join(folder, 'fleet'), join(copy, 'fleet'), { recursive: true });
    const records = [replaced(first.replica), open(arrival, 'bob')];
    await apply(first.replica, ...records);
    await first.close();
    cpSync(join(folder, 'fleet', 'jobs'), join(copy, 'fleet', 'jobs'), { recursive: true });
    rmSync(join(copy, 'fleet', 'jobs', all.id));
    const store = await openStore(folder);
    await store.backup(copy);
    await store.close();
    const { replica, close } = await openReplica(copy);
    await apply(replica, ...records);
    expect(lead(replica).revoke('cellar')).toEqual([300n]);
    await close();
  });

  test.skipIf(isShort)('leaves nothing behind when it is over', async () => {
    const { replica, close } = await ways['at once']!(newFolder());
    await apply(replica, { kind: 'end', job: arrival.id, outcome: 'cancelled' });
    expect([...replica.files.state.scopes]).toEqual(['log']);
    expect(replica.names('cellar')).toBe(false);
    await close();
  });
});

const absent = whyNoFleet();

describe.skipIf(isShort || absent !== undefined)('on a real server', { timeout: patience(240_000) }, () => {
  test('what a worker did for the replaced job is done again when it is revoked, and audits are not forgotten', async () => {
    const space = 6000;
    const fleet = await FleetHere.start();
    const members: { close(): Promise<void> }[] = [];
    try {
      const admin = await fleet.client();
      const start = async (name: string, isTrusted: boolean, more: { lies?: number } = {}): Promise<void> => {
        const invite = parseInvite((await admin.invite('worker', 600, name, isTrusted)).line);
        members.push(await startMember({ kind: 'worker', invite, speed: 20, ...more }, () => undefined));
      };
      const row = async (id: string) => (await admin.overview()).jobs.find((job) => job.id === id);
      const soon = { timeout: patience(60_000) };
      const first = await admin.submit(pack('all', space), signingKey());
      // It sends one result without its hits, and then no more.
      await start('liar', true, { lies: 1 });
      await expect.poll(async () => Number((await row(first))?.done ?? 0), soon).toBeGreaterThan(0);
      await start('stranger', false);
      // A lease of a stranger that is over is stored until it is audited.
      const stored = () => readFileSync(join(fleetFolder(fleet.folder), 'state.jsonl'), 'utf8');
      await expect.poll(stored, soon).toContain('"key":"part.');
      await admin.control(first, 'paused');

      const client = new FleetClient(await fleet.connect('submitter'));
      const signal = AbortSignal.timeout(Math.round(patience(180_000)));
      const search = new FleetSearch(client, pack('arrival', space), signingKey(), signal);
      const hits: RoundsHit[] = [];
      const found = (async () => {
        for await (const { index, last } of search) hits.push({ index, last: Number(last) });
      })();
      found.catch(() => undefined); // thrown below
      await expect.poll(() => search.job, soon).toBeDefined();
      const second = search.job!;
      expect(second).not.toBe(first);
      await expect.poll(() => row(first), soon).toBeUndefined();
      const { workers } = await admin.provenance(second);
      expect(workers.map(({ user }) => user)).toEqual(['liar']);
      // No other worker can have audited it.
      expect(Number((await row(second))?.unsettled)).toBeGreaterThan(0);
      const revoked = await admin.revoke('liar');
      expect(revoked?.reopened).toMatchObject([{ job: second, indices: BigInt(workers[0]!.indices) }]);

      await start('attic', true);
      await found;
      expect(hits.sort((a, b) => Number(a.index - b.index))).toEqual(expectedHits(space, LIMIT, ROUNDS));
      const after = (await admin.provenance(second)).workers.map(({ user }) => user);
      expect(after).toContain('stranger');
      expect(after).not.toContain('liar');
    } finally {
      for (const member of members) await member.close();
      await fleet.close();
    }
  });
});
