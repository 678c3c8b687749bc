import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { committedBaselines } from '../src/bench/baseline.js';
import { recorder } from '../src/bench/frozen/recording.js';
import type { Candidate } from '../src/bench/measure.js';
import type { SavedReport } from '../src/bench/saved.js';
import { showRates } from '../src/cli/tour.js';
import { openOutput } from '../src/console/output/output.js';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import { virtualDevices } from '../src/engine/index.js';
import { MillraceError } from '../src/kernel/error.js';
import { items, type Kernel, read, rw, u32 } from '../src/kernel/index.js';
import { benchedWorkloads } from '../src/workload/cases.js';
import { kernelRuns } from '../src/workload/frozen.js';
import { fermatRate } from '../src/workload/gaps/bench/rate.js';
import { residentRate } from '../src/workload/words/bench/rate.js';
import { millrace } from './command-line.js';
import { isShort } from './tier.js';

/** `millrace bench`: its reports, and how it detects a loss. */
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const bench = (...more: string[]) => millrace(['bench', 'all', ...more], { cwd: folder });
const wasm = ['block', '--device', 'wasm', '--threads', '1'];
const files = ['--save', 'now.json', '--markdown', 'now.md'];
const written = (name: string): string => readFileSync(join(folder, name), 'utf8');

it.skipIf(isShort)('saves its report; a figure below the compared one is a loss', async () => {
  // The compared report claims 10^15 hashes a second, far above any noise.
  const { devices } = (await millrace(['devices', '--json'])).events.at(-1) as unknown as {
    devices: { id: string; name: string }[];
  };
  const name = devices.find(({ id }) => id === 'wasm')?.name;
  expect(name).toBeTypeOf('string');
  const rate = { median: 1e15, min: 1e15, max: 1e15, relative: 0 };
  const before = { workload: 'block', name: 'SHA-256d of headers', device: 'wasm', unit: 'H', rate };
  const then = { machine: { devices: [{ id: 'wasm', name, units: 1 }] }, figures: [before] };
  writeFileSync(join(folder, 'then.json'), JSON.stringify(then));

  const { status, events } = await bench(...wasm, '--json', ...files, '--compare', 'then.json');
  expect(events.filter(({ event }) => event === 'no-figure')).toEqual([]);
  expect(status).toBe(1);
  const [figure] = events.filter(({ event }) => event === 'figure');
  expect(figure).toMatchObject({ workload: 'block', device: 'wasm', unit: 'H', runs: 11 });
  const [verdict] = events.filter(({ event }) => event === 'verdict');
  expect(verdict).toMatchObject({ workload: 'block', device: 'wasm', before: 1e15, isLost: true });

  const saved = JSON.parse(written('now.json')) as SavedReport;
  expect(saved.figures.map((one) => one.rate)).toEqual([figure?.perSecond]);
  expect(saved.command).toMatch(/^millrace bench all block --device wasm .* --save now\.json/);
  expect(saved.timelines[0]?.chunks.length).toBeGreaterThan(0);
  expect(written('now.md')).toMatch(/^\| block \| SHA-256d of headers \| wasm \| /m);
});

it('compares with the committed reports of the same device by default; saves cases without a figure too', async () => {
  for (const { machine, figures } of committedBaselines()) {
    expect(machine.devices).toHaveLength(1);
    expect(figures.length).toBeGreaterThan(0);
  }
  // The interpreter has no figures, so this is fast.
  const { status, events } = await bench('gaps', '--device', 'interpreter', ...files, '--json', '--compare');
  expect(status).toBe(0);
  const none = events.filter(({ event }) => event === 'no-figure');
  expect(none).not.toEqual([]);
  const { figures, missing, command } = JSON.parse(written('now.json')) as SavedReport;
  expect([figures, missing.length]).toEqual([[], none.length]);
  expect(command).toMatch(/^millrace bench all gaps --device interpreter --save now\.json /);
  expect(written('now.md')).toContain('interpreter');
  expect(events.find(({ event }) => event === 'warning')?.message).toMatch('nothing to compare');
});

it('rejects an invalid report before measuring anything', async () => {
  writeFileSync(join(folder, 'none.json'), '{}');
  expect(await bench(...wasm, '--compare', 'none.json')).toMatchObject({ status: 64, stdout: '' });
  expect(await bench(...wasm, '--compare', 'missing.json')).toMatchObject({ status: 64, stdout: '' });
});

it('the documents match the committed reports', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const [, ...args] = ['node', 'scripts/performance.mjs', '--check'];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: '' });
});

const hasCompiler = spawnSync('cc', ['--version']).status === 0;
const cpu = hasCompiler ? 'native' : 'wasm';

