// Dawn on SwiftShader, in a process of its own: just enough to build and run the generated text.

import { create, globals } from 'webgpu';
import { serve } from './service.mjs';

Object.assign(globalThis, globals);
const gpu = create([]);
Object.assign(globalThis, { gpu }); // Dawn goes away with it
const adapter = await gpu.requestAdapter();
if (!adapter) throw new Error('there is no WebGPU adapter');
/** @type {Record<string, number>} */
const requiredLimits = {};
for (const name of [
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupStorageSize',
  'maxStorageBuffersPerShaderStage',
  'maxStorageBufferBindingSize',
  'maxBufferSize',
])
  requiredLimits[name] = /** @type {never} */ (adapter.limits)[name];
const device = await adapter.requestDevice({ requiredLimits });
const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;

/** @type {Map<number, GPUBuffer>} */
const buffers = new Map();
/** @type {Map<number, { pipeline: GPUComputePipeline, layout: GPUBindGroupLayout }>} */
const programs = new Map();
let next = 1;

/** How each kind of binding is declared. @type {Readonly<Record<string, GPUBufferBindingType>>} */
const types = {
  cancel: 'uniform',
  status: 'storage',
  tables: 'read-only-storage',
  read: 'read-only-storage',
  rw: 'storage',
  atomic: 'storage',
};

/** Runs `work` and throws what the device has to say about it. @template T @param {() => T} work */
async function watched(work) {
  device.pushErrorScope('validation');
  const result = await work();
  const error = await device.popErrorScope();
  if (error) throw new Error(error.message);
  return result;
}

/** @param {number} id */
const bufferOf = (id) => /** @type {GPUBuffer} */ (buffers.get(id));

serve({
  info: () => `${adapter.info.architecture} (${adapter.info.description})`,
  async build({ text, entry, kinds, byValue }) {
    const module = device.createShaderModule({ code: text });
    const { messages } = await module.getCompilationInfo();
    const errors = messages.filter(({ type }) => type === 'error');
    if (errors.length > 0) throw new Error(errors.map((one) => `${one.lineNum}: ${one.message}`).join('\n'));
    return watched(async () => {
      const layout = device.createBindGroupLayout({
        entries: kinds.map((kind, binding) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: {
            type: kind === 'launch' ? (byValue ? 'uniform' : 'read-only-storage') : (types[kind] ?? 'storage'),
          },
        })),
      });
      const pipeline = await device.createComputePipelineAsync({
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint: entry },
      });
      programs.set(next, { pipeline, layout });
      return next++;
    });
  },
  alloc(bytes) {
    buffers.set(next, device.createBuffer({ size: Math.max(64, 16 * Math.ceil(bytes / 16)), usage }));
    return next++;
  },
  free(id) {
    bufferOf(id).destroy();
    buffers.delete(id);
  },
  write(id, offset, data) {
    const whole = data.length & ~3;
    if (whole > 0) device.queue.writeBuffer(bufferOf(id), offset, data, 0, whole);
    if (whole < data.length) {
      const rest = new Uint8Array(4);
      rest.set(data.subarray(whole));
      device.queue.writeBuffer(bufferOf(id), offset + whole, rest);
    }
  },
  async read(id, offset, bytes) {
    if (bytes === 0) return new Uint8Array(0);
    const size = 4 * Math.ceil(bytes / 4);
    const staging = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(bufferOf(id), offset, staging, 0, size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const data = new Uint8Array(staging.getMappedRange()).slice(0, bytes);
    staging.destroy();
    return data;
  },
  copy(from, fromOffset, to, toOffset, bytes) {
    const encoder = device.createCommandEncoder();
    encoder.copyBufferToBuffer(bufferOf(from), fromOffset, bufferOf(to), toOffset, bytes);
    device.queue.submit([encoder.finish()]);
  },
  run(id, groups, bindings) {
    const { pipeline, layout } = /** @type {{ pipeline: GPUComputePipeline, layout: GPUBindGroupLayout }} */ (
      programs.get(id)
    );
    return watched(() => {
      const group = device.createBindGroup({
        layout,
        entries: bindings.map((buffer, binding) => ({ binding, resource: { buffer: bufferOf(buffer ?? 0) } })),
      });
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      // Small numbers are folded too, so that the folding is tested.
      if (groups > 1) pass.dispatchWorkgroups(Math.ceil(groups / 2), 2);
      else pass.dispatchWorkgroups(1);
      pass.end();
      device.queue.submit([encoder.finish()]);
    });
  },
});
