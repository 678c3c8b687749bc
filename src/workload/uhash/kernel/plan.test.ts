import { describe, expect, test } from 'vitest';
import type { DeviceInfo } from '../../../device/device.js';
import { uhashTunable } from '../job/tune.js';
import { PAD_BYTES } from './pads.js';
import { blocksPerLaunch, perPadOf, planFor, roundsPerLaunch } from './plan.js';

const GIB = 2 ** 30;
const gpu = (kind: DeviceInfo['kind'], limits: DeviceInfo['limits'], units = 132): DeviceInfo => ({
  id: `${kind}:0`,
  kind,
  processor: 'gpu',
  name: 'a GPU',
  memoryBytes: 139 * GIB,
  units,
  capabilities: [],
  limits,
  versions: {},
  details: {},
});

const infos: readonly DeviceInfo[] = [
  gpu('cuda', { bufferBytes: 139 * GIB, lanes: 1024, nearBytes: 227 * 1024 }),
  gpu('cuda', { bufferBytes: 8 * GIB, lanes: 1024, nearBytes: 99 * 1024 }, 28),
  gpu('opencl', { bufferBytes: 35 * GIB, lanes: 1024, nearBytes: 48 * 1024 }),
  gpu('webgpu', { bufferBytes: 2 * GIB, lanes: 1024, nearBytes: 32 * 1024, buffers: 14 }, 1),
  gpu('webgpu', { bufferBytes: 2 ** 27, lanes: 256, nearBytes: 16 * 1024, buffers: 6 }, 1),
];

describe.each(infos)('on $id with $limits.nearBytes bytes of workgroup memory', (info) => {
  const plan = planFor(info);

  test('tables fit', () => {
    expect(plan.tables * plan.copies * 1024).toBeLessThanOrEqual(info.limits.nearBytes ?? 0);
    expect(plan.lanes ?? 0).toBeLessThanOrEqual(info.limits.lanes);
  });

  test('no candidate of a tuning is the plan itself', () => {
    for (const { changes } of uhashTunable.axes(info)) {
      for (const change of changes.filter(({ batch }) => batch === undefined))
        expect(planFor(info, change), JSON.stringify(change)).not.toEqual(plan);
    }
  });

  test('a batch fits the buffers that can be bound, its state included', () => {
    expect(perPadOf(plan) * PAD_BYTES).toBeLessThanOrEqual(info.limits.bufferBytes);
    expect(plan.pads + 1).toBeLessThanOrEqual(info.limits.buffers ?? 2);
    expect(plan.batch % 3).toBe(0);
  });

  test('launches have whole blocks, and rounds in multiples of three', () => {
    expect(roundsPerLaunch(plan) % 3).toBe(0);
    expect(Number.isInteger(blocksPerLaunch(plan))).toBe(true);
  });
});

test('a smaller batch needs fewer buffers', () => {
  const info = infos[3]!;
  expect(planFor(info)).toMatchObject({ batch: 12_894, pads: 13 });
  // Tiles of 128 scratchpads are not cut by a buffer's end.
  expect(perPadOf(planFor(info)) % 128).toBe(0);
  expect(planFor(info, { batch: 1000 }).pads).toBe(1);
});
