import { expect, test } from 'vitest';
import { CL } from './api.js';
import { acceptsPtx, type ClDevice, capabilitiesOf, describeDevice } from './info.js';

const NEAREST = CL.FP_INF_NAN | CL.FP_ROUND_TO_NEAREST;
const EXACT = NEAREST | CL.FP_DENORM;

const device = (given: Partial<ClDevice>): ClDevice => ({
  number: 0,
  handle: 0,
  platform: { name: 'a platform', version: 'OpenCL 3.0' },
  name: 'a device',
  vendor: 'its maker',
  isCpu: false,
  version: 'OpenCL 3.0',
  driver: '1',
  profile: 'FULL_PROFILE',
  extensions: new Set(),
  units: 1,
  clockMHz: 0,
  memoryBytes: 2 ** 30,
  bufferBytes: 2 ** 28,
  nearBytes: 2 ** 15,
  hasNear: true,
  workgroup: 256,
  single: NEAREST,
  double: 0,
  subgroups: false,
  architecture: undefined,
  ...given,
});

const pocl = {
  isCpu: true,
  platform: { name: 'Portable Computing Language', version: 'OpenCL 3.0 PoCL 3.1+debian' },
  double: EXACT | CL.FP_FMA,
};
const all = ['u64', 'f64', 'f32', 'f32-divide', 'exact-floats', 'atomics'];

test.each<[string, Partial<ClDevice>, string[]]>([
  ['flushes denormals', {}, ['u64', 'atomics']],
  ['rounds division inexactly', { single: EXACT }, ['u64', 'f32', 'atomics']],
  [
    'rounds division correctly',
    { single: EXACT | CL.FP_CORRECTLY_ROUNDED_DIVIDE_SQRT },
    ['u64', 'f32', 'f32-divide', 'exact-floats', 'atomics'],
  ],
  ['has no fused multiply-add for doubles', { double: EXACT }, ['u64', 'atomics']],
  [
    'has atomics of u64',
    { extensions: new Set(['cl_khr_int64_base_atomics', 'cl_khr_int64_extended_atomics']) },
    ['u64', 'atomics', 'u64-atomics'],
  ],
  ['has half of the atomics of u64', { extensions: new Set(['cl_khr_int64_base_atomics']) }, ['u64', 'atomics']],
  ['has no long integers', { profile: 'EMBEDDED_PROFILE' }, ['atomics']],
  ['is PoCL for AArch64', { ...pocl, version: 'OpenCL 3.0 PoCL HSTR: pthread-aarch64-unknown-linux-gnu-(null)' }, all],
  // 32-bit ARM vectors flush denormals, as PoCL reports.
  [
    'is PoCL for ARMv7',
    { ...pocl, version: 'OpenCL 3.0 PoCL HSTR: pthread-arm-unknown-linux-gnueabihf-cortex-a7' },
    ['u64', 'f64', 'atomics'],
  ],
])('the capabilities of a device that %s', (_, given, capabilities) => {
  expect(capabilitiesOf(device(given))).toEqual(capabilities);
});

test.each<[boolean, Partial<ClDevice>]>([
  [true, { platform: { name: 'NVIDIA CUDA', version: 'OpenCL 3.0 CUDA 13.0' }, vendor: 'NVIDIA Corporation' }],
  [false, { platform: pocl.platform, vendor: 'NVIDIA Corporation' }],
  [false, {}],
])('inline PTX is accepted: %j', (isAccepted, given) => {
  expect(acceptsPtx(describeDevice(device(given)))).toBe(isAccepted);
});
