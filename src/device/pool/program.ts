import type { Values } from '../../kernel/index.js';
import type { BoundJob, Device, DeviceProgram } from '../device.js';
import { type LaunchParameters, type ProgramSource, SourceProgram } from '../program.js';

/** A compiled kernel. */
export class PoolProgram extends SourceProgram {
  /** What a worker finds the code by. */
  readonly entry: number;
  readonly source: ProgramSource;

  constructor(
    device: Device,
    number: number,
    entry: number,
    source: ProgramSource,
    compiled: DeviceProgram['compile'],
  ) {
    super(device, number, source, compiled);
    this.entry = entry;
    this.source = source;
  }

  bind(job: Values): PoolJob {
    return new PoolJob(this, this.source.parameters(job));
  }
}

export class PoolJob implements BoundJob {
  readonly program: PoolProgram;
  readonly parameters: LaunchParameters;

  constructor(program: PoolProgram, parameters: LaunchParameters) {
    this.program = program;
    this.parameters = parameters;
  }
}
