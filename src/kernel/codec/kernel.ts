import { MillraceError } from '../error.js';
import { defaultKernelLimits, type KernelLimits } from '../ir/limits.js';
import type { Field, Program } from '../ir/program.js';
import type { CallEvent, RecordedFunction } from '../ir/recording.js';
import { Expr } from '../language/expr.js';
import { lowerings } from '../language/lowered/lowerings.js';
import { type Buffers, declareKernel, type Fields, type Kernel } from '../language/signature.js';
import { encodedName, type StdCall } from '../language/std-function.js';
import { Trace, withTrace } from '../language/trace.js';
import { bytesOf, type Scalar } from '../language/types.js';
import { findStdFunction } from '../std/registry.js';
import { malformed } from './bytes.js';
import { type DecodedRecording, decodeRecording } from './decode.js';
import { overLimit } from './decode-context.js';
import { encodeFunction, encodeRecording } from './encode.js';
import { replay } from './replay.js';

/** Kernels as bytes: see docs/kernels-as-data.md. */

export interface EncodeKernelOptions {
  /** Includes the lines of the source file, for error messages (default). */
  readonly origins?: boolean;
}

/**
 * Encodes a kernel as data: what its body wrote for these spec values, with std functions by name and by body. The same
 * kernel has the same bytes, except for source lines.
 */
export function encodeKernel(kernel: Kernel, { origins = true }: EncodeKernelOptions = {}): Uint8Array {
  const recording = kernel.record();
  return encodeRecording({ ...recording, hasOrigins: origins && recording.hasOrigins });
}

export interface DecodeKernelOptions {
  readonly limits?: Partial<KernelLimits>;
  /** Std functions of your own whose native bodies may be used. Those of Millrace are known. */
  readonly functions?: readonly StdCall[];
}

/**
 * Decodes a kernel. The bytes may come from anywhere: they are refused with an error if they are not a valid kernel within
 * the limits. Every device compiles the result `checked`.
 */
export function decodeKernel(bytes: Uint8Array, { limits, functions = [] }: DecodeKernelOptions = {}): Kernel {
  const within = { ...defaultKernelLimits, ...limits };
  const recording = decodeRecording(bytes, within);
  if (!isEqual(encodeRecording(recording), bytes)) throw malformed('it is not in its shortest form');
  const { name, kind, job, chunk, hit, buffers, lanes } = recording;
  const signature = {
    job: fieldsOf(job),
    chunk: fieldsOf(chunk),
    buffers: Object.fromEntries(buffers.map(({ name: buffer, ...spec }) => [buffer, spec])) as Buffers,
    hit: fieldsOf(hit),
    ...(lanes === undefined ? {} : { lanes }),
  };
  const declared = declareKernel(kind, name, signature);
  const known = knownFunctions(recording, functions);
  const traceBody = (number: number, natives: ReadonlySet<string>): Program => {
    const events = recording.bodies[number]?.events ?? [];
    return declared.trace(natives, (trace) => replay(trace, events, { kind, buffers: declared.buffers, known }));
  };
  for (const number of recording.bodies.keys())
    checkMemory(
      checkedTrace(name, () => traceBody(number, new Set())),
      within,
    );
  return {
    name,
    kind,
    signature,
    trace: ({ natives = new Set<string>() } = {}) => traceBody(bodyFor(recording, natives), natives),
    record: () => recording,
    untrusted: within,
  };
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);

const fieldsOf = (fields: readonly Field[]): Fields =>
  Object.fromEntries(fields.map(({ name, type, length, array }) => [name, array ? ([type, length] as const) : type]));

/** Returns the number of the body for a target. */
function bodyFor({ name, bodies }: DecodedRecording, natives: ReadonlySet<string>): number {
  const number = bodies.findIndex((body) => [...body.natives].every(([key, has]) => natives.has(key) === has));
  if (number >= 0) return number;
  throw invalid(`kernel ${name} has no body for this target`);
}

/** Runs the language's checks. Their errors are about the kernel as it came. */
function checkedTrace(name: string, trace: () => Program): Program {
  try {
    return trace();
  } catch (cause) {
    if (!(cause instanceof MillraceError)) throw cause;
    throw invalid(cause.summary.startsWith('kernel ') ? cause.summary : `kernel ${name}: ${cause.summary}`, cause);
  }
}

const invalid = (message: string, cause?: MillraceError): MillraceError =>
  new MillraceError({
    code: 'kernel-invalid',
    message,
    asked: cause?.asked ?? 'decodeKernel()',
    advice: 'the bytes are not a valid kernel: encode it again from its source',
    ...(cause === undefined ? {} : { cause }),
  });

function checkMemory({ near, tables }: Program, limits: KernelLimits): void {
  const nearBytes = near.reduce((sum, { type, length = 0 }) => sum + length * bytesOf[type], 0);
  if (nearBytes > limits.nearBytes) throw overLimit('bytes of near arrays', nearBytes, limits.nearBytes);
  if (tables.length > limits.tables) throw overLimit('tables', tables.length, limits.tables);
  const tableBytes = tables.reduce((sum, { type, values }) => sum + values.length * bytesOf[type], 0);
  if (tableBytes > limits.tableBytes) throw overLimit('bytes of tables', tableBytes, limits.tableBytes);
}

/** Values that are recorded to compare functions, in all: some seconds of work. The functions of one kernel have few. */
const MAX_RECORDED_VALUES = 2_000_000;

/**
 * Finds the functions that this version has under the same name and with the same body. Only their native bodies may be used:
 * a kernel from another program then computes the same on every device.
 */
function knownFunctions(
  { functions, sizes, buffers }: DecodedRecording,
  own: readonly StdCall[],
): ReadonlyMap<RecordedFunction, StdCall> {
  const known = new Map<RecordedFunction, StdCall>();
  let valuesLeft = MAX_RECORDED_VALUES;
  for (const callee of functions) {
    if (callee.isOwn) continue;
    const call = own.find(({ definition }) => encodedName(definition) === callee.name) ?? findStdFunction(callee.name);
    if (!call || Object.keys(call.definition.native ?? {}).length === 0) continue;
    const types = callee.params.map(({ type }) => type);
    // Constants, parameters and results have no statement.
    const values = Math.min(valuesLeft, 2 * ((sizes.get(callee) ?? 0) + types.length) + 1000);
    valuesLeft -= values;
    const body = recordFunction(call, types, values);
    if (body && isEqual(encodeFunction(body, buffers.length), encodeFunction(callee, buffers.length)))
      known.set(callee, call);
  }
  return known;
}

/**
 * Records this version's body of a std function for arguments of these types; undefined if the function does not take them,
 * or if its body has more values than `maxNodes`.
 */
function recordFunction(call: StdCall, types: readonly Scalar[], maxNodes: number): RecordedFunction | undefined {
  const trace = new Trace(call.definition.name, 'items', new Set(), { lowerings, isRecording: true, maxNodes });
  let events: readonly unknown[];
  try {
    events = withTrace(trace, () =>
      trace.block('kernel', () => void call(...types.map((type) => new Expr(type, trace.local(type))))),
    );
  } catch {
    return undefined; // a definition may throw anything for arguments that are not its own
  }
  return (events.at(-1) as CallEvent | undefined)?.callee;
}
