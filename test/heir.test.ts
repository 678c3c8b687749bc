import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';

/**
 * What a system does when the last holder of a file is gone is seen at a pipe: its reader is told of the end. The process
 * here has closed the pipe itself, and lives on.
 */
const child = fileURLToPath(new URL('heir-child.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'millrace-heir-'));
const started: ChildProcess[] = [];

afterAll(() => {
  for (const one of started) one.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

describe.runIf(process.platform === 'linux')('a file', () => {
  test('that is left to an heir stays open until the process is gone, and no longer', async () => {
    const { owner, said, end } = await start('left');
    expect(said).toBe('left');
    expect(await Promise.race([end, sleep(200, 'open')])).toBe('open');
    owner.kill('SIGKILL');
    expect(await end).toBe('end');
  });

  test('that is not meant is closed by who had it', async () => {
    const { owner, said, end } = await start('kept');
    expect(said).toBe('closed');
    expect(await end).toBe('end');
    expect(owner.exitCode).toBeNull();
  });
});

/** A process that has a pipe, whose other end is here. */
async function start(way: 'left' | 'kept') {
  const path = join(folder, way);
  execFileSync('mkfifo', [path]);
  const end = new Promise((resolve) => {
    createReadStream(path)
      .on('end', () => resolve('end'))
      .resume();
  });
  const owner = spawn(process.execPath, [child, path, way], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(owner);
  const [said] = await once(owner.stdout, 'data');
  return { owner, said: String(said).trim(), end };
}
