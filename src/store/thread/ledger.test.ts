import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { Intervals } from '../../engine/work/intervals.js';
import { between } from '../../engine/work/space.js';
import { digestOf } from '../encoding.js';
import { jobIdOf } from '../identity.js';
import { Connection } from './connection.js';
import type { JobDefinition } from './jobs.js';
import { type CommitBatch, Ledger } from './ledger.js';
import { Lock } from './lock.js';
import { intervalsOf } from './progress.js';
import { APPLICATION_ID, MIGRATIONS, migrate } from './schema.js';

const folders: string[] = [];
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'millrace-ledger-'));
  folders.push(made);
  return made;
};
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

const opening = (more: Partial<JobDefinition> = {}): JobDefinition => ({
  key: digestOf('a job'),
  name: 'run a.ts',
  command: 'run',
  params: { every: 5, target: 1n << 70n },
  space: between(0n, 1n << 128n),
  call: { args: ['run', 'a.ts'], folder: '/tmp' },
  ...more,
});
const batch = (more: Partial<CommitBatch> = {}): CommitBatch => ({
  done: [],
  hits: [],
  notified: [],
  elapsedMs: 0,
  devices: [],
  ...more,
});
const range = (start: bigint, end: bigint, hits = 0) => ({ start, end, hits });

describe('a ledger', () => {
  it('holds a lock until it is closed', () => {
    const place = folder();
    const [first, second] = [new Ledger(place), new Ledger(place)];
    expect([first.hold('a'), first.hold('a'), second.hold('a'), second.hold('b')]).toEqual([true, true, false, true]);
    first.close();
    expect(second.hold('a')).toBe(true);
    second.close();
  });

  it('has all commits after it is reopened', () => {
    const place = folder();
    const first = new Ledger(place);
    const { job, previous } = first.begin(opening());
    expect(previous).toBeUndefined();
    const hit = { index: (1n << 128n) - 1n, nth: 0, fields: '{"n":1}' };
    const done = [range(0n, 10n), range((1n << 128n) - 5n, 1n << 128n, 1)];
    first.commit(job.id, batch({ done, hits: [hit], elapsedMs: 1500, devices: ['wasm'] }));
    first.commit(job.id, batch({ elapsedMs: 20_000, devices: ['cuda:0'], notified: [hit] }));
    first.end(job.id, 'open', 'for a test');
    first.close();

    const second = new Ledger(place);
    expect(second.notices()).toEqual([]);
    const again = second.begin(opening());
    expect(again.previous).toMatchObject({ state: 'open', reason: 'for a test', elapsedMs: 21_500 });
    expect(again.job).toMatchObject({ id: job.id, params: opening().params, devices: ['wasm', 'cuda:0'] });
    expect(again.progress.done).toEqual(done);
    expect(again.progress.hits).toMatchObject([{ ...hit, isNotified: true }]);
    second.close();
  });

  it('merges adjacent ranges, and refuses ranges that would count twice', () => {
    const pieces = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { minLength: 1 });
    const ledger = new Ledger(folder());
    let jobs = 0;
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 7 }), (order, atOnce) => {
        const { id } = ledger.begin(opening({ key: digestOf(`job ${jobs++}`), space: between(0n, 410n) })).job;
        const of = (piece: number) => range(BigInt(piece) * 10n, BigInt(piece) * 10n + 10n, piece % 3 === 0 ? 1 : 0);
        for (let at = 0; at < order.length; at += atOnce) {
          const some = order.slice(at, at + atOnce);
          const hits = some
            .filter((piece) => piece % 3 === 0)
            .map((piece) => ({ index: of(piece).start + 3n, nth: 0, fields: '{}' }));
          ledger.commit(id, batch({ done: some.map(of), hits }));
        }
        const wanted = Intervals.of(order.map((piece) => between(of(piece).start, of(piece).end)));
        const { done, hits } = ledger.progress(id);
        expect(done.map(({ start, end }) => between(start, end))).toEqual([...wanted]);
        expect(done.reduce((sum, { hits: found }) => sum + found, 0)).toBe(hits.length);
        expect(() => ledger.commit(id, batch({ done: [of(order[0]!)] }))).toThrow('count twice');
        expect(intervalsOf(ledger.progress(id).done).total).toBe(wanted.total);
      }),
      { numRuns: 30 },
    );
    ledger.close();
  });

  it('accepts that a job is complete only if every index is done', () => {
    const ledger = new Ledger(folder());
    const { id } = ledger.begin(opening({ space: between(5n, 20n) })).job;
    ledger.commit(id, batch({ done: [range(5n, 10n), range(11n, 20n)] }));
    expect(() => ledger.end(id, 'complete')).toThrow('14 of 15 indices are done; 10 to 11 is missing');
    ledger.commit(id, batch({ done: [range(10n, 11n)] }));
    ledger.end(id, 'complete');
    expect(ledger.find(id)).toMatchObject({ done: 15n, ranges: 1, isRunning: false, job: { state: 'complete' } });
    ledger.close();
  });

  it('stores a hit once if it is reported before its range is done', () => {
    const ledger = new Ledger(folder());
    const { id } = ledger.begin(opening()).job;
    const hit = { index: 7n, nth: 0, fields: '{"n":7}' };
    ledger.commit(id, batch({ hits: [hit] }));
    ledger.commit(id, batch({ hits: [hit], done: [range(0n, 10n, 1)] }));
    expect(ledger.progress(id).hits).toMatchObject([hit]);
    ledger.close();
  });

  it('restarts a job on request, and keeps the old one', () => {
    const ledger = new Ledger(folder());
    const { id } = ledger.begin(opening()).job;
    ledger.commit(id, batch({ done: [range(0n, 10n)] }));
    ledger.end(id, 'open');
    const restarted = ledger.begin(opening({ restart: true }));
    expect(restarted.job.id).not.toBe(id);
    expect(restarted.progress.done).toEqual([]);
    ledger.end(restarted.job.id, 'open');
    expect(ledger.begin(opening()).job.id).toBe(restarted.job.id);
    expect(ledger.find(id).job.state).toBe('replaced');
    ledger.close();
  });

  it('replaces a finished job on request and deletes it, but resumes an open job', () => {
    const ledger = new Ledger(folder());
    const given = opening({ restartIfFinished: true });
    const { id } = ledger.begin(given).job;
    ledger.commit(id, batch({ done: [{ start: 0n, end: 10n, hits: 1 }], hits: [{ index: 3n, nth: 0, fields: '{}' }] }));
    ledger.end(id, 'open');
    expect(ledger.begin(given)).toMatchObject({ job: { id }, progress: { done: [{ start: 0n, end: 10n, hits: 1 }] } });
    ledger.end(id, 'answered');
    const next = ledger.begin(given);
    expect(next).toMatchObject({ job: { generation: 1 }, progress: { done: [], hits: [] } });
    expect(next.job.id).not.toBe(id);
    expect(ledger.jobs().map(({ job }) => job.id)).toEqual([next.job.id]);
    ledger.close();
  });
});

