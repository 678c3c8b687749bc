import {
  type BindGroup,
  type BindGroupLayout,
  type Buffer,
  type Device,
  type Encoder,
  type Pipeline,
  VISIBLE_IN_COMPUTE,
} from '../api.js';

/** Sets words [first, first + count) of a buffer to `value` where `mask` has ones. */
export interface WordsJob {
  readonly first: number;
  readonly count: number;
  readonly value: number;
  readonly mask: number;
}

const WORDS_BLOCK = 4;
export const wordsBlock = ({ first, count, value, mask }: WordsJob): Uint32Array =>
  Uint32Array.of(first, count, value, mask);

const THREADS = 64;
const MAX_GROUPS = 4096;
const text = `
struct Job { first: u32, count: u32, value: u32, mask: u32 }
@group(0) @binding(0) var<uniform> job: Job;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(${THREADS}) fn put(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) grid: vec3<u32>) {
  for (var i = id.x; i < job.count; i += grid.x * ${THREADS}u) {
    let at = job.first + i;
    words[at] = (words[at] & ~job.mask) | (job.value & job.mask);
  }
}
`;

/**
 * Operations that WebGPU has no command for: filling with a word that is not 0, and writing a part of a word (its
 * transfers move whole ones) without changing the rest.
 */
export class WordWriter {
  readonly #device: Device;
  readonly #pipeline: Pipeline;
  readonly #layout: BindGroupLayout;
  readonly #groups = new WeakMap<Buffer, BindGroup>();

  private constructor(device: Device, pipeline: Pipeline, layout: BindGroupLayout) {
    this.#device = device;
    this.#pipeline = pipeline;
    this.#layout = layout;
  }

  static async make(device: Device): Promise<WordWriter> {
    const visibility = VISIBLE_IN_COMPUTE;
    const layout = device.createBindGroupLayout({
      entries: [
        { binding: 0, visibility, buffer: { type: 'uniform', hasDynamicOffset: true } },
        { binding: 1, visibility, buffer: { type: 'storage' } },
      ],
    });
    const pipeline = await device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
      compute: { module: device.createShaderModule({ code: text }), entryPoint: 'put' },
    });
    return new WordWriter(device, pipeline, layout);
  }

  /** `blocks` holds the job at `offset`. */
  record(encoder: Encoder, to: Buffer, count: number, blocks: Buffer, offset: number): void {
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, this.#group(to, blocks), [offset]);
    pass.dispatchWorkgroups(Math.min(MAX_GROUPS, Math.ceil(count / THREADS)));
    pass.end();
  }

  #group(to: Buffer, blocks: Buffer): BindGroup {
    const known = this.#groups.get(to);
    if (known) return known;
    const group = this.#device.createBindGroup({
      layout: this.#layout,
      entries: [
        { binding: 0, resource: { buffer: blocks, size: WORDS_BLOCK * 4 } },
        { binding: 1, resource: { buffer: to } },
      ],
    });
    this.#groups.set(to, group);
    return group;
  }
}
