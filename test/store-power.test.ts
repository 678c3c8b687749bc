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
 * The power goes: of what was written after the last fsync of a file, anything may be lost, torn or out of order. The
 * ledger must not claim what was not scanned, and must have what it acknowledged.
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

describe('the power is lost', () => {
  it('and the log of the disk is what the files are', (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    expect(changes.filter(({ kind }) => kind === 'sync').length).toBeGreaterThan(150);
    const whole = play(changes.length, () => 0.3, false);
    expect(whole.notices).toEqual([]);
    expect(whole.acknowledged.size).toBeGreaterThan(200);
    expect(whole.done).toEqual(whole.acknowledged);
  });

  it.each(byTier([1], [1, 2]))(
    'at any moment, and everything acknowledged is there, nothing else (seed %d)',
    async (seed) => {
      if ('reason' in disk) return; // told above
      const random = generator(seed);
      for (let loss = 0; loss < LOSSES; loss++) {
        await letGo(loss);
        const end = Math.floor(random() * changes.length);
        const { notices, done, scanned, acknowledged } = play(end, random, false);
        expect([end, notices]).toEqual([end, []]); // this is no damage: nobody is alarmed
        expect([...done].filter((piece) => !scanned.has(piece))).toEqual([]);
        expect([end, [...acknowledged].filter((piece) => !done.has(piece))]).toEqual([end, []]);
      }
    },
  );

  it('on a disk that has lied about fsync, and still nothing is claimed that was not scanned', async (ctx) => {
    if ('reason' in disk) return ctx.skip(disk.reason);
    const random = generator(3);
    let [noticed, large, missed] = [0, 0, 0];
    for (let loss = 0; loss < LOSSES; loss++) {
      await letGo(loss);
      const end = Math.floor(random() * changes.length);
      const { notices, done, scanned, acknowledged } = play(end, random, true);
      if (notices.length > 0) noticed++;
      expect([...done].filter((piece) => !scanned.has(piece))).toEqual([]);
      if (done.size >= acknowledged.size / 2) continue;
      large++;
      if (notices.length === 0) missed++;
    }
    // The witness lies on the same disk: where it has lost its last writes as well, nobody can tell.
    expect(noticed).toBeGreaterThan(LOSSES / 10);
    expect(missed).toBeLessThan(Math.max(3, large / 10));
  });
});

/**
 * A ledger that is closed in this thread keeps its files open until its statements are collected, and nobody is at work:
 * three each, and there are thousands. (The store's own thread ends, and they with it.)
 */
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
async function letGo(loss: number): Promise<void> {
  if (loss % 100 !== 99) return;
  collect();
  await new Promise((next) => setTimeout(next, 10));
}

/** Pieces by their number, as the writer noted them and as the ledger has them after the loss. */
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
      .map((line) => JSON.parse(line) as { scanned?: number[]; acknowledged?: number[] });
    const ledger = new Ledger(place);
    const found = ledger.jobs()[0];
    const { done, hits } = found ? ledger.progress(found.job.id) : { done: [], hits: [] };
    const notices = ledger.notices();
    ledger.close();
    const covered = Intervals.of(done.map(({ start, end }) => between(start, end)));
    const pieces = Array.from({ length: 400 }, (_, piece) => piece).filter((piece) =>
      covered.has(between(BigInt(piece) * 10n, BigInt(piece) * 10n + 10n)),
    );
    expect(covered.total).toBe(BigInt(pieces.length) * 10n); // no part of a piece
    const own = new Map<number, number>();
    for (const { index } of hits) {
      const piece = Number(index / 10n);
      own.set(piece, (own.get(piece) ?? 0) + 1);
    }
    expect(pieces.filter((piece) => (own.get(piece) ?? 0) !== piece % 3)).toEqual([]);
    return {
      notices,
      done: new Set(pieces),
      scanned: new Set(notes.flatMap(({ scanned = [] }) => scanned)),
      acknowledged: new Set(notes.flatMap(({ acknowledged = [] }) => acknowledged)),
    };
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
