import type { GridShape } from '../../../kernel/abi/grid.js';
import type { GpuOptions } from '../../../kernel/abi/lower-gpu.js';
import type { FieldValues, Kernel, LoweredGpuKernel } from '../../../kernel/index.js';
import type { Device, DeviceProgram } from '../../device.js';
import { type LaunchParameters, type LoadedCode, SourceJob, SourceProgram, sourceOf } from '../../program.js';

/** The code that the driver has loaded for a kernel, identified by its numbers there. */
export class GpuCode implements LoadedCode {
  readonly number: number;
  readonly #unload: (number: number) => void;
  #numbers: number[];
  #isClosed = false;

  /** `unload` may be called at any time: the driver keeps a program while launches and grids use it. */
  constructor(number: number, unload: (number: number) => void) {
    this.number = number;
    this.#numbers = [number];
    this.#unload = unload;
  }

  /** Adds another form of the same kernel, which is unloaded with it. */
  add(number: number): void {
    this.#numbers.push(number);
    if (this.#isClosed) this.close();
  }

  close(): void {
    this.#isClosed = true;
    const numbers = this.#numbers;
    this.#numbers = [];
    for (const number of numbers) this.#unload(number);
  }
}

/** A compiled kernel. */
export class GpuProgram extends SourceProgram {
  readonly code: GpuCode;
  readonly shape: GridShape;
  /** The kernel and options it was compiled from; a resident grid is compiled from the same. */
  readonly compileInput: CompileInput | undefined;
  readonly occupancy: number | undefined;
  readonly #parameters: (job: FieldValues) => LaunchParameters;

  constructor(
    device: Device,
    code: GpuCode,
    lowered: LoweredGpuKernel,
    compiled: DeviceProgram['compile'],
    origin?: CompileInput & { readonly occupancy: number | undefined },
  ) {
    const source = sourceOf(lowered);
    super(device, code, source, compiled);
    this.code = code;
    this.compileInput = origin;
    this.occupancy = origin?.occupancy;
    this.shape = lowered.shape;
    this.#parameters = source.parameters;
  }

  bind(job: FieldValues): GpuJob {
    return new GpuJob(this, this.#parameters(job));
  }
}

interface CompileInput {
  readonly kernel: Kernel;
  readonly options: GpuOptions;
}

export class GpuJob extends SourceJob<GpuProgram> {}
