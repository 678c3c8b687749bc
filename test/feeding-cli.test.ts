import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { millrace } from './command-line.js';
import { byTier } from './tier.js';

const folder = mkdtempSync(join(tmpdir(), 'millrace-feeding-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const data = (name: string): string => fileURLToPath(new URL(`data/${name}`, import.meta.url));
const out = join(folder, 'out');

const commands: [name: string, args: string[]][] = [
  ['encode', ['encode', data('encode/files/c_order_3x4_f64.npy'), '-o', `${out}.npy`]],
  ['words', ['words', '?d?d', '-o', out]],
  [
    'gaps search',
    [
      'gaps',
      'search',
      '--start',
      '2^64',
      '--length',
      '2^16',
      '--min-gap',
      '300',
      '--window',
      '16384',
      '--primes',
      '500',
    ],
  ],
  ['uhash prove', ['uhash', 'prove', '--challenge', '00', '-d', '1', '--batch-size', '2']],
  ['run', ['run', join(folder, 'kernel.mjs'), '--space', '1000']],
  ['block solve', ['block', 'solve', data('block/course/case00.in'), out, '--nonces', '0:1000']],
];
test.each(byTier(commands.slice(0, 1), commands))(
  '%s --pipeline persistent warns on a device without resident grids',
  async (_name, args) => {
    if (args[0] === 'run') await millrace(['init', 'kernel.mjs'], { cwd: folder });
    const how = ['--device', 'wasm', '--threads', '1', '--pipeline', 'persistent', '--json'];
    const { events } = await millrace([...args, ...how], { env: { XDG_STATE_HOME: folder } });
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'warning', message: expect.stringContaining('wasm has no resident grids') }),
    );
  },
);
