import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { millrace, start } from './command-line.js';
import { buildFake, type Fake } from './cuda/fake.js';
import { slowFile } from './dashboard.js';
import type { Event } from './events.js';
import { isShort } from './tier.js';

/** Limits of a device that reports its temperature and power: fake-nvml.c says 61 °C and 412.5 W. */
let folder = '';
let fake: Fake | { readonly reason: string };
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-limits-'));
  writeFileSync(join(folder, 'slow.mjs'), slowFile('2n ** 40n'));
  if (!isShort) fake = await buildFake();
});
afterAll(async () => {
  if ('remove' in fake) await fake.remove();
  rmSync(folder, { recursive: true, force: true });
});

it.skipIf(isShort)(
  'limits of `jobs resume` pause a device, replace those of the job, and are for one run',
  async ({ skip }) => {
    if ('reason' in fake) return skip(fake.reason);
    const options = { cwd: folder, env: { ...fake.environment, MILLRACE_DATA_DIR: join(folder, 'data') } };
    const job = ['run', 'slow.mjs', '--param', 'step=1000000007', '--device', 'cuda:0', '--max-temp', '90'];
    const run = start([...job, '--json'], options);
    await run.until(({ event }) => event === 'progress');
    run.child.kill('SIGINT');
    const stopped = await run.ended;
    expect(stopped.status).toBe(2);
    expect(stopped.events.filter(({ event }) => event === 'paused')).toEqual([]);
    const resume = async (...limits: string[]): Promise<Event[]> => {
      const resumed = start(['jobs', 'resume', 'last', ...limits, '--json'], options);
      // Told after the sensors were read: a device that is too hot was paused by then.
      await resumed.until(({ event, devices }) => event === 'progress' && isMeasured(devices));
      resumed.child.kill('SIGTERM');
      const { status, events } = await resumed.ended;
      expect(status).toBe(2);
      return events.filter(({ event }) => event === 'paused');
    };
    const sensors = { device: 'cuda:0', temperatureC: 61, powerW: 412.5 };
    expect(await resume('--max-temp', '60')).toMatchObject([{ reason: 'too hot', ...sensors }]);
    expect(await resume('--max-power', '412')).toMatchObject([{ reason: 'too much power', ...sensors }]);
    expect(await resume('--max-temp', '62', '--max-power', '413')).toEqual([]);
    const { stdout } = await millrace(['jobs', 'show', 'last'], options);
    expect(stdout).toContain('--max-temp 90');
    expect(stdout).not.toMatch(/--max-power|--max-temp 6/);
    const refused = await millrace(['jobs', 'resume', 'last', '--max-temp', 'hot'], options);
    expect(refused).toMatchObject({ status: 64, stderr: expect.stringContaining('hot') });
  },
);

const isMeasured = (devices: unknown): boolean =>
  (devices as readonly { temperatureC?: number }[]).some(({ temperatureC }) => temperatureC !== undefined);
