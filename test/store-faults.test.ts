import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { millrace as runMillrace } from './command-line.js';
import { buildDisk } from './store/disk.js';
import { type Given, millrace, planted, runHere, SPACE, startRun, stateOf, writePlanted } from './store/planted.js';
import { isShort } from './tier.js';

/** Faults of disks and permissions. Each is reported, and costs a job no more than some work. */
let folder = '';
let disk: ReturnType<typeof buildDisk> = { reason: '' };
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-faults-'));
  chmodSync(folder, 0o755);
  writePlanted(folder);
  disk = buildDisk(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Makes ten seconds of a full disk pass in one. */
const fastClock = new URL('store/fast-clock.mjs', import.meta.url).href;
const complete = (every: number, space = SPACE) => ({
  faults: [],
  done: [between(0n, BigInt(space))],
  hits: planted(every, space),
  state: 'complete',
});

describe('a full disk', () => {
  const full = (): string => join(folder, 'full');
  const started = (given: Omit<Given, 'folder'>) => {
    if ('reason' in disk) throw new Error(disk.reason);
    const env = { LD_PRELOAD: disk.library, DISK_ROOT: join(folder, 'data'), DISK_FULL: full() };
    return startRun({ ...given, folder, env: { ...env, ...given.env } });
  };

  it.skipIf(isShort)('is reported, and nothing is lost once there is space again', async (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    // The first hit fills the disk, so it is never too late, however short the run.
    const script = join(folder, 'fill');
    writeFileSync(script, `#!/bin/sh\n[ -e filled ] || { : > filled; : > '${full()}'; }\n`, { mode: 0o755 });
    const run = started({ every: 200_003, args: ['--on-hit', script] });
    await run.until(
      ({ event, message }) => event === 'warning' && /cannot write .* trying again/.test(String(message)),
    );
    rmSync(full());
    const { exit, hits } = await run.ended;
    expect(exit).toBe(0);
    expect(hits).toEqual(planted(200_003));
    expect(await stateOf(folder, 200_003)).toMatchObject(complete(200_003));
  });

  it('that stays full ends the job, which can be resumed later', async (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    const run = started({ every: 20_005, device: 'interpreter', env: { NODE_OPTIONS: `--import=${fastClock}` } });
    await run.until(({ event }) => event === 'hit');
    writeFileSync(full(), '');
    const { exit, events, hits } = await run.ended;
    rmSync(full());
    expect(exit).toBe(74);
    expect(events.at(-2)).toMatchObject({ event: 'error', code: 'io', advice: 'free some space on that disk' });
    const state = await stateOf(folder, 20_005);
    expect(state.faults).toEqual([]);
    expect(state.hits).toEqual(expect.arrayContaining([...hits]));
    const again = await runHere({ every: 20_005, folder });
    expect(again.hits).toEqual(planted(20_005));
    expect(await stateOf(folder, 20_005)).toMatchObject(complete(20_005));
  });

  it('that is a real, small file system ends the job, which can be resumed later', async (ctx) => {
    if (isShort) return ctx.skip('10 s until it gives up: npm run test:all');
    const place = join(folder, 'small');
    mkdirSync(join(place, 'data'), { recursive: true });
    const mount = (...args: string[]) => spawnSync('mount', [...args, join(place, 'data')]).status;
    if (mount('-t', 'tmpfs', '-o', 'size=400k', 'none') !== 0) return ctx.skip('cannot mount a tmpfs');
    const search = { every: 30_011, space: 120_000_000, folder: place };
    try {
      writePlanted(place);
      const { exit, events, hits } = await startRun(search).ended;
      expect(exit).toBe(74);
      expect(events.at(-2)).toMatchObject({ event: 'error', code: 'io', advice: 'free some space on that disk' });
      mount('-o', 'remount,size=20m');
      const state = await stateOf(place, search.every, search.space);
      expect(state.faults).toEqual([]);
      expect(hits.filter((hit) => !new Set(state.hits).has(hit))).toEqual([]);
      const again = await startRun(search).ended;
      expect(again.exit).toBe(0);
      expect(await stateOf(place, search.every, search.space)).toMatchObject(complete(search.every, search.space));
    } finally {
      spawnSync('umount', ['--lazy', join(place, 'data')]); // SQLite may keep files open until a garbage collection
    }
  });
});

describe('a read-only folder', () => {
  it('is reported before any work is done, with advice', async (ctx) => {
    const place = join(folder, 'closed');
    mkdirSync(join(place, 'data'), { recursive: true });
    writePlanted(place);
    chmodSync(join(place, 'data'), 0o555);
    // Permissions do not stop root, so the run gets another user.
    const isRoot = process.getuid?.() === 0;
    const run = startRun({
      every: 20_007,
      folder: place,
      ...(isRoot && { uid: 65_534 }),
      env: { HOME: place, XDG_CONFIG_HOME: place },
    });
    const { exit, events } = await run.ended;
    if (events.length === 0) return ctx.skip('other users cannot read this package');
    expect(exit).toBe(74);
    expect(events.at(-2)).toMatchObject({
      event: 'error',
      code: 'io',
      advice: 'give --data-dir a writable folder, or use --no-ledger to store nothing',
    });
    expect(events.some(({ event }) => event === 'device')).toBe(false);
    expect(readdirSync(join(place, 'data'))).toEqual([]);
  });
});

it('a job belongs to one process; another gets an error that names it, and may take the job when it is gone', async () => {
  // Runs longer than the test, with little load on the machine.
  const long = { every: 1_000_000_033, space: 4_000_000_000, folder, device: 'interpreter' } as const;
  const first = startRun({ ...long, args: ['--max-cpu', '20'] });
  await first.until(({ event }) => event === 'hit');
  const second = await runHere(long);
  expect(second.exit).toBe(74);
  expect(second.events.at(-2)).toMatchObject({ event: 'error', code: 'io' });
  expect(String(second.events.at(-2)?.message)).toContain(`process ${first.child.pid} on `);
  const other = await runHere({ every: 4003, space: 100_000, folder }); // the same ledger, another job
  expect(other.exit).toBe(0);
  first.child.kill('SIGKILL');
  await first.ended;
  const third = await runHere({ ...long, args: ['--runtime', '0.1s'] });
  expect(third).toMatchObject({ exit: 4, hits: planted(long.every, 8) });
  expect(third.events.find(({ event }) => event === 'job')).toMatchObject({ isResumed: true, hits: 2 });
  expect(await stateOf(folder, long.every, long.space)).toMatchObject({ faults: [], hits: third.hits, state: 'open' });
  if (!isShort) expect((await millrace(folder, 'jobs', 'list')).stdout).toMatch(/ open +[\d.]+ % +2 /);
});

describe('a data directory in /proc', () => {
  it.skipIf(process.platform !== 'linux').each(['/proc/x', '/proc/x/y'])('%s is refused at once', async (place) => {
    const { status, events } = await runMillrace(['jobs', 'import', 'job.json', '--data-dir', place, '--json']);
    expect(status).toBe(64);
    expect(events.at(-2)).toMatchObject({
      event: 'error',
      code: 'usage',
      message: 'cannot create /proc/x: folders cannot be created in /proc',
      advice: 'give --data-dir a writable folder, or use --no-ledger to store nothing',
    });
  });

  it('does not matter to a run with --no-ledger', async () => {
    const args = ['--no-ledger', '--data-dir', '/proc/x'];
    const { exit, events, hits } = await runHere({ every: 4001, space: 100_000, folder, args });
    expect(exit).toBe(0);
    expect(hits).toEqual(planted(4001, 100_000));
    expect(events.some(({ event }) => event === 'job')).toBe(false);
  });
});