describe.skipIf(isShort)('each workload', () => {
  const wanted = { runs: 1, seconds: 0.05, isFull: true };
  /** One run, whose results are checked: a wrong one throws. */
  const run = async ({ name, run: once }: Candidate): Promise<void> => {
    expect((await once()).work, name).toBeGreaterThan(0);
  };
  let device: Device;
  beforeAll(async () => {
    device = await openDevice(cpu);
  });
  afterAll(() => device?.close());

  it.each(benchedWorkloads)('$workload: runs its cases, its peers and work of a given size', async (one) => {
    for (const { unsupportedReason, open } of one.cases) {
      if (unsupportedReason?.(device.info) !== undefined) continue;
      const opened = await open(device, wanted);
      await run(opened);
      await opened.close();
    }
    for await (const { candidates } of one.peers?.(device, wanted) ?? [])
      for (const other of candidates) await run(other);
    const sized = await one.sized?.([device], 1000);
    if (sized) expect(await sized.run(1000)).toBeGreaterThan(0);
    await sized?.close();
  });

  const own = async (workload: string, ...args: string[]) => {
    const given = ['bench', workload, '--device', cpu, '--runs', '3', ...args, '--json'];
    const { status, stderr, events } = await millrace(given);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return events.flatMap(({ event, name }) => (event === 'measurement' ? [String(name)] : []));
  };
  it.each([
    ['words', ['--only', 'resident,host']],
    ['words', ['--only', 'small,digests']],
    ['gaps', ['--bits', '257', '--primes', '100000']],
  ] as const)('%s: runs its own benchmark', async (workload, args) => {
    expect((await own(workload, '--threads', '1', ...args)).length).toBeGreaterThan(0);
  });

  it('block: its own benchmark measures a CPU with one thread and with all', async () => {
    const ours = (await own('block')).filter((name) => name.startsWith(cpu));
    const several = availableParallelism() > 1;
    expect(ours).toHaveLength(several ? 2 : 1);
  });

  it('uhash: its own benchmark measures each size of a sweep once', async () => {
    const names = await own('uhash', '--threads', '1', '--batch-size', '3', '--sweep', '--count', '12');
    expect(names).toEqual([`${cpu}, batch 3`, `${cpu}, batch 6`]);
  });

  it('a device with wrong results has no rate', async () => {
    const [garbled] = virtualDevices(device, [{ garblesAt: 0 }]);
    const words = await residentRate(garbled!, 8, 1);
    await expect(words.run()).rejects.toMatchObject({
      code: 'device-failed',
      message: expect.stringContaining('virtual:0 made wrong words: words 0 to 19999 of the batch'),
    });
    await words.close();
    // Every number passes.
    const shape = { chunk: { base: [u32, 10] }, buffers: { candidate: read(u32), prime: rw(u32) } } as const;
    const passing = items('fermat', shape, ({ item, buffers }) => buffers.prime.set(item, 1)) as unknown as Kernel;
    const careless = new Proxy(device, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (name === 'compile') return () => target.compile(passing);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const gaps = await fermatRate(careless, { bits: 320, limb: 'u32', count: 8, runs: 1 });
    await expect(gaps.run()).rejects.toMatchObject({
      code: 'device-failed',
      message: expect.stringMatching(`^${device.info.id} reported that \\d+ \\+ 1 passes Fermat's test`),
    });
    await gaps.close();
  });

  it.each(Object.entries(kernelRuns))('%s: the gate has launches of its kernel', async (_, launchKernel) => {
    const recorded = recorder(device);
    await launchKernel(recorded.device);
    expect(recorded.recording().commands).toContainEqual(expect.objectContaining({ do: 'launch' }));
  });

  it('block: measures peers, several sizes and several devices', async () => {
    const args = [...wasm, '--peers', '--scaling', '--json', '--save', 'all.json'];
    expect((await bench(...args)).status).toBe(0);
    const { peers, scaling, several } = JSON.parse(written('all.json')) as SavedReport;
    expect(peers.map(({ workload }) => workload)).toContain('block');
    expect(peers[0]?.rows.length).toBeGreaterThan(0);
    expect(scaling).toMatchObject([{ workload: 'block' }]);
    expect(several).toMatchObject([{ workload: 'block' }]);
  });
});

it('a tour ends with wrong results of a device', async () => {
  const device = { info: { id: 'wasm', kind: 'wasm' } } as Device;
  const open = () => Promise.reject(new MillraceError({ code: 'device-failed', message: 'it reported nonsense' }));
  const workloads = [{ workload: 'block', cases: [{ name: 'wrong', checkedBy: 'hand', open }] }];
  const sink = { write: () => true };
  const output = openOutput({}, { stdout: sink, stderr: sink });
  await expect(showRates(output, device, workloads, new AbortController().signal)).rejects.toMatchObject({
    code: 'device-failed',
    summary: 'it reported nonsense',
    asked: 'wrong on wasm',
    advice: 'run `millrace selftest --device wasm`',
  });
});

it.skipIf(isShort)('a tour shows the genesis block and all workloads', async () => {
  const { status, events } = await millrace(['tour', '--device', cpu, '--json']);
  expect(status).toBe(0);
  expect(events).toContainEqual(expect.objectContaining({ event: 'genesis', nonce: 2083236893 }));
  const workloads = events.flatMap(({ event, workload }) => (event === 'figure' ? [workload] : []));
  expect([...new Set(workloads)]).toEqual(benchedWorkloads.map(({ workload }) => workload));
});