describe('a job', () => {
  it('belongs to one ledger at a time, and is free once that is closed', () => {
    const place = folder();
    const [first, second] = [new Ledger(place), new Ledger(place)];
    const { id } = first.begin(opening()).job;
    expect(() => second.begin(opening())).toThrow(`process ${process.pid}`);
    expect(() => second.begin(opening({ restart: true }))).toThrow(`process ${process.pid}`);
    expect(() => second.remove(id)).toThrow('is working on it');
    expect(second.find(id).isRunning).toBe(true);
    const other = second.begin(opening({ key: digestOf('another') })).job;
    expect(first.find(other.id).isRunning).toBe(true);
    first.close();
    expect(second.begin(opening()).job.id).toBe(id);
    second.close();
  });

  it('is removed when it is discarded, but not with ranges or hits', () => {
    const ledger = new Ledger(folder());
    const unused = ledger.begin(opening()).job.id;
    ledger.discard(unused);
    expect(ledger.jobs()).toEqual([]);
    const { id } = ledger.begin(opening()).job;
    ledger.commit(id, batch({ done: [range(0n, 10n)] }));
    ledger.discard(id);
    expect(ledger.jobs()).toMatchObject([{ job: { id, state: 'open' }, isRunning: false }]);
    expect(ledger.ranges(id)).toHaveLength(1);
    ledger.close();
  });

  it('stays free if its restart fails because the new job is claimed', () => {
    const place = folder();
    const ledger = new Ledger(place);
    const { id, key } = ledger.begin(opening()).job;
    ledger.end(id, 'open');
    const next = Lock.claim(place, jobIdOf(key, 1));
    expect(() => ledger.begin(opening({ restart: true }))).toThrow('is working on it');
    next?.release();
    expect(Lock.isClaimed(place, id)).toBe(false);
    expect(ledger.begin(opening()).job.id).toBe(id);
    ledger.close();
  });

  it('gets each request from others once, and learns of jobs that outrank it', () => {
    const place = folder();
    const [first, second] = [new Ledger(place), new Ledger(place)];
    const { id } = first.begin(opening()).job;
    const tick = () => first.commit(id, batch({ elapsedMs: 20_000, devices: ['wasm'] }));
    expect(tick()).toMatchObject({ request: undefined, outrankedBy: undefined });
    second.request(id, 'pause');
    expect(tick().request).toBe('pause');
    expect(tick().request).toBeUndefined();
    second.request(id, 'cancel');
    first.setRunState(id, 'paused'); // its own state does not answer the request
    expect(tick().request).toBe('cancel');
    const other = second.begin(opening({ key: digestOf('another'), priority: 5 })).job.id;
    expect(tick().outrankedBy).toBeUndefined(); // it uses none of our devices
    second.commit(other, batch({ elapsedMs: 20_000, devices: ['cuda:0', 'wasm'] }));
    expect(tick().outrankedBy).toBe(other);
    second.close();
    expect(tick().outrankedBy).toBeUndefined();
    expect(first.find(other)).toMatchObject({ isRunning: false, job: { state: 'running' } });
    first.close();
  });

  it('is found by a prefix of its id, and as the last one', () => {
    const ledger = new Ledger(folder());
    const { id } = ledger.begin(opening()).job;
    expect(ledger.find(id.slice(0, 3)).job.id).toBe(id);
    expect(ledger.find('last').job.id).toBe(id);
    expect(() => ledger.find('xyz')).toThrow('no job xyz');
    expect(() => ledger.find('')).toThrow('no job');
    ledger.close();
  });

  it('is exported to another ledger and imported again with the work done there', () => {
    const [here, there] = [new Ledger(folder()), new Ledger(folder())];
    const given = opening({ space: between(0n, 100n) });
    const { id } = here.begin(given).job;
    const hits = [{ index: 4n, nth: 0, fields: '{"n":{"$big":"5"}}' }];
    here.commit(id, batch({ done: [range(0n, 10n, 1)], hits }));
    here.end(id, 'open');
    expect(there.import(JSON.parse(JSON.stringify(here.export(id))))).toEqual({ id, indices: 10n, hits: 1 });
    expect(there.begin(given)).toMatchObject({ job: { params: given.params }, progress: here.progress(id) });
    const more = [
      { index: 30n, nth: 0, fields: '{}' },
      { index: 30n, nth: 1, fields: '{}' },
    ];
    there.commit(id, batch({ done: [range(25n, 35n, 2)], hits: more }));
    there.end(id, 'open');
    here.begin(given);
    here.commit(id, batch({ done: [range(10n, 30n)] }));
    expect(() => here.import(there.export(id))).toThrow('is working on it');
    here.end(id, 'open');
    expect(here.import(there.export(id))).toEqual({ id, indices: 5n, hits: 2 });
    expect(here.import(there.export(id))).toEqual({ id, indices: 0n, hits: 0 });
    expect(here.progress(id).done).toEqual([range(0n, 35n, 3)]);
    here.close();
    there.close();
  });

  it('is deleted if it is finished, old and without hits', () => {
    const place = folder();
    const ledger = new Ledger(place);
    const made = ['old', 'new', 'found', 'open'].map((name) => ledger.begin(opening({ key: digestOf(name) })).job.id);
    const [old, recent, found, open] = made as [string, string, string, string];
    ledger.commit(found, batch({ hits: [{ index: 1n, nth: 0, fields: '{}' }] }));
    for (const id of made) ledger.end(id, id === open ? 'open' : 'answered');
    ledger.close();
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.run('UPDATE jobs SET active_ms = 1 WHERE id <> ?', recent);
    connection.close();
    const again = new Ledger(place);
    expect(new Set(again.jobs().map(({ job: { id } }) => id))).toEqual(new Set([recent, found, open]));
    expect(() => again.find(old)).toThrow('no job');
    again.close();
  });
});

