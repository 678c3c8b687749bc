import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { listDevices } from '../src/device/registry.js';

/**
 * Processes that end in every way there is, at a random moment, with work in flight: the right exit code or signal, no
 * crash, no hang, nothing left behind. 40 of them on native and 20 on wasm, five times as many in
 * the long run.
 */
const RUNS = process.env.MILLRACE_LONG === '1' ? 200 : 40;
const LIMIT_MS = 10_000;

const ways = {
  exit: { code: 7 },
  throw: { code: 1 },
  close: { code: 5 },
  'exit-in-close': { code: 7 },
  natural: { code: 0 },
  forgotten: { code: 0 },
  SIGINT: { signal: 'SIGINT' },
  SIGTERM: { signal: 'SIGTERM' },
  SIGKILL: { signal: 'SIGKILL' },
} as const satisfies Record<string, { code: number } | { signal: NodeJS.Signals }>;
type Way = keyof typeof ways;

const cacheDirectory = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));
const child = fileURLToPath(new URL('teardown-child.mjs', import.meta.url));
const { absent } = await listDevices();

interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly hung: boolean;
  readonly stderr: string;
}

function end(device: string, way: Way, delay: number): Promise<Ending> {
  return new Promise((resolve) => {
    const env = { ...process.env, MILLRACE_CACHE_DIR: cacheDirectory, MILLRACE_TEARDOWN: tag };
    const started = spawn(process.execPath, [child, device, way, String(delay)], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stderr = '';
    let hung = false;
    const limit = setTimeout(() => {
      hung = true;
      started.kill('SIGKILL');
    }, LIMIT_MS);
    started.stderr.on('data', (data) => {
      stderr += data;
    });
    started.stdout.once('data', () => {
      const ending = ways[way];
      if ('signal' in ending) setTimeout(() => started.kill(ending.signal), delay);
    });
    started.once('close', (code, signal) => {
      clearTimeout(limit);
      resolve({ code, signal, hung, stderr });
    });
  });
}

/** Processes that carry our mark in their environment and are still there. */
const tag = `run-${process.pid}-${Date.now()}`;
function orphans(): string[] {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').filter((entry) => {
    try {
      return /^\d+$/.test(entry) && readFileSync(`/proc/${entry}/environ`, 'latin1').includes(tag);
    } catch {
      return false; // gone, or not ours to see
    }
  });
}

test.for([
  { device: 'native', count: RUNS },
  { device: 'wasm', count: RUNS / 2 },
])('$count processes end as they should on $device', { timeout: RUNS * 4000 }, async ({ device, count }, { skip }) => {
  const missing = absent.find(({ id }) => id === device);
  if (missing) return skip(`no device ${device}: ${missing.reason}`);
  const names = Object.keys(ways) as Way[];
  const runs = Array.from({ length: count }, (_, i) => ({
    way: names[i % names.length]!,
    delay: Math.floor(Math.random() ** 2 * 40),
  }));
  const wrong: unknown[] = [];
  const next = async (): Promise<void> => {
    for (let run = runs.pop(); run; run = runs.pop()) {
      const ending = await end(device, run.way, run.delay);
      const want = ways[run.way];
      const right = 'code' in want ? ending.code === want.code : ending.signal === want.signal;
      const noise = run.way === 'throw' ? !ending.stderr.includes('thrown on purpose') : ending.stderr !== '';
      if (!right || ending.hung || noise) wrong.push({ ...run, ...ending });
    }
  };
  await Promise.all([next(), next()]);
  expect(wrong).toEqual([]);
  expect(orphans()).toEqual([]);
});
