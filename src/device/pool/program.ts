import type { FieldValues } from '../../kernel/index.js';
import type { Device, DeviceProgram } from '../device.js';
import { type LoadedCode, type ProgramSource, SourceJob, SourceProgram } from '../program.js';
import { RefCount, type RefCountOwner } from './ref-count.js';

/** The code of a kernel as workers find it. Unloaded once it is closed and no launch in flight refers to it. */
export class PoolCode extends RefCount implements LoadedCode {
  /** The number by which workers and traps refer to the code, from 1. */
  readonly number: number;
  /** The value by which a worker finds the code. */
  readonly entry: number;

  constructor(number: number, entry: number, owner: RefCountOwner) {
    super(owner);
    this.number = number;
    this.entry = entry;
  }
}

/** A compiled kernel. */
export class PoolProgram extends SourceProgram {
  readonly code: PoolCode;
  readonly source: ProgramSource;

  constructor(device: Device, code: PoolCode, source: ProgramSource, compiled: DeviceProgram['compile']) {
    super(device, code, source, compiled);
    this.code = code;
    this.source = source;
  }

  bind(job: FieldValues): PoolJob {
    return new PoolJob(this, this.source.parameters(job));
  }
}

export class PoolJob extends SourceJob<PoolProgram> {}
