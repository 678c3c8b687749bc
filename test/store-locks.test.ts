import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { between } from '../src/engine/space.js';
import { Ledger } from '../src/store/ledger.js';
import { digestOf } from '../src/store/text.js';

/** Processes that look at a job must not be taken for one that works on it. */
const child = fileURLToPath(new URL('store/probe-child.mjs', import.meta.url));
const TIMES = process.env.MILLRACE_LONG === '1' ? 20_000 : 200;

let folder = '';
let id = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-locks-'));
  const ledger = new Ledger(folder);
  const call = { args: [], folder: '' };
  const space = between(0n, 1n);
  id = ledger.begin({ key: digestOf('x'), name: 'x', command: 'run', params: {}, space, call }).job.id;
  ledger.close(); // as after a crash: it says that it is running, and no process has it
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** How often each of them was wrong. They begin together. */
async function wrongs(...roles: readonly ('probe' | 'look' | 'take')[]): Promise<number[]> {
  const children = roles.map((role) => {
    const times = { probe: TIMES, look: 20 * TIMES, take: TIMES / 4 }[role]; // a take waits for the disk twice
    return spawn(process.execPath, [child, folder, id, role, String(times)], { stdio: ['pipe', 'pipe', 'inherit'] });
  });
  await Promise.all(children.map(({ stdout }) => new Promise((resolve) => stdout.once('data', resolve))));
  const told = children.map(({ stdout }) => text(stdout));
  for (const { stdin } of children) stdin.end('go\n');
  return (await Promise.all(told)).map(Number);
}

describe('a job that no process has', () => {
  it('is not running for any of several processes that look at once', async () => {
    expect(await wrongs('probe', 'probe', 'probe', 'probe')).toEqual([0, 0, 0, 0]);
  });

  it('can be taken while others look', async () => {
    expect((await wrongs('take', 'look', 'look', 'look'))[0]).toBe(0);
  });
});
