import { describe, expect, test } from 'vitest';
import { build } from '../src/device/conformance/fuzz/build.js';
import { generate } from '../src/device/conformance/fuzz/generate.js';
import { conformanceCases, runCase, Skip } from '../src/device/conformance/index.js';
import { Random } from '../src/device/conformance/model/random.js';
import type { Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import {
  type CpuFeatures,
  decodeKernel,
  encodeKernel,
  items,
  type Kernel,
  kernelText,
  lower,
  lowerGpu,
  MillraceError,
  plainCpu,
  rw,
  sha256,
  u32,
  whileTrue,
} from '../src/kernel/index.js';
import { headerScan, versionScan } from '../src/workload/block/kernel/kernel.js';
import { chains } from '../src/workload/gaps/kernel/chain-kernel.js';
import { kernels } from '../src/workload/index.js';
import { byTier, isShort, patience } from './tier.js';

const cpu = (arch: CpuFeatures['arch'], ...features: string[]): CpuFeatures => ({ arch, features: new Set(features) });

/** Processors that have, together, every native body. */
const processors: Readonly<Record<string, CpuFeatures>> = {
  plain: plainCpu,
  arm: cpu('arm', 'neon', 'sha2', 'aes'),
  'x86 with SHA': cpu('x86', 'sse4_1', 'sha_ni', 'aes', 'avx2'),
  'x86 with ADX': cpu('x86', 'sse4_1', 'aes', 'vaes', 'avx512f', 'adx', 'bmi2'),
};

type Text = (kernel: Kernel, checked: boolean) => string;

const onCpu = (target: 'c' | 'wat', processor: CpuFeatures): Text => {
  const options = { target, lanes: 'auto', hoist: true, cpu: processor, nativeBodies: true } as const;
  return (kernel, checked) => lower(kernel, { ...options, checked }).text;
};
const texts: Readonly<Record<string, Text>> = {
  ir: (kernel) => kernelText(kernel, { target: 'ir' }),
  ...Object.fromEntries(Object.entries(processors).map(([name, processor]) => [`c, ${name}`, onCpu('c', processor)])),
  wat: onCpu('wat', plainCpu),
  ...Object.fromEntries(
    (['cuda', 'opencl', 'wgsl'] as const).map((target): [string, Text] => [
      target,
      (kernel, checked) => lowerGpu(kernel, { target, checked }).text,
    ]),
  ),
};

/** The text, or what was said instead of it. */
function textOf(text: Text, kernel: Kernel, checked: boolean): string {
  try {
    return text(kernel, checked);
  } catch (error) {
    if (error instanceof MillraceError) return error.summary;
    throw error;
  }
}

/** The decoded kernel without its mark, to compare builds that are not checked. */
function unmarked({ untrusted, ...kernel }: Kernel): Kernel {
  expect(untrusted).toBeDefined();
  return kernel;
}

function expectSame(kernel: Kernel, names: readonly string[] = Object.keys(texts)): Uint8Array {
  const bytes = encodeKernel(kernel);
  const decoded = decodeKernel(bytes);
  expect(Buffer.from(encodeKernel(decoded)).equals(bytes)).toBe(true);
  for (const name of names) {
    const text = texts[name]!;
    for (const checked of isShort ? [false] : [false, true]) {
      const got = textOf(text, unmarked(decoded), checked);
      if (got !== textOf(text, kernel, checked))
        expect(got, `${kernel.name} as ${name}`).toBe(textOf(text, kernel, checked));
    }
  }
  return bytes;
}

/** Every kernel that the conformance suite compiles. `each` is called before the kernel runs on the interpreter. */
async function compiledBySuite(each: (kernel: Kernel) => void, some: (name: string) => boolean): Promise<string[]> {
  const device = await openDevice('interpreter');
  const seen = new Set<Kernel>();
  const capturing: Device = {
    info: device.info,
    compile: async (kernel) => {
      if (!seen.has(kernel)) each(kernel);
      seen.add(kernel);
      if (isShort) throw new Skip('only its first kernel is wanted');
      return device.compile(kernel);
    },
    alloc: (bytes) => device.alloc(bytes),
    stream: () => device.stream(),
    host: (bytes) => device.host(bytes),
    close: () => device.close(),
  };
  const failures: string[] = [];
  for (const one of conformanceCases.filter(({ name }) => some(name) && !name.startsWith('streams/close'))) {
    const { status, reason } = await runCase(one, capturing);
    if (status === 'failed') failures.push(`${one.name}: ${reason}`);
  }
  await device.close();
  expect(seen.size).toBeGreaterThan(isShort ? 4 : 100);
  return failures;
}

const workloadKernels: Readonly<Record<string, () => Kernel>> = {
  ...kernels,
  'block, four nonces': () => headerScan({ topWordZero: false, perThread: 4 }),
  'block, four versions': () => versionScan({ topWordZero: false, versions: 4 }),
  'gaps, 64-bit limbs': () => chains({ limb: 'u64', bits: 320 }) as unknown as Kernel,
};

describe('a decoded kernel has the text of its source', () => {
  const names = byTier(['words'], Object.keys(workloadKernels));
  test.each(names)('%s', { timeout: patience(120_000) }, (name) => {
    expectSame(workloadKernels[name]!(), isShort ? ['ir', 'c, arm'] : undefined);
  });

  test('kernels of the conformance suite', { timeout: patience(600_000) }, async () => {
    const some = (name: string) =>
      !isShort ||
      /^(memory\/bytes|tiles\/scan|atomics\/the value|tables\/thousands|hits\/a ring|control\/break)/.test(name);
    const failures = await compiledBySuite((kernel) => void expectSame(kernel, isShort ? ['wat'] : undefined), some);
    expect(failures).toEqual([]);
  });

  test('random kernels', { timeout: patience(3_600_000) }, () => {
    for (let seed = 1; seed <= byTier(2, 60, 4000); seed++) {
      const kernel = build(generate(new Random(seed), seed % 2 === 0 ? 'tiles' : 'items'));
      expectSame(kernel, isShort ? ['ir'] : undefined);
    }
  });
});

describe('bytes from elsewhere', () => {
  test('are compiled checked, and their launches can be cancelled', async () => {
    const decoded = decodeKernel(
      encodeKernel(
        items('far', { job: { at: u32 }, buffers: { out: rw(u32) } }, ({ job, buffers }) => {
          whileTrue(
            () => buffers.out.at(0).eq(7),
            () => undefined,
          );
          buffers.out.set(job.at, sha256.hash([job.at])[0]);
        }) as unknown as Kernel,
      ),
    );
    const { absent } = await listDevices();
    for (const name of byTier(['interpreter', 'wasm'], ['interpreter', 'wasm', 'native', 'webgpu'])) {
      if (absent.some(({ id }) => id === name)) continue;
      const device = await openDevice(name);
      const program = await device.compile(decoded, { checked: false });
      const out = await device.alloc(64);
      const stream = device.stream();
      for (const at of [16, 0x3fff_ffff]) {
        stream.launch({ job: program.bind({ at }), count: 1, buffers: { out } });
        await expect(stream.mark().done).rejects.toThrow(expect.objectContaining({ code: 'kernel-bounds' }));
      }
      stream.launch({ job: program.bind({ at: 15 }), count: 1, buffers: { out } });
      const digest = new Uint32Array(16);
      stream.read(out, digest);
      await stream.mark().done;
      expect(digest[15]).toBe(0x9246be1e); // sha256sum of the bytes 00 00 00 0f
      if (name !== 'interpreter' && name !== 'webgpu') {
        stream.fill(out, 7);
        stream.launch({ job: program.bind({ at: 0 }), count: 1, buffers: { out } });
        const launched = stream.mark();
        setTimeout(() => stream.cancel(), 20);
        expect((await launched.done).complete).toBe(false);
      }
      await device.close();
    }
  });
});
