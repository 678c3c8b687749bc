import { describe, expect, test } from 'vitest';
import { byTier } from '../../../test/tier.js';
import { lowerGpu, MillraceError } from '../../kernel/index.js';
import type { Device, DeviceInfo } from '../device.js';
import { checkNeeds } from '../opencl/runtime/needs.js';
import { openDevice } from '../registry.js';
import { runCase } from './case.js';
import { build } from './fuzz/build.js';
import { generate } from './fuzz/generate.js';
import { paletteOf } from './fuzz/palette.js';
import { fuzzDevice } from './fuzz/run.js';
import { conformanceCases } from './index.js';
import { Random } from './model/random.js';
import { resultCheckFor } from './model/result-check.js';
import { type Operation, operations } from './values/operations.js';

const interpreter = await openDevice('interpreter');
/** The interpreter with other device info. */
const device = (
  capabilities: readonly string[],
  compile: Device['compile'] = (k) => interpreter.compile(k),
  kind: DeviceInfo['kind'] = 'interpreter',
): Device => ({
  info: { ...interpreter.info, kind, capabilities },
  compile,
  alloc: (bytes) => interpreter.alloc(bytes),
  stream: () => interpreter.stream(),
  host: (bytes) => interpreter.host(bytes),
  close: async () => {},
});

describe('a case', () => {
  const run = async () => {
    throw new Error('it ran');
  };
  test.each([
    [[], ['f64'], 'skipped', 'the device has no f64'],
    [['f64'], ['f64', 'exact-floats'], 'skipped', 'the device does not round floats exactly'],
    [['f64', 'exact-floats'], ['f64', 'exact-floats'], 'failed', 'it ran'],
    // Only OpenCL devices list it.
    [[], ['f32'], 'failed', 'it ran'],
  ] as const)('on a device with %j that needs %j is %s', async (capabilities, needs, status, reason) => {
    expect(await runCase({ name: 'x', needs, run }, device(capabilities))).toMatchObject({ status, reason });
  });
});

test.each([[['u64', 'f64', 'atomics']], [['u64', 'f32', 'atomics']]])(
  'an OpenCL device with %j gets no kernel that it rejects, and gets all integer cases',
  async (capabilities) => {
    const asked = device(
      capabilities,
      async (kernel) => {
        checkNeeds(lowerGpu(kernel, { target: 'opencl' }).program, asked.info);
        throw new Error('it would run');
      },
      'opencl',
    );
    const cases = conformanceCases.filter((_, at) => at % byTier(16, 1) === 0);
    const results = await Promise.all(cases.map((one) => runCase(one, asked)));
    expect(results.filter(({ reason }) => reason?.includes('has not'))).toEqual([]);
    const ran = results.filter(({ reason }) => reason === 'it would run').map(({ name }) => name);
    const named = (names: readonly string[]) => names.filter((name) => /^operations\/(u32|i32|u64|bool)\//.test(name));
    expect(named(ran)).toEqual(named(cases.map(({ name }) => name)));
    const floats = ran.filter((name) => name.startsWith('operations/f32/'));
    expect(floats.length > 0).toBe(capabilities.includes('f32'));
  },
);

describe('on a device with inexact floats', () => {
  const exact = resultCheckFor(interpreter);
  const loose = resultCheckFor(device([]));
  const named = (name: string) => operations.find((operation) => operation.name === name) as Operation;
  const up = (x: number, ulps: number) => {
    const view = new DataView(new ArrayBuffer(4));
    view.setFloat32(0, x);
    view.setUint32(0, view.getUint32(0) + ulps);
    return view.getFloat32(0);
  };
  const third = Math.fround(1 / 3);
  test.each<[string, number[], number, number, boolean]>([
    ['div.f32', [1, 3], third, up(third, 2), true],
    ['div.f32', [1, 3], third, up(third, 3), false],
    ['add.f32', [1, third], Math.fround(1 + third), up(Math.fround(1 + third), 1), true],
    ['add.f32', [1, third], Math.fround(1 + third), up(Math.fround(1 + third), 2), false],
    ['min.f32', [1, 2], 1, up(1, 1), false],
    ['sqrt.f32', [2], Math.fround(Math.SQRT2), up(Math.fround(Math.SQRT2), 4), true],
    ['sqrt.f32', [2], Math.fround(Math.SQRT2), up(Math.fround(Math.SQRT2), 5), false],
    // Cancels to almost nothing: the error is that of the product, not of the result.
    ['fma.f32', [1 + 2 ** -23, 1 + 2 ** -23, -(1 + 2 ** -22)], 2 ** -46, 0, true],
    ['fma.f32', [2, 3, 4], 10, 10.1, false],
    ['add.f32', [Number.NaN, 1], Number.NaN, 7, true],
    ['mul.f32', [2 ** -100, 2 ** -40], 2 ** -140, 0, true],
    ['neg.f32', [0], -0, 0, true],
    ['lt.f32', [1, 2], 1, 0, false],
  ])('%s(%j) = %d accepts %d: %s', (name, args, expected, got, good) => {
    expect(loose(named(name), args, expected, got)).toBe(good);
    expect(exact(named(name), args, expected, got)).toBe(false);
  });

  test('integers stay exact', () => {
    expect(loose(named('add.u32'), [1, 2], 3, 4)).toBe(false);
    expect(loose(named('bits.u32.f32'), [1.5], 0x3fc00000, 0x3fc00000)).toBe(true);
    expect(loose(named('bits.u32.f32'), [1.5], 0x3fc00000, 0x3fc00001)).toBe(false);
  });

  test('random kernels lower to WGSL and use only exact float operations', () => {
    const palette = paletteOf(device(['u64'], undefined, 'webgpu'));
    expect(palette.scalars).toEqual(['u32', 'i32', 'u64', 'f32', 'bool', 'i64', 'f16']);
    const onFloats = palette.operations.filter(({ on }) => on === 'f32').map(({ name }) => name);
    expect(onFloats).toEqual(expect.arrayContaining(['select.f32', 'min.f32', 'lt.f32', 'to.u32.f32']));
    expect(onFloats).not.toEqual(expect.arrayContaining(['add.f32']));
    let lowered = 0;
    const kernels = byTier(6, 40);
    for (let seed = 0; seed < kernels; seed++) {
      const kernel = build(generate(new Random(seed), seed % 2 === 0 ? 'items' : 'tiles', palette));
      try {
        lowered += lowerGpu(kernel, { target: 'wgsl', workgroup: 64 }).text.length > 0 ? 1 : 0;
      } catch (error) {
        if (!(error instanceof MillraceError) || error.code !== 'kernel-budget') throw error;
      }
    }
    expect(lowered).toBeGreaterThan(0.75 * kernels);
  });
});

test('a kernel that hangs is named and ends the run', async () => {
  const never = device(interpreter.info.capabilities, () => new Promise(() => {}));
  const names: string[] = [];
  const onStart = (name: string) => names.push(name);
  const { passed, failed, firstFailure } = await fuzzDevice(never, { seed: 6, count: 10, timeoutMs: 30, onStart });
  expect({ passed, failed }).toEqual({ passed: 0, failed: 2 }); // two were running
  expect(names).toEqual(['seed 6 (items)', 'seed 7 (tiles)']);
  expect(firstFailure).toBe('seed 6 (items): no result within 0.03 s; the run ends here');
});
