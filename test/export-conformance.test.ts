import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fuzzDevice } from '../src/device/conformance/fuzz/run.js';
import { conformanceCases, runCase } from '../src/device/conformance/index.js';
import type { Device } from '../src/device/device.js';
import { DeviceKinds } from '../src/device/kinds.js';
import { listDevices } from '../src/device/registry.js';
import { buildFake, type Fake } from './cuda/fake.js';
import { compiler } from './export/build.js';
import { buildRuntime, describeExported, ExportedDevice, type ExportedKind, removeRuntime } from './export/device.js';
import { byTier, isLong, isShort, patience } from './tier.js';

/** The conformance suite and the fuzzer through exported libraries: the same bits as in Node. */

const opencl = (await listDevices()).devices.find(({ id }) => id === 'opencl:0');
const fake = await buildFake();
const missing: Readonly<Record<ExportedKind, string | undefined>> = {
  cpu: compiler,
  opencl: compiler ?? (opencl ? undefined : 'no OpenCL'),
  cuda: compiler ?? ('reason' in fake ? fake.reason : undefined),
};

/**
 * GCC compiles each kernel, and PoCL takes seconds for some. Short runs have one case of each kind of input to a launch; the
 * rest of the suite differs only by the text of kernels, which test/conformance.test.ts runs on the same compilers.
 */
const short = /^hits\/a ring/;
const kept = [
  /^operations\/(u64|f64)\/(from memory, a gang|of the job and chunk)/,
  /^operations\/(u32|i32|f32|bool)\/of the job and chunk/,
  /^(control|arrays|cells|memory|tables|atomics|hits|ranges|bounds|names|streams|host)\//,
  /^tiles\/(scan|sum|near)/,
];
const isKept = (name: string): boolean => (isShort ? short.test(name) : isLong || kept.some((one) => one.test(name)));

let folder = '';
beforeAll(async () => {
  if (!compiler) folder = await buildRuntime();
  process.env.MILLRACE_EXPORT_CACHE = join(folder, 'cache');
});
afterAll(async () => {
  removeRuntime(folder);
  if (!('reason' in fake)) await (fake as Fake).remove();
});

describe.each(isShort ? (['cpu'] as const) : (['cpu', 'opencl', 'cuda'] as const))('exported, %s', (kind) => {
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

  test.for(conformanceCases.filter(({ name }) => isKept(name)))(
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

  test.skipIf(isShort)('random kernels match the interpreter', { timeout: patience(30 * 60_000) }, async (ctx) => {
    const reason = missing[kind];
    if (reason) return ctx.skip(reason);
    const { passed, firstFailure } = await fuzzDevice(device!, { seed: 20_091_031, count: byTier(1, 6, 200) });
    expect(firstFailure).toBeUndefined();
    expect(passed).toBeGreaterThan(1);
  });
});
