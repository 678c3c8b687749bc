import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import type { DeviceInfo } from '../../src/device/device.js';
import { probe } from '../../src/device/opencl/device.js';
import { findOpenCl } from '../../src/device/opencl/runtime/library.js';
import { checkNeeds, needsOf } from '../../src/device/opencl/runtime/needs.js';
import { lowerGpu } from '../../src/kernel/abi/lower-gpu.js';
import { items, type Kernel, rw } from '../../src/kernel/index.js';

const folder = await mkdtemp(join(tmpdir(), 'millrace-test-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Probes OpenCL in another process, with another environment. */
function probed(environment: Readonly<Record<string, string>>): Promise<{ reason?: string; infos?: DeviceInfo[] }> {
  const module = fileURLToPath(new URL('../../dist/device/opencl/device.js', import.meta.url));
  const text = `import { probe } from ${JSON.stringify(module)}; console.log(JSON.stringify(await probe()));`;
  return new Promise((resolve, reject) => {
    const env = { ...process.env, ...environment };
    execFile(process.execPath, ['--input-type=module', '-e', text], { env }, (error, stdout) => {
      if (error) reject(error);
      else resolve(JSON.parse(stdout));
    });
  });
}

test('reports a named library that cannot be loaded', () => {
  const found = findOpenCl({ MILLRACE_LIBOPENCL: join(folder, 'no.so') });
  expect(found).toEqual({ reason: expect.stringMatching(/^MILLRACE_LIBOPENCL names a library .*no\.so/) });
});

const OTHER_LOADER = 'this OpenCL loader also finds platforms that the environment does not name';

test('reports where it looked for platforms and what to install if there are none', async (ctx) => {
  const here = await probe();
  if ('reason' in here) return ctx.skip(here.reason);
  const { reason } = await probed({ OCL_ICD_VENDORS: folder, OPENCL_VENDOR_PATH: folder });
  if (reason === undefined) return ctx.skip(OTHER_LOADER);
  expect(reason).toContain(folder);
  expect(reason).toMatch(/pocl-opencl-icd/);
});

test('names a platform whose library is missing', async (ctx) => {
  const here = await probe();
  if ('reason' in here) return ctx.skip(here.reason);
  const vendors = await mkdtemp(join(folder, 'vendors-'));
  await writeFile(join(vendors, 'broken.icd'), 'libnot-there.so.1\n');
  const { reason } = await probed({ OCL_ICD_VENDORS: vendors, OPENCL_VENDOR_PATH: vendors });
  if (reason === undefined) return ctx.skip(OTHER_LOADER);
  expect(reason).toMatch(/broken\.icd names libnot-there\.so\.1/);
});

const kernels: Readonly<Record<string, { kernel: Kernel; needs: readonly string[] }>> = {
  words: {
    kernel: items('words', { buffers: { x: rw('u32') } }, ({ item, buffers }) => buffers.x.set(item, item)),
    needs: ['u64'],
  },
  sums: {
    kernel: items('sums', { buffers: { x: rw('f32') } }, ({ item, buffers }) =>
      buffers.x.set(item, buffers.x.at(item).add(1)),
    ),
    needs: ['u64', 'f32'],
  },
  roots: {
    kernel: items('roots', { buffers: { x: rw('f32') } }, ({ item, buffers }) =>
      buffers.x.set(item, buffers.x.at(item).sqrt()),
    ),
    needs: ['u64', 'f32', 'f32-divide'],
  },
  doubles: {
    kernel: items('doubles', { buffers: { x: rw('f64') } }, ({ item, buffers }) =>
      buffers.x.set(item, buffers.x.at(item).div(3)),
    ),
    needs: ['u64', 'f64'],
  },
  'doubles in the job only': {
    kernel: items('hosted', { job: { a: 'f64' }, buffers: { x: rw('u32') } }, ({ job, item, buffers }) =>
      buffers.x.set(item, job.a.div(3).to('u32')),
    ),
    needs: ['u64'],
  },
};

test.each(Object.entries(kernels))('the capabilities that a kernel needs: %s', (_, { kernel, needs }) => {
  const { program } = lowerGpu(kernel, { target: 'opencl' });
  expect([...needsOf(program)].sort()).toEqual([...needs].sort());
  const info = { id: 'opencl:7', name: 'a device', capabilities: needs } as unknown as DeviceInfo;
  expect(() => checkNeeds(program, info)).not.toThrow();
  for (const need of needs) {
    const without = { ...info, capabilities: needs.filter((name) => name !== need) };
    expect(() => checkNeeds(program, without)).toThrow(expect.objectContaining({ code: 'device-capability' }));
  }
});
