import { implicitChunkFields } from '../../kernel/abi/harness.js';
import {
  type Field,
  type FieldValues,
  fieldValues,
  type KernelLimits,
  type Program,
  ringLayout,
  wordsOf,
} from '../../kernel/index.js';
import { type Block, innerBlocks } from '../../kernel/ir/program.js';
import { renderIr } from '../../kernel/render/ir.js';
import type { BoundJob, Device, DeviceProgram, RingLayout } from '../device.js';

/** A traced kernel, which the interpreter runs directly. */
export class InterpreterProgram implements DeviceProgram {
  readonly device: Device;
  readonly program: Program;
  readonly name: string;
  readonly job: readonly Field[];
  readonly chunk: readonly Field[];
  readonly hit: readonly Field[];
  readonly bindings: Program['buffers'];
  readonly params: { readonly jobWords: number; readonly chunkWords: number };
  readonly lanes = 1;
  readonly statements: number;
  #text: string | undefined;
  readonly ring: RingLayout;
  readonly compile: { readonly milliseconds: number; readonly cached: boolean };
  /** The limits of a kernel that came as bytes. */
  readonly limits: KernelLimits | undefined;

  constructor(device: Device, program: Program, milliseconds: number, limits: KernelLimits | undefined) {
    this.limits = limits;
    this.device = device;
    this.program = program;
    this.name = program.name;
    this.job = program.job;
    this.chunk = program.chunk.slice(implicitChunkFields.length);
    this.hit = program.hit;
    this.bindings = program.buffers;
    this.params = { jobWords: wordCount(program.job), chunkWords: wordCount(program.chunk) };
    this.statements = statementCount(program.body);
    this.ring = ringLayout(program);
    this.compile = { milliseconds, cached: false };
  }

  /** Printed on demand: the interpreter itself does not need it. */
  get text(): string {
    this.#text ??= renderIr(this.program);
    return this.#text;
  }

  isClosed = false;

  close(): void {
    this.isClosed = true;
  }

  bind(job: FieldValues): InterpreterJob {
    fieldValues(this.name, 'job', this.job, job);
    return new InterpreterJob(this, job);
  }
}

export class InterpreterJob implements BoundJob {
  readonly program: InterpreterProgram;
  readonly values: FieldValues;

  constructor(program: InterpreterProgram, values: FieldValues) {
    this.program = program;
    this.values = values;
  }
}

const wordCount = (fields: readonly Field[]): number =>
  fields.reduce((sum, field) => sum + field.length * wordsOf(field.type), 0);

/** Counts statements, including those in inner blocks. */
const statementCount = (block: Block): number =>
  block.reduce(
    (sum, statement) => sum + 1 + innerBlocks(statement).reduce((inner, each) => inner + statementCount(each), 0),
    0,
  );
