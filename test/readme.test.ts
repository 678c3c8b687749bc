import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { listDevices } from '../src/device/registry.js';

const root = fileURLToPath(new URL('..', import.meta.url));

test('the kernel in the README runs as it stands, and its hits are some', async (context) => {
  const { devices } = await listDevices();
  if (!devices.some((device) => device.id === 'native')) return context.skip('no C compiler');
  const code = /<!-- run by test\/readme\.test\.ts -->\n```ts\n([\s\S]*?)```/.exec(
    readFileSync(join(root, 'README.md'), 'utf8'),
  )?.[1];
  // Inside the package, so that `millrace` is found by its own name.
  const folder = mkdtempSync(join(root, 'dist', 'readme-'));
  try {
    const file = join(folder, 'readme.mjs');
    writeFileSync(file, code ?? '');
    const { stdout } = await promisify(execFile)(process.execPath, [file]);
    const hits = stdout
      .split('\n')
      .filter((line) => line !== '')
      .map(Number);
    expect(hits.length).toBeGreaterThan(0);
    expect(hits).toEqual([...hits].sort((a, b) => a - b));
    for (const hit of hits) {
      const message = Buffer.from('millrace....');
      message.writeUInt32BE(hit, 8);
      expect(createHash('sha256').update(message).digest('hex')).toMatch(/^000000/);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
