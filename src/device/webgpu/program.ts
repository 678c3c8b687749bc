import { type GridShape, STATUS_WORDS } from '../../kernel/abi/grid.js';
import type { GpuSource } from '../gpu/worker/driver.js';
import { type BindGroup, type BindGroupLayout, type Buffer, type Device, type Pipeline, Usage } from './api.js';
import type { BuiltPipeline } from './build.js';
import type { Memory } from './memory/memory.js';
import type { Pace } from './submit/slice.js';

/** The most bind groups that one program keeps: launches use the same few buffers repeatedly. */
const MAX_BIND_GROUPS = 64;

/** A compiled kernel. */
export class WebGpuProgram {
  readonly number: number;
  readonly text: string;
  readonly shape: GridShape;
  readonly pipeline: Pipeline;
  readonly pace: Pace;
  readonly #device: Device;
  readonly #layout: BindGroupLayout;
  /** The content of the binding `tables`: not part of the text, so not shared with programs of the same text. */
  readonly #tables: Buffer | undefined;
  readonly #groups = new Map<string, BindGroup>();

  constructor(device: Device, { number, text, shape }: GpuSource, { pipeline, layout }: BuiltPipeline, pace: Pace) {
    this.number = number;
    this.text = text;
    this.shape = shape;
    this.pipeline = pipeline;
    this.#device = device;
    this.#layout = layout;
    this.pace = pace;
    if (shape.tables.length === 0) return;
    const size = 16 * Math.ceil(shape.tables.byteLength / 16);
    this.#tables = device.createBuffer({ size, usage: Usage.storage | Usage.copyTarget });
    device.queue.writeBuffer(this.#tables, 0, shape.tables);
  }

  /** Called when no dispatch of it is left. */
  unload(): void {
    this.#groups.clear();
    this.#tables?.destroy();
  }

  /**
   * Returns its bind group over these buffers. The offsets of block and status are given with each dispatch, in this
   * order.
   */
  bindGroup(bound: LaunchBindings): BindGroup {
    const key = bound.buffers.map(({ id }) => id).join(' ');
    const known = bound.ownLaunch ? undefined : this.#groups.get(key);
    if (known) return known;
    let at = 0;
    const entries = this.shape.bindings.map(({ kind }, binding) => {
      switch (kind) {
        case 'launch':
          return { binding, resource: { buffer: bound.launch, size: this.shape.launch.words * 4 } };
        case 'cancel':
          return { binding, resource: { buffer: bound.cancel } };
        case 'status':
          return { binding, resource: { buffer: bound.status, size: STATUS_WORDS * 4 } };
        case 'tables':
          return { binding, resource: { buffer: this.#tables as Buffer } };
        default:
          return { binding, resource: { buffer: (bound.buffers[at++] as Memory).buffer } };
      }
    });
    const group = this.#device.createBindGroup({ layout: this.#layout, entries });
    if (bound.ownLaunch) return group;
    for (const [oldest] of this.#groups) {
      if (this.#groups.size < MAX_BIND_GROUPS) break;
      this.#groups.delete(oldest);
    }
    this.#groups.set(key, group);
    return group;
  }
}

export interface LaunchBindings {
  readonly launch: Buffer;
  /** True if the block has a separate buffer, for this launch only. */
  readonly ownLaunch: boolean;
  readonly cancel: Buffer;
  readonly status: Buffer;
  readonly buffers: readonly Memory[];
}
