import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { orphans, type Want, wrongEndings } from '../ending.js';
import { eventsOf } from '../events.js';
import { byTier, patience } from '../tier.js';
import { buildFake, type Call, callsIn, type Fake } from './fake.js';

/**
 * Processes with a CUDA device (the fake one) that end in every way there is, at a random moment: while the driver
 * starts, while a kernel compiles, with launches, transfers and callbacks in flight. The right exit code or signal, no
 * crash, no hang, nothing left behind; and those that close have freed everything. 27 of them, some in a short run,
 * 270 in the long one.
 */
const RUNS = byTier(2, 27, 270);
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
  left: { code: 0 },
};

const built = await buildFake({ code: false });
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());
const child = fileURLToPath(new URL('teardown-child.mjs', import.meta.url));

test(`${RUNS} processes end as they should`, { timeout: patience(RUNS * 10_000) }, async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  const names = byTier(['exit', 'close'], Object.keys(ways));
  const runs = Array.from({ length: RUNS }, (_, i) => {
    const way = names[i % names.length]!;
    const finite = way === 'natural' || way === 'forgotten' || way === 'left';
    // Opening takes about 200 ms, compiling 60.
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

/** A command has one thing to do, and leaves its device to the end of its process, unless a profiler waits for that. */
test('block solve ends at once, having said everything', { timeout: patience(60_000) }, async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  const both = await Promise.all([solve('alone', {}), solve('watched', { NODE_OPTIONS: '--no-warnings' })]);
  for (const { code, done, written, count } of both) {
    // The kernels of a fake without a compiler find nothing: the answer is no.
    expect({ code, done, written }).toMatchObject({
      code: 1,
      done: { exit: 1, unsolved: 1 },
      written: '1\n00000000\n',
    });
    // The words and cells of the device's thread, and one region for the rings of all slots.
    expect(count('cuMemHostRegister')).toBe(2);
    expect(count('cuDevicePrimaryCtxRetain')).toBe(1);
    expect(count('MISUSE')).toBe(0);
  }
  const [alone, watched] = both;
  expect([alone.count('cuMemHostUnregister'), alone.count('cuDevicePrimaryCtxRelease')]).toEqual([0, 0]);
  expect([watched.count('cuMemHostUnregister'), watched.count('cuDevicePrimaryCtxRelease')]).toEqual([2, 1]);
});

interface Solved {
  readonly code: number | null;
  /** The last event. */
  readonly done: unknown;
  readonly written: string;
  count(call: Call['name']): number;
}

function solve(name: string, extra: NodeJS.ProcessEnv): Promise<Solved> {
  const [out, log] = ['out', 'calls'].map((what) => join(fake.folder, `${what}-${name}`)) as [string, string];
  const [main, blocks] = ['../../dist/cli/main.js', '../data/block/synthetic/easy00.in'].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  ) as [string, string];
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, LD_PRELOAD: ___, ...rest } = process.env;
  const env = { ...rest, ...fake.environment, FAKE_CUDA_LOG: log, ...extra };
  const words = ['block', 'solve', blocks, out, '--device', 'cuda', '--nonces', '0:1000', '--no-ledger', '--json'];
  return new Promise((resolve) => {
    const ended = execFile(process.execPath, [main, ...words], { env }, (_error, stdout) => {
      const calls = callsIn(readFileSync(log, 'utf8'));
      resolve({
        code: ended.exitCode,
        done: eventsOf(stdout).at(-1),
        written: readFileSync(out, 'latin1'),
        count: (wanted) => calls.filter((call) => call.name === wanted).length,
      });
    });
  });
}

/** What the fake complained about, in a process that closed its device. */
function misuse({ way, env }: { readonly way: string; readonly env?: NodeJS.ProcessEnv }): string[] | undefined {
  const calls = way === 'close' ? callsIn(readFileSync(env?.FAKE_CUDA_LOG ?? '', 'utf8')) : [];
  const found = calls.flatMap(({ name, text }) => (name === 'MISUSE' ? [text] : []));
  return found.length > 0 ? found : undefined;
}
