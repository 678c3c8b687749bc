import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Intervals } from '../src/engine/work/intervals.js';
import { between } from '../src/engine/work/space.js';
import { Ledger } from '../src/store/thread/ledger.js';
import { afterLoss, buildDisk, type Change, readLog } from './store/disk.js';
import { byTier } from './tier.js';

/**
 * Power loss: anything written after the last fsync of a file may be lost, torn or out of order. The ledger must not
 * claim a range that was not scanned, or was reopened since, and must have every range that it acknowledged.
 */
const writer = fileURLToPath(new URL('store/writer.mjs', import.meta.url));
const LOSSES = byTier(25, 60, 2000);

let folder = '';
let disk: ReturnType<typeof buildDisk> = { reason: '' };
let changes: readonly Change[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-power-'));
  disk = buildDisk(folder);
  if ('reason' in disk) return;
  const root = join(folder, 'data');
  mkdirSync(root);
  const { status, stderr } = spawnSync(process.execPath, [writer, root, '150', '7'], {
    env: { ...process.env, LD_PRELOAD: disk.library, DISK_ROOT: root, DISK_LOG: join(folder, 'log') },
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(status).toBe(0);
  changes = readLog(join(folder, 'log'), root);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('after a power loss', () => {
  it('the complete log of the disk gives the files as written', (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    expect(changes.filter(({ kind }) => kind === 'sync').length).toBeGreaterThan(150);
    const whole = play(changes.length, () => 0.3, false);
    expect(whole.notices).toEqual([]);
    expect(whole.acknowledged.size).toBeGreaterThan(200);
    expect(whole.done).toEqual(whole.acknowledged);
  });

  it.for(byTier([1], [1, 2]))(
    'at any moment, all acknowledged ranges are there, and only scanned ones (seed %d)',
    async (seed, ctx) => {
      if ('reason' in disk) return ctx.skip(disk.reason);
      const random = generator(seed);
      for (let loss = 0; loss < LOSSES; loss++) {
        await letGo(loss);
        const end = Math.floor(random() * changes.length);
        const { notices, done, scanned, acknowledged } = play(end, random, false);
        expect([end, notices]).toEqual([end, []]); // this is not damage, so there is no notice
        expect([...done].filter((piece) => !scanned.has(piece))).toEqual([]);
        expect([end, [...acknowledged].filter((piece) => !done.has(piece))]).toEqual([end, []]);
      }
    },
  );

  it('on a disk that lies about fsync, the ledger claims no range that was not scanned', async (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    const random = generator(3);
    let [noticed, large, missed] = [0, 0, 0];
    for (let loss = 0; loss < LOSSES; loss++) {
      await letGo(loss);
      const end = Math.floor(random() * changes.length);
      const { notices, done, everScanned, acknowledged } = play(end, random, true);
      if (notices.length > 0) noticed++;
      expect([...done].filter((piece) => !everScanned.has(piece))).toEqual([]);
      if (done.size >= acknowledged.size / 2) continue;
      large++;
      if (notices.length === 0) missed++;
    }
    // The witness is on the same disk: if its last writes are lost too, the loss cannot be detected.
    expect(noticed).toBeGreaterThan(LOSSES / 10);
    expect(missed).toBeLessThan(Math.max(3, large / 10));
  });
});

/**
 * A ledger closed in this thread keeps its three files open until its statements are garbage-collected, and there are
 * thousands of ledgers. (The store's own thread ends, which closes its files.)
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
async function letGo(loss: number): Promise<void> {
  if (loss % 100 !== 99) return;
  collect();
  await new Promise((next) => setTimeout(next, 10));
}

/** A line of the writer. `scanned` and `reopening` come before the ledger's call, the others after it. */
interface Note {
  readonly scanned?: readonly number[];
  readonly acknowledged?: readonly number[];
  readonly reopening?: readonly number[];
  readonly reopened?: readonly number[];
}

/** Numbers of the pieces that the writer noted, and of those in the ledger after the loss. */
function play(end: number, random: () => number, isLying: boolean) {
  const place = mkdtempSync(join(folder, 'lost-'));
  try {
    afterLoss(
      changes.filter(({ path }) => path !== 'notes'),
      { end: changes.slice(0, end).filter(({ path }) => path !== 'notes').length, random, isLying },
      place,
    );
    const notes = changes
      .slice(0, end)
      .flatMap((change) =>
        change.kind === 'write' && change.path === 'notes' ? Buffer.from(change.bytes).toString() : [],
      )
      .join('')
      .trimEnd()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Note);
    const ledger = new Ledger(place);
    const found = ledger.jobs()[0];
    const { done, hits } = found ? ledger.progress(found.job.id) : { done: [], hits: [] };
    const notices = ledger.notices();
    ledger.close();
    const covered = Intervals.of(done.map(({ start, end }) => between(start, end)));
    const pieces = Array.from({ length: 400 }, (_, piece) => piece).filter((piece) =>
      covered.has(between(BigInt(piece) * 10n, BigInt(piece) * 10n + 10n)),
    );
    expect(covered.total).toBe(BigInt(pieces.length) * 10n); // whole pieces only
    const own = new Map<number, number>();
    for (const { index } of hits) {
      const piece = Number(index / 10n);
      own.set(piece, (own.get(piece) ?? 0) + 1);
    }
    expect(pieces.filter((piece) => (own.get(piece) ?? 0) !== piece % 3)).toEqual([]);
    const [scanned, acknowledged] = [new Set<number>(), new Set<number>()];
    for (const note of notes) {
      for (const piece of note.scanned ?? []) scanned.add(piece);
      for (const piece of note.acknowledged ?? []) acknowledged.add(piece);
      for (const piece of note.reopening ?? []) acknowledged.delete(piece);
      for (const piece of note.reopened ?? []) scanned.delete(piece);
    }
    const everScanned = new Set(notes.flatMap((note) => note.scanned ?? []));
    return { notices, done: new Set(pieces), scanned, acknowledged, everScanned };
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
