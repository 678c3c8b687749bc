import type { GridShape } from '../../kernel/grid.js';
import type { Kernel, LoweredGpu, Values } from '../../kernel/index.js';
import type { GpuOptions } from '../../kernel/lower-gpu.js';
import type { BoundJob, Device, DeviceProgram } from '../device.js';
import { type LaunchParameters, SourceProgram, sourceOf } from '../program.js';

/** A compiled kernel. */
export class GpuProgram extends SourceProgram {
  readonly shape: GridShape;
  /** What it was made from: a resident grid is made from the same. */
  readonly origin: Origin | undefined;
  readonly occupancy: number | undefined;
  readonly #parameters: (job: Values) => LaunchParameters;

  constructor(
    device: Device,
    number: number,
    lowered: LoweredGpu,
    compiled: DeviceProgram['compile'],
    origin?: Origin & { readonly occupancy: number | undefined },
  ) {
    const source = sourceOf(lowered);
    super(device, number, source, compiled);
    this.origin = origin;
    this.occupancy = origin?.occupancy;
    this.shape = lowered.shape;
    this.#parameters = source.parameters;
  }

  bind(job: Values): GpuJob {
    return new GpuJob(this, this.#parameters(job));
  }
}

interface Origin {
  readonly kernel: Kernel;
  readonly options: GpuOptions;
}

export class GpuJob implements BoundJob {
  readonly program: GpuProgram;
  readonly parameters: LaunchParameters;

  constructor(program: GpuProgram, parameters: LaunchParameters) {
    this.program = program;
    this.parameters = parameters;
  }
}
