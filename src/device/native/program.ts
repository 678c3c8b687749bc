import type { BufferDecl, Field, Origin, Values } from '../../kernel/index.js';
import type { BoundJob, DeviceProgram, RingLayout } from '../device.js';
import type { Compiled, Source } from './compile.js';
import type { NativeDevice } from './device.js';

/** A kernel as text, with what a launch of it has to know. */
export interface NativeSource extends Source {
  readonly job: readonly Field[];
  readonly chunk: readonly Field[];
  readonly hit: readonly Field[];
  readonly bindings: readonly BufferDecl[];
  readonly params: { readonly jobWords: number; readonly chunkWords: number };
  readonly statements: number;
  readonly ring: RingLayout;
  /** Where each access that a checked build guards was written. */
  readonly sites: readonly Origin[];
  /** Evaluates a job's values. */
  parameters(job: Values): LaunchParameters;
}

/** The parameter words of launches of one job. */
export interface LaunchParameters {
  words(base: bigint, ringCapacity: number, chunk: Values): Uint32Array;
}

/** A compiled kernel: machine code in this process. */
export class NativeProgram implements DeviceProgram {
  readonly device: NativeDevice;
  /** From 1; how workers and traps name it. */
  readonly number: number;
  /** Address of `millrace_run`. */
  readonly entry: number;
  readonly name: string;
  readonly text: string;
  readonly job: readonly Field[];
  readonly chunk: readonly Field[];
  readonly hit: readonly Field[];
  readonly bindings: readonly BufferDecl[];
  readonly params: { readonly jobWords: number; readonly chunkWords: number };
  readonly lanes: number;
  readonly statements: number;
  readonly ring: RingLayout;
  readonly compile: { readonly milliseconds: number; readonly cached: boolean };
  readonly #source: NativeSource;

  constructor(device: NativeDevice, number: number, entry: number, source: NativeSource, compiled: Compiled) {
    this.device = device;
    this.number = number;
    this.entry = entry;
    this.name = source.name;
    this.text = source.text;
    this.job = source.job;
    this.chunk = source.chunk;
    this.hit = source.hit;
    this.bindings = source.bindings;
    this.params = source.params;
    this.lanes = source.lanes;
    this.statements = source.statements;
    this.ring = source.ring;
    this.compile = { milliseconds: compiled.milliseconds, cached: compiled.cached };
    this.#source = source;
  }

  bind(job: Values): NativeJob {
    return new NativeJob(this, this.#source.parameters(job));
  }
}

export class NativeJob implements BoundJob {
  readonly program: NativeProgram;
  readonly parameters: LaunchParameters;

  constructor(program: NativeProgram, parameters: LaunchParameters) {
    this.program = program;
    this.parameters = parameters;
  }
}
