import { arrayView, elementBytes } from '../../engine/flow/arrays.js';
import { MillraceError } from '../../kernel/error.js';
import { decodeKernel, type FieldValues, type Kernel } from '../../kernel/index.js';
import { fieldValues } from '../../kernel/language/params.js';
import type { FieldRecord, TaskData } from './messages.js';

/** A kernel and what it runs with, checked. */
export interface Task {
  readonly kernel: Kernel;
  readonly job: FieldValues;
  readonly chunk: FieldValues;
  readonly buffers: readonly TaskBuffer[];
  readonly start: bigint;
  readonly length: bigint;
}

export interface TaskBuffer {
  readonly name: string;
  readonly type: string;
  readonly isWritten: boolean;
  readonly bytes: Uint8Array;
}

/** Checks a task that came from elsewhere: the kernel is decoded, and every value and buffer must fit it. */
export function readTask({ kernel: bytes, job, chunk, buffers, start, length }: TaskData): Task {
  const kernel = decodeKernel(bytes);
  const program = kernel.trace();
  fieldValues(kernel.name, 'job', program.job, job);
  const own = program.chunk.filter(({ name }) => !name.startsWith('.'));
  fieldValues(kernel.name, 'chunk', own, chunk);
  if (start < 0n || length < 1n || start + length > 1n << 64n)
    throw refuse(kernel, 'the indices are not between 0 and 2^64', 'export { kernel, space: 1000 }');
  return { kernel, job: fieldsOf(job), chunk: fieldsOf(chunk), buffers: buffersOf(kernel, buffers), start, length };
}

const fieldsOf = (fields: FieldRecord): FieldValues => fields as FieldValues;

function buffersOf(kernel: Kernel, given: TaskData['buffers']): TaskBuffer[] {
  const declared = kernel.signature.buffers ?? {};
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(declared, name))
      throw refuse(
        kernel,
        `there is no buffer called ${name}`,
        `its buffers are ${Object.keys(declared).join(', ') || 'none'}`,
      );
  }
  let total = 0;
  return Object.entries(declared).map(([name, { kind, type }]) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined)
      throw refuse(kernel, `buffer ${name} is not given`, `export { kernel, buffers: { ${name}: 1000 } }`);
    const size = elementBytes(type);
    const length = typeof value === 'number' ? value * size : value.byteLength;
    total += length;
    if (!Number.isSafeInteger(length) || length < 0 || total > MAX_BYTES)
      throw refuse(
        kernel,
        `buffer ${name} is too large`,
        `all buffers together have at most ${MAX_BYTES >> 20} MiB here`,
      );
    if (length % size !== 0)
      throw refuse(kernel, `${length} bytes are not a whole number of ${type}`, `a ${type} has ${size} bytes`);
    const bytes =
      typeof value === 'number'
        ? new Uint8Array(length)
        : new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
    return { name, type, isWritten: kind !== 'read', bytes };
  });
}

const MAX_BYTES = 256 << 20;

/** The first elements of an array. */
export function headOf({ type, bytes }: TaskBuffer, count: number): (number | bigint)[] {
  return [...(arrayView(type, bytes).subarray(0, count) as Iterable<number | bigint>)];
}

function refuse(kernel: Kernel, message: string, advice: string): MillraceError {
  return new MillraceError({ code: 'launch-arguments', message: `kernel ${kernel.name}: ${message}`, advice });
}
