import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { between } from '../src/engine/work/space.js';
import { digestOf } from '../src/store/encoding.js';
import { Ledger } from '../src/store/thread/ledger.js';
import { byTier, isShort } from './tier.js';

/** Several processes use one ledger. */
const child = (name: string): string => fileURLToPath(new URL(`store/${name}-child.mjs`, import.meta.url));
const TIMES = byTier(20, 200, 20_000);
const ROUNDS = byTier(1, 2, 50);

let folder = '';
let id = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-locks-'));
  const ledger = new Ledger(folder);
  const call = { args: [], folder: '' };
  const space = between(0n, 1n);
  id = ledger.begin({ key: digestOf('x'), name: 'x', command: 'run', params: {}, space, call }).job.id;
  ledger.close(); // as after a crash: its state is running, and no process holds it
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The number that each of several processes prints. They start together. */
async function together(...runs: readonly (readonly string[])[]): Promise<number[]> {
  const children = runs.map((args) => spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] }));
  await Promise.all(children.map(({ stdout }) => new Promise((resolve) => stdout.once('data', resolve))));
  const outputs = children.map(({ stdout }) => text(stdout));
  for (const { stdin } of children) stdin.end('go\n');
  return (await Promise.all(outputs)).map(Number);
}

/** How often each process was wrong. */
const wrongs = (...roles: readonly ('probe' | 'look' | 'take')[]): Promise<number[]> =>
  together(
    ...roles.map((role) => {
      const times = { probe: TIMES, look: 20 * TIMES, take: TIMES / 4 }[role]; // a take waits for the disk twice
      return [child('probe'), folder, id, role, String(times)];
    }),
  );

describe('a job that no process holds', () => {
  it.skipIf(isShort)('is not running according to any of several processes that look at once', async () => {
    expect(await wrongs('probe', 'probe', 'probe', 'probe')).toEqual([0, 0, 0, 0]);
  });

  it('can be taken while others look', async () => {
    expect((await wrongs('take', 'look', 'look', 'look'))[0]).toBe(0);
  });
});

it('a damaged ledger is set aside once, by one of several processes that open it at once', async () => {
  const names = ['a', 'b', 'c', 'd'];
  for (let round = 0; round < ROUNDS; round++) {
    const place = mkdtempSync(join(folder, 'damaged-'));
    new Ledger(place).close();
    const damaged = readFileSync(join(place, 'ledger.db'));
    damaged.fill(7, 0, 100);
    writeFileSync(join(place, 'ledger.db'), damaged);
    const notices = await together(...names.map((name) => [child('open'), place, name]));
    expect(notices.sort()).toEqual([0, 0, 0, 1]);
    expect(readdirSync(place).filter((name) => /^ledger.*\.db$/.test(name))).toEqual([
      'ledger-damaged-1.db',
      'ledger.db',
    ]);
    expect(readFileSync(join(place, 'ledger-damaged-1.db')).equals(damaged)).toBe(true);
    const ledger = new Ledger(place);
    expect(
      ledger
        .jobs()
        .map(({ job, done }) => `${job.name} ${job.state} ${done}`)
        .sort(),
    ).toEqual(names.map((name) => `${name} complete 10`));
    ledger.close();
  }
});
