import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasAbility } from '../src/device/conformance/case.js';
import { conformanceCases, runCase } from '../src/device/conformance/index.js';
import { runKernel } from '../src/device/conformance/rig.js';
import type { CompileOptions, Device } from '../src/device/device.js';
import { listDevices, openDevice } from '../src/device/registry.js';
import { type GpuTarget, type Kernel, lowerGpu } from '../src/kernel/index.js';
import { headerScan } from '../src/workload/block/kernel/kernel.js';
import { itemSamples, stdSamples } from './gpu-text/item-samples.js';
import type { Sample } from './gpu-text/sample.js';
import { tileSamples } from './gpu-text/tile-samples.js';
import { isLong, isShort, patience } from './tier.js';

/**
 * Tests beyond the conformance suite. Every kernel of that suite, the samples and `block` compile with nvcc in all
 * harnesses, if nvcc is installed. On every available GPU device the samples, which cover `std` and much that happens
 * between the regions of a tile, give the interpreter's bits.
 */
const run = promisify(execFile);
const samples: readonly Sample[] = [...itemSamples, ...tileSamples, ...stdSamples];
const cases = conformanceCases.filter(({ name }) => !name.startsWith('streams/'));
const MINUTES = patience(60_000);
const noNvcc = spawnSync('nvcc', ['--version']).status === 0 ? undefined : 'nvcc is not installed';
const { absent } = await listDevices();

let interpreter: Device;
let conformanceKernels: readonly Kernel[] = [];
beforeAll(async () => {
  interpreter = await openDevice('interpreter');
  if (!noNvcc) conformanceKernels = await kernelsOfTheSuite(interpreter);
}, 2 * MINUTES);
afterAll(() => interpreter.close());

test.skipIf(isShort)(
  'every kernel compiles for sm_90; block spills nothing',
  { timeout: 5 * MINUTES },
  async ({ skip }) => {
    if (noNvcc) return skip(noNvcc);
    const texts = textsFor('cuda', { checked: false });
    texts.push(...samples.map(({ kernel }) => lowerGpu(kernel, { target: 'cuda', harness: 'queue' }).text));
    texts.push(...samples.map(({ kernel }) => lowerGpu(kernel, { target: 'cuda', checked: true }).text));
    const half = Math.ceil(texts.length / 2);
    const files = [texts.slice(0, half), texts.slice(half)];
    const [block, ...logs] = await Promise.all([
      nvcc([lowerGpu(headerScan({ topWordZero: true }), { target: 'cuda' }).text], '-O3'),
      ...files.map((file) => nvcc(file.map(inNamespace), '-O1')),
    ]);
    expect([block, ...logs].join('').match(/Compiling entry function/g)?.length).toBe(texts.length + 1);
    expect(block).toMatch(/0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads/);
  },
);

describe.each(['cuda', 'opencl', 'webgpu'])('%s', (name) => {
  const missing = absent.find(({ id }) => id === name);
  let device: Device | undefined;
  beforeAll(async () => {
    if (!missing) device = await openDevice(name);
  });
  afterAll(() => device?.close());

  test.skipIf(isShort)('matches the interpreter on all samples', { timeout: 5 * MINUTES }, async ({ skip }) => {
    if (missing) return skip(missing.reason);
    const own = device!;
    const able = samples.filter(({ needs = [] }) => needs.every((ability) => hasAbility(own, ability)));
    for (const [at, sample] of able.entries()) {
      const wanted = await runKernel(interpreter, sample.kernel, sample.setup);
      const ways = waysOf(own, sample);
      // Each way takes time to compile: here the samples take turns, the long run has all ways of each.
      for (const options of isLong ? ways : ways.filter((_, way) => way === at % ways.length)) {
        const { buffers, ring } = await runKernel(own, sample.kernel, sample.setup, options);
        const what = `${sample.kernel.name} ${JSON.stringify(options)}`;
        expect({ what, ...buffers }).toEqual({ what, ...wanted.buffers });
        expect([...ring].sort()).toEqual([...wanted.ring].sort()); // hits come in any order
      }
    }
  });
});

/**
 * Ways to compile a sample. PoCL 3.1 miscompiles code between barriers when a workgroup has several threads and it turns
 * them into loops (it is right when it repeats the code instead). There tiles have one thread, which is also the fastest.
 */
function waysOf({ info }: Device, { kernel }: Sample): CompileOptions[] {
  const among = (list: readonly Sample[]) => list.some((sample) => sample.kernel === kernel);
  if (among(stdSamples)) return [{ lanes: 64 }];
  if (among(itemSamples)) return [{ lanes: 64 }, { lanes: 32, checked: true }];
  if (info.kind === 'opencl' && info.processor === 'cpu') return [{}, { checked: true }];
  return [{ lanes: 64 }, { lanes: 256 }, { lanes: 32, checked: true }, { lanes: 1 }];
}

/** Each kernel that the suite compiles, once. */
async function kernelsOfTheSuite(device: Device): Promise<Kernel[]> {
  const seen = new Map<string, Kernel>();
  const recorder: Device = {
    info: device.info,
    compile: (kernel, options) => {
      seen.set(kernel.name, kernel);
      return device.compile(kernel, options);
    },
    alloc: (bytes) => device.alloc(bytes),
    stream: () => device.stream(),
    host: (bytes) => device.host(bytes),
    close: async () => {},
  };
  for (const one of cases) await runCase(one, recorder);
  return [...seen.values()];
}

function textsFor(target: GpuTarget, options: { readonly checked: boolean }): string[] {
  const kernels = [...conformanceKernels, ...samples.map(({ kernel }) => kernel)];
  return kernels.map((kernel) => lowerGpu(kernel, { target, ...options }).text);
}

/** Many kernels in one file: nvcc takes a second to start. */
const inNamespace = (text: string, i: number): string =>
  `namespace k${i} {\n${text.replaceAll(/millrace_(range|queue)/g, `$1_${i}`)}\n}`;

async function nvcc(texts: readonly string[], optimise: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-nvcc-'));
  try {
    const file = join(folder, 'kernels.cu');
    await writeFile(file, texts.join('\n'));
    const flags = ['-arch=sm_90', '-cubin', '-Xptxas', `-v,${optimise}`, '-o', join(folder, 'kernels.cubin'), file];
    const { stdout, stderr } = await run('nvcc', flags, { maxBuffer: 1 << 24 });
    return stdout + stderr;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
