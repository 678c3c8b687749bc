import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { completionOf } from '../src/engine/devices.js';
import { formatOutput, parseInput } from '../src/workload/block/files/file.js';
import { Solver } from '../src/workload/block/job/solve.js';
import { solveAll } from '../src/workload/block/job/solve-all.js';
import { targetFromBits } from '../src/workload/block/kernel/reference.js';
import { byTier, isLong, isShort } from './tier.js';

/** The published files, byte for byte: on every device, with every pipeline. */
const names = ['native', 'wasm', 'cuda', 'opencl', 'webgpu'];
const pipelines = ['sync', 'poll', 'callback', 'persistent'] as const;
const { absent, devices: present } = await listDevices();

const data = new URL('data/block/', import.meta.url);
const text = (name: string) => readFileSync(new URL(name, data), 'latin1');
/** Nonces to try for each file, ascending; files not listed take more than 10^8. */
const nonces: Readonly<Record<string, number>> = {
  'synthetic/easy00': 2,
  'mainnet/regtest-0': 1,
  'synthetic/easy01': 3e5,
  'mainnet/signet-0': 5.5e6,
  'synthetic/easy02': 1.3e7,
  'mainnet/mainnet-1': 1.63e8,
};
const files = ['course', 'mainnet', 'synthetic'].flatMap((folder) =>
  readdirSync(new URL(folder, data)).flatMap((name) => (name.endsWith('.in') ? `${folder}/${name.slice(0, -3)}` : [])),
);
/** Nonces that a device tries in a few seconds. A GPU has no limit. */
const patience: Readonly<Record<string, number>> = byTier(
  { native: 6e6, wasm: 4e5, opencl: 4e5, webgpu: 4e5 },
  { native: 2e8, wasm: 6e6, opencl: 6e6, webgpu: 4e5 },
);

test('finds all files', () => {
  expect(files).toEqual(expect.arrayContaining(Object.keys(nonces)));
  expect(files).toHaveLength(15);
});

describe.each(names)('on %s', (name) => {
  const missing = absent.find(({ id }) => id === name);
  const isGpu = present.some(({ kind, processor }) => kind === name && processor === 'gpu');
  const maxNonces = isLong || isGpu ? Number.POSITIVE_INFINITY : (patience[name] ?? 0);
  const small = files.filter((file) => (nonces[file] ?? 1e12) <= maxNonces);

  /** `block-devices` tests its kernel, and each process compiles it again. */
  const tooSlow =
    isShort && !isGpu && (name === 'opencl' || name === 'webgpu')
      ? 'its compiler takes four seconds: npm run test:all'
      : undefined;

  /** WebGPU reports completions in only one way, and compiles for ten seconds: its modes share one device. */
  const opened = new Map<string, Promise<Device>>();
  const openFor = (pipeline: (typeof pipelines)[number]): Promise<Device> => {
    const completion = completionOf(pipeline);
    const way = name === 'webgpu' ? 'any' : pipeline;
    const device = opened.get(way) ?? openDevice(name, { completion });
    opened.set(way, device);
    return device;
  };
  afterAll(async () => {
    for (const device of opened.values()) await (await device).close();
  });

  describe.each(pipelines)('%s', (pipeline) => {
    const left =
      tooSlow ??
      (isShort && name === 'wasm' && pipeline !== 'poll'
        ? 'covered by native; all modes are the same on a CPU: npm run test:all'
        : undefined);
    let solver: Solver;
    beforeAll(async () => {
      if (!missing && !left) solver = new Solver(await openFor(pipeline), { pipeline });
    });
    afterAll(() => solver?.close());

    test.for(small)('%s', { timeout: isLong ? 7_200_000 : 300_000 }, async (file, { skip }) => {
      if (missing) return skip(missing.reason);
      if (left) return skip(left);
      if (!isGpu && !isLong && pipeline !== 'poll' && (nonces[file] ?? 0) > maxNonces / 10) {
        return skip('takes seconds; all modes are the same on a CPU: npm run test:all');
      }
      const blocks = parseInput(text(`${file}.in`));
      await solver.prepare(...blocks.map(({ bits }) => targetFromBits(bits)));
      const solutions = await solveAll(solver.engine, blocks, {});
      expect(formatOutput(solutions.map((one) => one?.nonce ?? 0))).toBe(text(`${file}.out`));
    });

    test('the files that take longer', ({ skip }) => {
      if (missing) return skip(missing.reason);
      if (small.length < files.length)
        skip(`${files.length - small.length} files take minutes here: npm run test:long`);
    });
  });
});

test.for(byTier(['native'], ['native', 'wasm']))(
  'one block or several at a time give the same answers: %s',
  async (name, { skip }) => {
    const missing = absent.find(({ id }) => id === name);
    if (missing) return skip(missing.reason);
    const device = await openDevice(name);
    const solver = new Solver(device);
    const blocks = parseInput(text('synthetic/easy01.in'));
    for (const jobs of [1, 2, 16]) {
      const reported: number[] = [];
      const solutions = await solveAll(solver.engine, blocks, { jobs, onBlock: ({ at }) => reported.push(at) });
      expect(formatOutput(solutions.map((one) => one?.nonce ?? 0))).toBe(text('synthetic/easy01.out'));
      expect(reported.sort()).toEqual([0, 1, 2, 3, 4]);
    }
    await solver.close();
    await device.close();
  },
);
