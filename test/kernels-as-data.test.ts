import { describe, expect, test } from 'vitest';
import { build } from '../src/device/conformance/fuzz/build.js';
import { generate } from '../src/device/conformance/fuzz/generate.js';
import { conformanceCases, runCase, Skip } from '../src/device/conformance/index.js';
import { Random } from '../src/device/conformance/model/random.js';
import type { Device } from '../src/device/device.js';
import { openDevice } from '../src/device/registry.js';
import {
  aes,
  type CpuFeatures,
  checkProgram,
  decodeKernel,
  encodeKernel,
  type Field,
  interpret,
  items,
  type Kernel,
  kernelText,
  loop,
  lower,
  lowerGpu,
  MillraceError,
  type Program,
  plainCpu,
  RING_HEADER_WORDS,
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

/** Runs a kernel from elsewhere for two items on small inputs, and prints it. Only errors of Millrace may come of it. */
function exercise(kernel: Kernel, program: Program): void {
  const valuesOf = (fields: readonly Field[]) =>
    Object.fromEntries(
      fields
        .filter(({ name }) => !name.startsWith('.'))
        .map(({ name, type, length, array }) => {
          const value = type === 'bool' ? true : type === 'u64' ? 3n : 3;
          return [name, array ? Array.from({ length }, () => value) : value];
        }),
    );
  const attempt = (action: () => unknown) => {
    try {
      action();
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
    }
  };
  const buffers = Object.fromEntries(program.buffers.map(({ name }) => [name, new Uint8Array(4096)]));
  const ring = new Uint8Array(4096 + RING_HEADER_WORDS);
  const [job, chunk] = [valuesOf(program.job), valuesOf(program.chunk)];
  attempt(() => interpret(program, { job, chunk, count: 2, buffers, ring, itemSteps: 2000 }));
  for (const target of byTier(['c'] as const, ['c', 'wat', 'cuda', 'wgsl'] as const))
    attempt(() => kernelText(kernel, { target }));
}

/** Changes, inserts, removes or repeats a few bytes. */
function mutate(random: Random, bytes: Uint8Array, others: readonly Uint8Array[]): Uint8Array {
  let result = [...bytes];
  for (let left = 1 + random.below(3); left > 0; left--) {
    const at = random.below(result.length);
    const length = 1 + random.below(8);
    const other = random.pick(others);
    const from = random.below(other.length);
    const changes = [
      () => (result[at] = random.below(256)),
      () => (result[at] = ((result[at] ?? 0) + random.pick([1, 2, 3, 255, 254])) & 255),
      () => (result[at] = (result[at] ?? 0) ^ (1 << random.below(8))),
      () => result.splice(at, 0, random.below(256)),
      () => result.splice(at, length),
      () => result.splice(at, 0, ...result.slice(at, at + length)),
      () => result.splice(at, length, ...other.slice(from, from + length)),
      () => (result = result.slice(0, at + 1)),
    ];
    random.pick(changes)();
  }
  return Uint8Array.from(result);
}

describe('bytes from elsewhere', () => {
  test('are refused, or are a kernel that can be run', { timeout: patience(14_400_000) }, () => {
    const seeds = byTier([2, 5], [2, 3, 5, 8, 13, 21]);
    const sources = [
      ...seeds.map((seed) => build(generate(new Random(seed), seed % 2 === 0 ? 'tiles' : 'items'))),
      items('hashes', { buffers: { out: rw(u32) } }, ({ item, buffers }) =>
        loop(3, (i) => buffers.out.set(i, aes.round([item, i, 1, 2], [item, 5, 6, 7])[0]!)),
      ) as unknown as Kernel,
    ];
    const encoded = sources.flatMap((kernel) => [encodeKernel(kernel), encodeKernel(kernel, { origins: false })]);
    const random = new Random(26);
    let valid = 0;
    const count = byTier(150, 6000, 1_000_000);
    for (let i = 0; i < count; i++) {
      const bytes = mutate(random, random.pick(encoded), encoded);
      let kernel: Kernel;
      try {
        kernel = decodeKernel(bytes, { limits: { statements: 20_000 } });
      } catch (error) {
        if (error instanceof MillraceError) continue;
        throw new Error(`mutation ${i}: ${Buffer.from(bytes).toString('hex')}`, { cause: error });
      }
      valid++;
      try {
        const program = kernel.trace();
        checkProgram(program);
        expect(Buffer.from(encodeKernel(kernel)).equals(bytes)).toBe(true);
        if (valid % byTier(4, 2, 10) === 0) exercise(kernel, program);
      } catch (error) {
        throw new Error(`mutation ${i}: ${Buffer.from(bytes).toString('hex')}`, { cause: error });
      }
    }
    expect(valid).toBeGreaterThan(count / 50); // else the mutations test the format alone
    expect(valid).toBeLessThan(count);
  });

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
    for (const name of byTier(['interpreter', 'wasm'], ['interpreter', 'wasm', 'native'])) {
      const device = await openDevice(name);
      const program = await device.compile(decoded, { checked: false });
      const out = await device.alloc(64);
      const stream = device.stream();
      stream.launch({ job: program.bind({ at: 16 }), count: 1, buffers: { out } });
      await expect(stream.mark().done).rejects.toThrow(expect.objectContaining({ code: 'kernel-bounds' }));
      stream.launch({ job: program.bind({ at: 15 }), count: 1, buffers: { out } });
      const digest = new Uint32Array(16);
      stream.read(out, digest);
      await stream.mark().done;
      expect(digest[15]).toBe(0x9246be1e); // sha256sum of the bytes 00 00 00 0f
      if (name !== 'interpreter') {
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
