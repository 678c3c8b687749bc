import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { orphans, type Want, wrongEndings } from '../ending.js';
import { eventsOf } from '../events.js';
import { byTier, isShort, patience } from '../tier.js';
import { buildFake, type Call, callsIn, type Fake } from './fake.js';

/**
 * Ends processes with a fake CUDA device in every way, at random times: while the driver starts, while a kernel compiles,
 * with launches, transfers and callbacks in flight. Checks the exit code or signal, and that no process crashes, hangs or
 * is left. A process that closes its device must have freed everything.
 */
const RUNS = byTier(2, 24, 240);
const LIMIT_MS = patience(20_000);

const ways: Readonly<Record<string, Want>> = {
  exit: { code: 7 },
  throw: { code: 1 },
  SIGINT: { signal: 'SIGINT' },
  SIGKILL: { signal: 'SIGKILL' },
  close: { code: 5 },
  natural: { code: 0 },
  SIGTERM: { signal: 'SIGTERM' },
  forgotten: { code: 0 },
};

const built = await buildFake({ code: false });
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());
const child = fileURLToPath(new URL('teardown-child.mjs', import.meta.url));

test(`${RUNS} processes end cleanly`, { timeout: patience(RUNS * 10_000) }, async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  const names = byTier(['exit', 'close'], Object.keys(ways));
  const runs = Array.from({ length: RUNS }, (_, i) => {
    const way = names[i % names.length]!;
    const finite = way === 'natural' || way === 'forgotten';
    // Opening takes about 200 ms, compiling 60 ms.
    const delay = Math.floor(Math.random() * 500);
    const env = {
      ...fake.environment,
      FAKE_CUDA: finite ? 'launch_us=100' : `endless=${i % 2},launch_us=3000`,
      FAKE_CUDA_LOG: join(fake.folder, `calls-${i}`),
      FAKE_NVRTC_DELAY_MS: '60',
    };
    return { way, want: ways[way]!, delay, args: [child, way, String(delay)], env };
  });
  expect(await wrongEndings(runs, LIMIT_MS, misuse)).toEqual([]);
  expect(await orphans()).toEqual([]);
});

test.skipIf(isShort)(
  'block solve writes its answer and closes its device',
  { timeout: patience(60_000) },
  async ({ skip }) => {
    if (missing !== undefined) return skip(missing);
    const out = join(fake.folder, 'out');
    const { code, stdout, count } = await solve(blocks, out);
    // Kernels of a fake without a compiler find nothing, so the block is unsolved.
    expect(code).toBe(1);
    expect(eventsOf(stdout).at(-1)).toMatchObject({ exit: 1, unsolved: 1 });
    expect(readFileSync(out, 'latin1')).toBe('1\n00000000\n');
    // One for the words and cells of the device's thread, one for the rings of all slots.
    expect([count('cuMemHostRegister'), count('cuMemHostUnregister')]).toEqual([2, 2]);
    expect([count('cuDevicePrimaryCtxRetain'), count('cuDevicePrimaryCtxRelease')]).toEqual([1, 1]);
    expect(count('MISUSE')).toBe(0);
  },
);

test.skipIf(isShort)(
  'a device that a command starts early is closed if the command does not use it, or uses another',
  { timeout: patience(60_000) },
  async ({ skip }) => {
    if (missing !== undefined) return skip(missing);
    const out = join(fake.folder, 'unused');
    const unused = await solve(join(fake.folder, 'absent.in'), out);
    expect(unused.code).toBe(74);
    const { count } = unused;
    expect([count('cuDevicePrimaryCtxRetain'), count('cuDevicePrimaryCtxRelease'), count('MISUSE')]).toEqual([1, 1, 0]);
    // The table needs a worker that times its calls.
    const other = await solve(blocks, out, '--api-table');
    expect(other.code).toBe(1);
    expect([other.count('cuDevicePrimaryCtxRetain'), other.count('cuDevicePrimaryCtxRelease')]).toEqual([2, 2]);
    expect(other.count('MISUSE')).toBe(0);
  },
);

const [main, blocks] = ['../../dist/cli/main.js', '../data/block/synthetic/easy00.in'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
) as [string, string];

/** Runs `block solve` on the fake device. */
async function solve(input: string, out: string, ...more: readonly string[]) {
  const log = join(fake.folder, 'calls');
  writeFileSync(log, '');
  const args = [
    'block',
    'solve',
    input,
    out,
    '--device',
    'cuda',
    '--nonces',
    '0:1000',
    '--no-ledger',
    '--json',
    ...more,
  ];
  const env = { ...process.env, ...fake.environment, FAKE_CUDA_LOG: log };
  const { code, stdout } = await new Promise<{ code: number | null; stdout: string }>((resolve) => {
    const child = execFile(process.execPath, [main, ...args], { env }, (_error, stdout) =>
      resolve({ code: child.exitCode, stdout }),
    );
  });
  const calls = callsIn(readFileSync(log, 'utf8'));
  const count = (wanted: Call['name']): number => calls.filter(({ name }) => name === wanted).length;
  return { code, stdout, count };
}

/** Returns the misuse that the fake logged in a process that closed its device. */
function misuse({ way, env }: { readonly way: string; readonly env?: NodeJS.ProcessEnv }): string[] | undefined {
  const calls = way === 'close' ? callsIn(readFileSync(env?.FAKE_CUDA_LOG ?? '', 'utf8')) : [];
  const found = calls.flatMap(({ name, text }) => (name === 'MISUSE' ? [text] : []));
  return found.length > 0 ? found : undefined;
}
