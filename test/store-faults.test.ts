import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { between } from '../src/engine/space.js';
import { buildDisk } from './store/disk.js';
import { millrace, planted, SPACE, startRun, stateOf, writePlanted } from './store/planted.js';

/** What a disk and its owner can do to a job: each is told, and costs no more than some work. */
let folder = '';
let disk: ReturnType<typeof buildDisk> = { reason: '' };
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-faults-'));
  chmodSync(folder, 0o755);
  writePlanted(folder);
  disk = buildDisk(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const complete = (every: number) => ({
  faults: [],
  done: [between(0n, BigInt(SPACE))],
  hits: planted(every),
  state: 'complete',
});

describe('a full disk', () => {
  const full = (): string => join(folder, 'full');
  const started = (every: number) => {
    if ('reason' in disk) throw new Error(disk.reason);
    const env = { LD_PRELOAD: disk.library, DISK_ROOT: join(folder, 'data'), DISK_FULL: full() };
    return startRun({ every, folder, env });
  };

  it('is told, and nothing is lost when there is room again', async (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    const run = started(1_000_003);
    await run.until(({ event }) => event === 'hit');
    writeFileSync(full(), '');
    await run.until(
      ({ event, message }) => event === 'warning' && /cannot write .* trying again/.test(String(message)),
    );
    rmSync(full());
    const { exit, hits } = await run.ended;
    expect(exit).toBe(0);
    expect(hits).toEqual(planted(1_000_003));
    expect(stateOf(folder, 1_000_003)).toMatchObject(complete(1_000_003));
  });

  it('that stays full ends the job, which goes on later', async (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    const run = started(1_000_005);
    await run.until(({ event }) => event === 'hit');
    writeFileSync(full(), '');
    const { exit, events, hits } = await run.ended;
    rmSync(full());
    expect(exit).toBe(74);
    expect(events.at(-2)).toMatchObject({ event: 'error', code: 'io', advice: 'make room on that disk' });
    const state = stateOf(folder, 1_000_005);
    expect(state.faults).toEqual([]);
    expect(state.hits).toEqual(expect.arrayContaining([...hits]));
    const again = await startRun({ every: 1_000_005, folder }).ended;
    expect(again.hits).toEqual(planted(1_000_005));
    expect(stateOf(folder, 1_000_005)).toMatchObject(complete(1_000_005));
  });

  it('that is small and real', async (ctx) => {
    const place = join(folder, 'small');
    mkdirSync(join(place, 'data'), { recursive: true });
    const mount = (...args: string[]) => spawnSync('mount', [...args, join(place, 'data')]).status;
    if (mount('-t', 'tmpfs', '-o', 'size=400k', 'none') !== 0) return ctx.skip('nothing can be mounted here');
    try {
      writePlanted(place);
      const { exit, events, hits } = await startRun({ every: 30_011, folder: place }).ended;
      expect(exit).toBe(74);
      expect(events.at(-2)).toMatchObject({ event: 'error', code: 'io', advice: 'make room on that disk' });
      mount('-o', 'remount,size=20m');
      const state = stateOf(place, 30_011);
      expect(state.faults).toEqual([]);
      expect(hits.filter((hit) => !new Set(state.hits).has(hit))).toEqual([]);
      const again = await startRun({ every: 30_011, folder: place }).ended;
      expect(again.exit).toBe(0);
      expect(stateOf(place, 30_011)).toMatchObject(complete(30_011));
    } finally {
      spawnSync('umount', ['--lazy', join(place, 'data')]); // SQLite may have it open until it is collected
    }
  });
});

describe('a folder that may not be written', () => {
  it('is told before any work is done, with what to do', async (ctx) => {
    const place = join(folder, 'closed');
    mkdirSync(join(place, 'data'), { recursive: true });
    writePlanted(place);
    chmodSync(join(place, 'data'), 0o555);
    // Nobody is kept out who is root.
    const isRoot = process.getuid?.() === 0;
    const run = startRun({
      every: 1_000_007,
      folder: place,
      ...(isRoot && { uid: 65_534 }),
      env: { HOME: place, XDG_CONFIG_HOME: place },
    });
    const { exit, events } = await run.ended;
    if (events.length === 0) return ctx.skip('this package cannot be read by others');
    expect(exit).toBe(74);
    expect(events.at(-2)).toMatchObject({
      event: 'error',
      code: 'io',
      advice: 'give --data-dir a folder that you may write to, or --no-ledger to keep nothing',
    });
    expect(events.some(({ event }) => event === 'device')).toBe(false);
    expect(readdirSync(join(place, 'data'))).toEqual([]);
  });

  it('is no hindrance to a run that keeps nothing', async () => {
    const args = ['--no-ledger'];
    const { exit, events, hits } = await startRun({
      every: 4001,
      space: 100_000,
      folder,
      args,
      env: { MILLRACE_CACHE_DIR: join(folder, 'cache') },
    }).ended;
    expect(exit).toBe(0);
    expect(hits).toEqual(planted(4001, 100_000));
    expect(events.some(({ event }) => event === 'job')).toBe(false);
    expect(stateOf(folder, 4001, 100_000).state).toBeUndefined();
  });
});

it('a job is one process’s: another is told whose, and may have it when that is gone', async () => {
  const long = { every: 1_000_000_033, space: 4_000_000_000, folder }; // longer than the test takes
  const first = startRun(long);
  await first.until(({ event }) => event === 'hit');
  const second = await startRun(long).ended;
  expect(second.exit).toBe(74);
  expect(second.events.at(-2)).toMatchObject({ event: 'error', code: 'io' });
  expect(String(second.events.at(-2)?.message)).toContain(`process ${first.child.pid} on `);
  const other = await startRun({ every: 4003, space: 100_000, folder }).ended; // the same ledger, another job
  expect(other.exit).toBe(0);
  first.child.kill('SIGKILL');
  await first.ended;
  const third = startRun(long);
  expect(await third.until(({ event }) => event === 'job')).toMatchObject({ isResumed: true, hits: 2 });
  await third.until(({ event }) => event === 'hit');
  third.child.kill('SIGINT');
  expect((await third.ended).exit).toBe(2);
  expect(millrace(folder, 'jobs', 'list').stdout).toMatch(/ open +[\d.]+ % +2 /);
});
