import type { Values } from '../../kernel/index.js';
import type { Device, DeviceProgram } from '../device.js';
import { type LoadedCode, type ProgramSource, SourceJob, SourceProgram } from '../program.js';
import { Uses, type UsesOwner } from './uses.js';

/** The code of a kernel where workers find it. Unloaded once it is closed and no launch in flight names it. */
export class PoolCode extends Uses implements LoadedCode {
  /** From 1; how workers and traps name it. */
  readonly number: number;
  /** What a worker finds the code by. */
  readonly entry: number;

  constructor(number: number, entry: number, owner: UsesOwner) {
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

  bind(job: Values): PoolJob {
    return new PoolJob(this, this.source.parameters(job));
  }
}

export class PoolJob extends SourceJob<PoolProgram> {}
