import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fuzzDevice } from '../src/device/conformance/fuzz/run.js';
import { conformanceCases, runCase } from '../src/device/conformance/index.js';
import type { Device } from '../src/device/device.js';
import { DeviceKinds } from '../src/device/kinds.js';
import { listDevices } from '../src/device/registry.js';
import type { Kernel } from '../src/kernel/index.js';
import { buildFake, type Fake } from './cuda/fake.js';
import { build, compiler, exportTo, ownLeaks, run, thisArch } from './export/build.js';
import { buildRuntime, describeExported, ExportedDevice, type ExportedKind, removeRuntime } from './export/device.js';
import { probe, scale } from './export/kernels.js';
import { isLong, isShort, patience } from './tier.js';

/** The conformance suite and the fuzzer through exported libraries: the same bits as in Node. */

const opencl = isShort ? undefined : (await listDevices()).devices.find(({ id }) => id === 'opencl:0');
const fake = isShort ? { reason: 'a short run' } : await buildFake();
const missing: Readonly<Record<ExportedKind, string | undefined>> = {
  cpu: compiler,
  opencl: compiler ?? (opencl ? undefined : 'no OpenCL'),
  cuda: compiler ?? ('reason' in fake ? fake.reason : undefined),
};

/**
 * GCC compiles each kernel, PoCL takes seconds for some, and the fake GPU is one thread. A short run has no case (it runs
 * test/words-c.test.ts); others have those about launches. The rest of the suite differs by the text of kernels, which test/conformance.test.ts runs on the same
 * compilers; long runs have it on the CPU.
 */
const launches =
  /^(streams|hits|host|ranges\/(count|bases)|bounds\/a load|memory\/bytes|tables\/thousands|tiles\/scan)/;
const kept: Readonly<Record<ExportedKind, RegExp>> = {
  cpu: isLong
    ? /./
    : /^operations\/(u64|f64)\/from memory, a gang|^operations\/.*of the job and chunk|^(control|cells|memory|tables|atomics|hits|ranges|bounds|names|streams|host|tiles)\//,
  opencl: launches,
  // The fake compiles no PTX, in which floats of 16 bits are converted: records have some.
  cuda: new RegExp(`^(?!hits/records)${launches.source}`),
};

let folder = '';
beforeAll(async () => {
  if (!compiler && !isShort) folder = await buildRuntime();
  process.env.MILLRACE_EXPORT_CACHE = join(folder, 'cache');
});
afterAll(async () => {
  removeRuntime(folder);
  if (!('reason' in fake)) await (fake as Fake).remove();
});

/** Programs in C on the fake driver, which reports what a real one would ignore or crash on. */
describe.skipIf(isShort)('a C program on the fake CUDA', { timeout: patience(20 * 60_000) }, () => {
  const own = mkdtempSync(join(tmpdir(), 'millrace-export-cuda-'));
  afterAll(() => rmSync(own, { recursive: true, force: true }));
  const sanitized = ['-fsanitize=address,undefined', '-fno-sanitize=alignment', '-fno-sanitize-recover=all'];

  test.for(['raw', 'bad', 'tasks', 'faults'] as const)('%s.c', async (name, ctx) => {
    if (missing.cuda) return ctx.skip(missing.cuda);
    const { environment, calls, clearCalls } = fake as Fake;
    for (const [kernel, value] of Object.entries({ probe, scale }))
      exportTo(own, kernel, value as Kernel, { arch: thisArch });
    const program = await build(own, name, { flags: sanitized, faults: name === 'faults' });
    clearCalls();
    const env = { ...process.env, ...environment, LSAN_OPTIONS: ownLeaks };
    const { stdout } = await run(program, ['cuda', ...(name === 'faults' ? ['3'] : [])], { env });
    expect(stdout).toMatch(/^ok/);
    // A wait that was made to fail has not waited: then the fake finds work in flight.
    if (name !== 'faults') expect(calls().filter((call) => call.name === 'MISUSE')).toEqual([]);
  });

  test('compiled programs are kept, and compiled again if their files are damaged', async (ctx) => {
    if (missing.cuda) return ctx.skip(missing.cuda);
    for (const [kernel, value] of Object.entries({ probe, scale }))
      exportTo(own, kernel, value as Kernel, { arch: thisArch });
    const program = await build(own, 'raw', { optimize: '-O0' });
    const cache = join(own, 'cache');
    const withCache = (folder: string, more: NodeJS.ProcessEnv = {}): Promise<{ stdout: string }> =>
      run(program, ['cuda'], {
        env: { ...process.env, ...(fake as Fake).environment, MILLRACE_EXPORT_CACHE: folder, ...more },
      });
    const noCompiler = { FAKE_NVRTC_CC: join(own, 'no-compiler') };
    await expect(withCache(cache, noCompiler)).rejects.toMatchObject({ code: 1 });
    expect((await withCache(cache)).stdout).toBe('ok\n');
    expect((await withCache(cache, noCompiler)).stdout).toBe('ok\n');
    const files = readdirSync(cache).map((name) => join(cache, name));
    expect(files).toHaveLength(1);
    const good = readFileSync(files[0]!);
    const flipped = Buffer.from(good);
    flipped.writeUInt8(good.readUInt8(good.length - 100) ^ 1, good.length - 100);
    for (const damaged of [flipped, good.subarray(0, good.length - 1), good.subarray(0, 10), Buffer.alloc(0)]) {
      writeFileSync(files[0]!, damaged);
      await expect(withCache(cache, noCompiler)).rejects.toMatchObject({ code: 1 });
      expect((await withCache(cache)).stdout).toBe('ok\n');
      expect((await withCache(cache, noCompiler)).stdout).toBe('ok\n'); // written anew
      expect(readdirSync(cache)).toHaveLength(1);
    }
    expect((await withCache(files[0]!)).stdout).toBe('ok\n'); // not a folder: nothing is kept
  });
});

describe.skipIf(isShort).each(['cpu', 'opencl', 'cuda'] as const)('exported, %s', (kind) => {
  let device: Device | undefined;
  beforeAll(async () => {
    if (missing[kind]) return;
    const info = describeExported(kind, kind === 'opencl' ? opencl : undefined);
    const open = async (): Promise<Device> => new ExportedDevice(kind, folder, info);
    device = await new DeviceKinds([
      { id: info.kind, aliases: [], load: async () => ({ probe: async () => ({ infos: [info] }), open }) },
    ]).open(info.id);
  });
  afterAll(() => device?.close());

  test.for(conformanceCases.filter(({ name }) => kept[kind].test(name)))(
    '$name',
    { timeout: patience(300_000) },
    async (one, ctx) => {
      const reason = missing[kind];
      if (reason) return ctx.skip(reason);
      const result = await runCase(one, device!);
      if (result.status === 'skipped') ctx.skip(result.reason ?? '');
      if (result.status === 'failed') throw new Error(result.reason);
    },
  );

  test('random kernels match the interpreter', { timeout: patience(30 * 60_000) }, async (ctx) => {
    const reason = missing[kind] ?? (kind === 'cuda' ? 'the fake GPU lacks some atomics' : undefined);
    if (reason) return ctx.skip(reason);
    const { passed, firstFailure } = await fuzzDevice(device!, { seed: 20_091_031, count: isLong ? 200 : 6 });
    expect(firstFailure).toBeUndefined();
    expect(passed).toBeGreaterThan(1);
  });
});