it('tunings are stored by kernel, device, driver and candidates', () => {
  const ledger = new Ledger(folder());
  const key = { kernel: 'k', device: 'd', driver: '1', candidates: 'c' };
  ledger.keepTuning(key, { best: 1 });
  ledger.keepTuning(key, { best: 2, times: [0.5] });
  expect(ledger.tuning(key)).toMatchObject({ timings: { best: 2, times: [0.5] } });
  for (const other of ['kernel', 'device', 'driver', 'candidates']) {
    expect(ledger.tuning({ ...key, [other]: 'x' })).toBeUndefined();
  }
  ledger.close();
});

describe('a file', () => {
  it('of an older version is migrated step by step, completely or not at all', () => {
    const connection = new Connection(join(folder(), 'x.db'), 0);
    migrate(connection, ['CREATE TABLE a (x) ', 'ALTER TABLE a ADD COLUMN y']);
    connection.exec('INSERT INTO a VALUES (1, 2)');
    expect(() => migrate(connection, ['', '', 'CREATE TABLE b (x); CREATE TABLE a (x)'])).toThrow('already exists');
    expect(connection.all("SELECT name FROM sqlite_schema WHERE name = 'b'")).toEqual([]);
    migrate(connection, ['', '', 'ALTER TABLE a ADD COLUMN z', 'UPDATE a SET z = x + y']);
    expect(connection.get('SELECT * FROM a')).toMatchObject({ x: 1, y: 2, z: 3 });
    expect(connection.get('PRAGMA user_version')).toMatchObject({ user_version: 4 });
    expect(() => migrate(connection, ['', ''])).toThrow('has format 4; this version of Millrace reads formats up to 2');
    connection.close();
  });

  it('of another program is not touched', () => {
    const place = folder();
    const connection = new Connection(join(place, 'ledger.db'), 0);
    connection.exec('CREATE TABLE theirs (x); PRAGMA user_version = 7');
    connection.close();
    expect(() => new Ledger(place)).toThrow('the database of another program');
  });

  it('has our application ID, version and journal mode', () => {
    const place = folder();
    new Ledger(place).close();
    const connection = new Connection(join(place, 'ledger.db'), 0);
    expect(connection.get('PRAGMA application_id')).toMatchObject({ application_id: APPLICATION_ID });
    expect(connection.get('PRAGMA user_version')).toMatchObject({ user_version: MIGRATIONS.length });
    expect(connection.get('PRAGMA journal_mode')).toMatchObject({ journal_mode: 'wal' });
    connection.close();
  });
});

it('a lock is shared or exclusive', () => {
  const place = folder();
  const first = Lock.take(place, 'x', 'shared');
  const second = Lock.take(place, 'x', 'shared');
  expect(Lock.take(place, 'x', 'exclusive')).toBeUndefined();
  first?.release();
  expect(Lock.take(place, 'x', 'exclusive')).toBeUndefined();
  second?.release();
  const sole = Lock.take(place, 'x', 'exclusive');
  expect(sole).toBeDefined();
  expect(Lock.take(place, 'x', 'shared')).toBeUndefined();
  expect(Lock.take(place, 'y', 'shared')).toBeDefined();
  sole?.release();
});

it('a lock is claimed once, and probes do not affect each other', () => {
  const place = folder();
  expect(Lock.isClaimed(place, 'x')).toBe(false);
  const probe = Lock.take(place, 'x', 'shared'); // another probe in progress
  expect(Lock.isClaimed(place, 'x')).toBe(false);
  probe?.release();
  const claim = Lock.claim(place, 'x');
  expect([claim === undefined, Lock.isClaimed(place, 'x'), Lock.claim(place, 'x')]).toEqual([false, true, undefined]);
  claim?.release();
  expect(Lock.isClaimed(place, 'x')).toBe(false);
});
