import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Device } from '../../src/device/webgpu/api.js';
import { MAP_READ, Usage } from '../../src/device/webgpu/api.js';
import { Builder } from '../../src/device/webgpu/build.js';
import { deviceRequest } from '../../src/device/webgpu/info.js';
import { type FoundAdapter, listAdapters } from '../../src/device/webgpu/library.js';
import { WebGpuProgram } from '../../src/device/webgpu/program.js';
import { Pace } from '../../src/device/webgpu/submit/slice.js';
import {
  atomic,
  items,
  JobParameters,
  type Kernel,
  LaunchHeader,
  launchBlock,
  lowerGpu,
  STATUS_WORDS,
  tiles,
} from '../../src/kernel/index.js';

/** Runs the generated source in one dispatch of a slice. Near a launch's last items, numbers are close to overflow. */
const found = await listAdapters();
const missing = 'reason' in found ? found.reason : undefined;
const adapter = 'adapters' in found ? (found.adapters[0] as FoundAdapter) : undefined;
let device: Device | undefined;
beforeAll(async () => {
  device = await adapter?.adapter.requestDevice(deviceRequest(adapter.adapter));
});
afterAll(() => device?.destroy());

const countedItems = items('items', { buffers: { seen: atomic() } }, ({ item, buffers }) => {
  buffers.seen.add(item.and(1023), 1);
});
const countedTiles = tiles('tiles', { buffers: { seen: atomic() } }, ({ tile, once, buffers }) => {
  once(() => buffers.seen.add(tile.and(1023), 1));
});

test.for([
  { what: 'items', kernel: countedItems, first: 2 ** 32 - 512 },
  { what: 'tiles', kernel: countedTiles, first: 2 ** 32 - 300 },
  { what: 'items', kernel: countedItems, first: 64 * 12_345, last: 64 * 12_345 + 299 },
  { what: 'tiles', kernel: countedTiles, first: 7, last: 7 },
  { what: 'items beyond the count', kernel: countedItems, first: 640, last: 900, count: 640 },
  { what: 'items partly beyond the count', kernel: countedItems, first: 640, last: 900, count: 700 },
  { what: 'tiles partly beyond the count', kernel: countedTiles, first: 100, last: 200, count: 111 },
])('a slice of $what from $first on runs once with any grid', async (slice, { skip }) => {
  if (missing) return skip(missing);
  const { kernel, first, last = 2 ** 32 - 1, count } = slice;
  const wanted = new Uint32Array(1024);
  const end = Math.min(last, (count ?? 2 ** 32) - 1);
  for (let i = first; i <= end; i++) wanted[i % 1024]!++;
  // More workgroups than work, in two dimensions; and few, which stride.
  for (const grid of [[3, 150] as const, [1, 1] as const, [2, 2] as const])
    expect(await visits(kernel, { first, last, count }, grid)).toEqual(wanted);
});

async function visits(
  kernel: Kernel,
  { first, last, count }: { first: number; last: number; count: number | undefined },
  grid: readonly [number, number],
): Promise<Uint32Array> {
  const own = device as Device;
  const { text, shape, program } = lowerGpu(kernel, { target: 'wgsl', workgroup: 64 });
  const source = { number: 1, name: kernel.name, text, shape };
  const limits = (adapter as FoundAdapter).adapter.limits;
  const built = new WebGpuProgram(own, source, await new Builder(own, limits).build(source), new Pace(1));
  const parameters = new JobParameters(program, {}).words(0n, 0, {});
  const block = launchBlock(shape, { count: last + 1, epoch: 0, bytes: [4096], first }, parameters);
  block[LaunchHeader.isCounted] = count === undefined ? 0 : 1;
  block[LaunchHeader.count] = count ?? 0;
  const buffer = (size: number, usage: number) => own.createBuffer({ size, usage });
  const launch = buffer(block.byteLength, Usage.uniform | Usage.copyTarget);
  const seen = buffer(4096, Usage.storage | Usage.copySource);
  const staging = buffer(4096, Usage.mapRead | Usage.copyTarget);
  own.queue.writeBuffer(launch, 0, block);
  const group = built.bindGroup({
    launch,
    ownLaunch: true,
    cancel: buffer(16, Usage.uniform),
    status: buffer(STATUS_WORDS * 4, Usage.storage),
    buffers: [{ id: 0, buffer: seen }],
  });
  const encoder = own.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(built.pipeline);
  pass.setBindGroup(0, group, [0, 0]);
  pass.dispatchWorkgroups(...grid);
  pass.end();
  encoder.copyBufferToBuffer(seen, 0, staging, 0, 4096);
  own.queue.submit([encoder.finish()]);
  await staging.mapAsync(MAP_READ);
  const words = new Uint32Array(staging.getMappedRange()).slice();
  staging.unmap();
  return words;
}
