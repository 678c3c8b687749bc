import { implicitChunkFields } from '../kernel/abi/harness.js';
import {
  type BufferDecl,
  type Field,
  type FieldValues,
  JobParameters,
  type LoweredKernel,
  type Origin,
  ringLayout,
} from '../kernel/index.js';
import type { BoundJob, Device, DeviceProgram, RingLayout } from './device.js';

/** A kernel as generated text, with what its launches need. */
export interface ProgramSource {
  readonly name: string;
  readonly text: string;
  readonly lanes: number;
  /** The TypeScript that each generated line came from; index 0 is line 1. */
  readonly lineOrigins: readonly (Origin | undefined)[];
  readonly job: readonly Field[];
  readonly chunk: readonly Field[];
  readonly hit: readonly Field[];
  readonly bindings: readonly BufferDecl[];
  readonly params: { readonly jobWords: number; readonly chunkWords: number };
  readonly statements: number;
  readonly ring: RingLayout;
  /** The source location of each access that a checked build guards. */
  readonly sites: readonly Origin[];
  /** Bytes of constants that the code keeps in device memory. */
  readonly constantBytes?: number;
  /** Bytes of device memory that each worker needs for itself. */
  readonly threadBytes?: number;
  /** Evaluates a job's values. */
  parameters(job: FieldValues): LaunchParameters;
}

/** The parameter words of launches of one job. */
export interface LaunchParameters {
  /** `bytes` are the sizes of the launch's buffers, in their order. */
  words(base: bigint, ringCapacity: number, chunk: FieldValues, bytes: readonly number[]): Uint32Array;
}

export function sourceOf(lowered: LoweredKernel): ProgramSource {
  const { program } = lowered;
  return {
    ...lowered,
    name: program.name,
    job: program.job,
    chunk: program.chunk.slice(implicitChunkFields.length),
    hit: program.hit,
    bindings: program.buffers.slice(0, -1), // the ring is last, and is passed by name
    params: { jobWords: program.jobWords, chunkWords: program.chunkWords },
    ring: ringLayout(program),
    parameters: (job) => new JobParameters(program, job),
  };
}

/**
 * A program's code on its device. It is a separate object, without a reference to the program that callers hold: a
 * program that callers drop is garbage collected, and its code is then closed.
 */
export interface LoadedCode {
  /** Unloads the code after the queued launches have run. Called once. */
  close(): void;
}

const programRegistry = new FinalizationRegistry<LoadedCode>((code) => code.close());

/** The part of a compiled kernel that all devices with worker threads share. */
export abstract class SourceProgram implements DeviceProgram {
  readonly device: Device;
  readonly #code: LoadedCode;
  isClosed = false;
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

  constructor(device: Device, code: LoadedCode, source: ProgramSource, compiled: DeviceProgram['compile']) {
    this.device = device;
    this.#code = code;
    programRegistry.register(this, code, this);
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
  }

  abstract bind(job: FieldValues): BoundJob;

  close(): void {
    this.isClosed = true;
    programRegistry.unregister(this);
    this.#code.close();
  }
}

/** A job of a program, with the parameter words of its launches. */
export abstract class SourceJob<Program extends SourceProgram> implements BoundJob {
  readonly program: Program;
  readonly parameters: LaunchParameters;

  constructor(program: Program, parameters: LaunchParameters) {
    this.program = program;
    this.parameters = parameters;
  }
}
