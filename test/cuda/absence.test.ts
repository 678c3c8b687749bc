import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import type { Diagnostic, ProbeResult } from '../../src/device/kinds.js';
import { byTier } from '../tier.js';
import { buildFake, type Fake } from './fake.js';

/** Reports on machines without a driver, a GPU, NVRTC or NVML. Each case runs in a separate process. */

const built = await buildFake({ code: false });
const missing = 'reason' in built ? built.reason : undefined;
const fake = built as Fake;
afterAll(() => fake.remove?.());

const device = fileURLToPath(new URL('../../dist/device/cuda/device.js', import.meta.url));
const script = `
  import { probe, diagnose, open } from ${JSON.stringify(device)};
  const opened = await open('cuda').then((device) => device.close(), (error) => error.message);
  console.log(JSON.stringify({ probed: await probe(), findings: await diagnose(), opened }));
`;

interface Answer {
  readonly probed: ProbeResult;
  readonly findings: readonly Diagnostic[];
  readonly opened?: string;
}

async function ask(environment: Record<string, string>): Promise<Answer> {
  const env = { ...process.env, ...fake.environment, ...environment };
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env,
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Answer;
}

const cases: { readonly name: string; readonly env: Record<string, string>; readonly reason: RegExp; what: string }[] =
  [
    {
      name: 'no driver',
      env: { MILLRACE_LIBCUDA: '/nowhere/libcuda.so.1' },
      reason: /MILLRACE_LIBCUDA names a library that cannot be loaded.*\/nowhere\/libcuda\.so\.1/,
      what: 'driver',
    },
    {
      name: 'no GPU',
      env: { FAKE_CUDA: 'init=100' },
      reason: /the NVIDIA driver is installed but finds no usable GPU/,
      what: 'driver',
    },
    {
      name: 'a driver that was updated while loaded',
      env: { FAKE_CUDA: 'init=803' },
      reason: /cuInit failed.*803.*reload the nvidia modules/,
      what: 'driver',
    },
    {
      name: 'no NVRTC',
      env: { MILLRACE_LIBNVRTC: '/nowhere/libnvrtc.so' },
      reason: /MILLRACE_LIBNVRTC names a library that cannot be loaded/,
      what: 'NVRTC',
    },
    {
      name: 'a library that is not the driver',
      env: { MILLRACE_LIBCUDA: fake.environment?.MILLRACE_LIBNVML ?? '' },
      reason: /is too old, a driver with CUDA 11\.7 or newer is required/,
      what: 'driver',
    },
  ];

// Each case starts a process. A short run tests only a missing driver and a missing NVRTC.
test.for(byTier([cases[0]!, cases[3]!], cases))('$name', async ({ env, reason, what }, { skip }) => {
  if (missing !== undefined) return skip(missing);
  const { probed, findings, opened } = await ask(env);
  expect(probed).toMatchObject({ reason: expect.stringMatching(reason) });
  expect(findings).toContainEqual(expect.objectContaining({ what, state: 'missing' }));
  expect(opened).toMatch(/device cuda is not on this machine/);
  expect(opened).toMatch(reason);
});

test('no NVML: the device works without sensors', async ({ skip }) => {
  if (missing !== undefined) return skip(missing);
  const { probed, findings, opened } = await ask({ MILLRACE_LIBNVML: '/nowhere/libnvidia-ml.so.1' });
  expect(probed).toMatchObject({ infos: [{ id: 'cuda:0' }] });
  expect(findings).toContainEqual(expect.objectContaining({ what: 'NVML', state: 'warning' }));
  expect(opened).toBeUndefined();
});
