import { implicitChunkFields } from '../abi/harness.js';
import { MillraceError } from '../error.js';
import { checkProgram } from '../ir/check.js';
import type { KernelLimits } from '../ir/limits.js';
import { languageSets } from '../ir/ops.js';
import type { BufferDecl, Field, Node, Program } from '../ir/program.js';
import { type Recording, recordBodies, storedAs } from '../ir/recording.js';
import { unusedBools } from '../ir/unused.js';
import { rowAndColumn } from '../std/number/div-mod.js';
import { AtomicBuffer, type BufferOf, type BufferSpec, ReadBuffer, RwBuffer } from './buffers.js';
import { Expr, type ExprLike, operand } from './expr.js';
import { HalfBuffer, RwHalfBuffer } from './lowered/half-buffers.js';
import { lowerings } from './lowered/lowerings.js';
import { u64Of } from './operations.js';
import { callers } from './origin.js';
import { PackedBuffer, RwPackedBuffer } from './packed-buffers.js';
import { Trace, withTrace } from './trace.js';
import { isPacked, scalarOf, type Type } from './types.js';

/** Named values: a type, or `[type, n]` for n of them. */
export type Fields = Readonly<Record<string, Type | readonly [Type, number]>>;
export type Buffers = Readonly<Record<string, BufferSpec>>;

/** A tuple of N if N is a small literal, else an array. */
type TupleOf<T, N extends number, Had extends readonly T[] = []> = number extends N
  ? readonly T[]
  : Had['length'] extends N
    ? Had
    : Had['length'] extends 64
      ? readonly T[]
      : TupleOf<T, N, readonly [...Had, T]>;

/** Traced values of declared fields. */
export type TracedFields<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends readonly [infer T extends Type, infer N extends number]
    ? TupleOf<Expr<T>, N>
    : F[K] extends Type
      ? Expr<F[K]>
      : never;
};
/** The argument of `emit` for declared fields. */
export type HitValues<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends readonly [infer T extends Type, number]
    ? readonly ExprLike<T>[]
    : F[K] extends Type
      ? ExprLike<F[K]>
      : never;
};

export interface Signature<J extends Fields, C extends Fields, B extends Buffers, H extends Fields> {
  /** Values known when the job starts. Values that depend only on these are computed once, on the host. */
  readonly job?: J;
  /** Values known when a launch is made. */
  readonly chunk?: C;
  readonly buffers?: B;
  /** The fields of a hit. */
  readonly hit?: H;
  /**
   * The number of items that a CPU core should process at once, if the operations alone do not show it. Use 1 for a kernel
   * that mostly moves quads, which a gang would only take apart and put together again.
   */
  readonly lanes?: number;
}

/** Fields that are no lists. A function that is generic over a type knows the types of these alone. */
export type ScalarFields = Readonly<Record<string, Type>>;
export type TracedScalars<F extends ScalarFields> = { readonly [K in keyof F]: Expr<F[K]> };
export type ScalarHit<F extends ScalarFields> = { readonly [K in keyof F]: ExprLike<F[K]> };

/** The context that the body of every kernel receives. */
export interface KernelContext<Job, Chunk, B extends Buffers, Hit> {
  readonly job: Job;
  readonly chunk: Chunk;
  readonly buffers: { readonly [K in keyof B]: BufferOf<B[K]> };
  /** The index in the whole space: the launch's base plus the item. Its high word is the same for a whole launch. */
  readonly index: Expr<'u64'>;
  /**
   * Column and row of the index in rows of `width`: index = y·width + x, with y modulo 2^32. A width of 0 counts as 1. With
   * a width that is known before the launch this is a multiplication, not a division.
   */
  index2d(width: ExprLike<'u32'>): { readonly x: Expr<'u32'>; readonly y: Expr<'u32'> };
  /** Reports a hit. */
  emit(hit: Hit): void;
}

/** A kernel: a function that is called with symbolic values and produces a program. Its type states what it declares. */
export interface Kernel<
  J extends Fields = Fields,
  C extends Fields = Fields,
  B extends Buffers = Buffers,
  H extends Fields = Fields,
> {
  readonly name: string;
  readonly kind: Program['kind'];
  readonly signature: Signature<J, C, B, H>;
  /** Runs the body; the same options produce the same program. */
  trace(options?: TraceOptions): Program;
  /** Runs the body and returns what it wrote, with calls of std functions unexpanded. */
  record(): Recording;
  /**
   * Present if the kernel came as bytes (`decodeKernel`). Every device then compiles it `checked`, and it has passed these
   * limits.
   */
  readonly untrusted?: KernelLimits;
}

export interface TraceOptions {
  /** Keys of the native bodies that the target has. */
  readonly natives?: ReadonlySet<string>;
}

/** Defines a kernel of either kind. `body` gets the context and the number of the item or tile within the launch. */
export function defineKernel<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kind: Program['kind'],
  name: string,
  signature: Signature<J, C, B, H>,
  body: (
    context: KernelContext<TracedFields<J>, TracedFields<C>, B, HitValues<H>>,
    item: Expr<'u32'>,
    trace: Trace,
  ) => void,
): Kernel<J, C, B, H> {
  const { chunk, job, hit, buffers, ...declared } = declareKernel(kind, name, signature);
  const run = (trace: Trace): void => {
    const chunkValues = tracedFields(trace, 'chunk', chunk);
    const item = new Expr('u32', trace.leaf('item', 'u32', {}));
    const [baseLow, baseHigh] = chunkValues[implicitChunkFields[0].name] as [Expr<'u32'>, Expr<'u32'>];
    const context = {
      job: tracedFields(trace, 'job', job),
      chunk: chunkValues,
      buffers: Object.fromEntries(
        buffers.map((decl, i) => [decl.name, bufferView(decl, Object.values(signature.buffers ?? {})[i])]),
      ),
      index: u64Of(baseLow.add(item), baseHigh),
      index2d: (width: ExprLike<'u32'>) => rowAndColumn(baseLow.add(item), baseHigh, width),
      emit: (values: Record<string, unknown>) => emit(trace, hit, values),
    };
    callers.callKernelBody(() => body(context as unknown as Parameters<typeof body>[0], item, trace));
  };
  return {
    name,
    kind,
    signature,
    trace: ({ natives = new Set<string>() } = {}) => declared.trace(natives, run),
    record: () => declared.record(run),
  };
}

/** Checks a kernel's declarations. Returns them, and functions that trace and record a body. */
export function declareKernel<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kind: Program['kind'],
  name: string,
  signature: Signature<J, C, B, H>,
) {
  checkName('kernel', name);
  checkParts(name, signature);
  const job = fieldsOf(signature.job ?? {});
  const ownChunk = fieldsOf(signature.chunk ?? {});
  const chunk = [...implicitChunkFields, ...ownChunk];
  const hit = hitFields(signature.hit ?? {});
  const buffers = bufferDecls(signature.buffers ?? {});
  const blockOf = (trace: Trace, run: (trace: Trace) => void) =>
    withTrace(trace, () => trace.block('kernel', () => run(trace)));
  return {
    job,
    chunk,
    hit,
    buffers,
    trace(natives: ReadonlySet<string>, run: (trace: Trace) => void): Program {
      const trace = new Trace(name, kind, natives, { lowerings, bufferCount: buffers.length });
      const block = blockOf(trace, run);
      const { tables, near, printBuffer, functions } = trace;
      const body = functions.statements.length === 0 ? block : [...functions.statements, ...block];
      const all = printBuffer ? [...buffers, printBuffer] : buffers;
      const program: Program = { name, kind, job, chunk, hit, buffers: all, tables, near, body };
      checkProgram(program);
      const unused = unusedBools(program).find((node) => !trace.isFromStd(node));
      if (unused) throw unusedError(trace, unused);
      return program;
    },
    record(run: (trace: Trace) => void): Recording {
      const specs = Object.values(signature.buffers ?? {});
      return {
        name,
        kind,
        job,
        chunk: ownChunk,
        hit,
        buffers: buffers.map(({ name: buffer }, i) => ({ name: buffer, ...(specs[i] as BufferSpec) })),
        ...(signature.lanes === undefined ? {} : { lanes: signature.lanes }),
        bodies: recordBodies((natives) =>
          blockOf(new Trace(name, kind, natives, { lowerings, isRecording: true }), run),
        ),
        hasOrigins: true,
      };
    },
  };
}

function unusedError(trace: Trace, { origin }: Node): MillraceError {
  return trace.error(
    'kernel-control',
    `the bool made at ${origin.line} is never used: \`when\`, not \`if\`?`,
    'write when() for if, select() for ?:, not(), and(), or() for ! && ||; leave it out if nothing needs it',
    origin,
  );
}

export function fieldsOf(fields: Fields): Field[] {
  return Object.entries(fields).map(([name, spec]) => {
    checkName('field', name);
    const isList = Array.isArray(spec);
    const [type, length] = (isList ? spec : [spec, 1]) as readonly [Type, number];
    if (!languageSets.any.includes(type)) throw typeOfPartError(`field ${name} has the type`, type, languageSets.any);
    if (!Number.isInteger(length) || length < 1) {
      throw new MillraceError({
        code: 'kernel-value',
        message: `field ${name} has length ${length}`,
        advice: 'declare [type, n] with n of at least 1',
      });
    }
    return { name, type, length, array: isList };
  });
}

function hitFields(fields: Fields): Field[] {
  if (Object.hasOwn(fields, 'index'))
    throw new MillraceError({
      code: 'kernel-value',
      message: 'a field of a hit cannot be called index',
      advice: "choose another name: `index` is the hit's index in the space",
    });
  return fieldsOf(fields);
}

function bufferDecls(buffers: Buffers): BufferDecl[] {
  return Object.entries(buffers).map(([name, spec], slot) => {
    checkName('buffer', name);
    if (name === 'ring')
      throw new MillraceError({
        code: 'kernel-value',
        message: 'a buffer cannot be called ring',
        advice: 'choose another name: the ring of hits has this one',
      });
    const types: readonly string[] = elementTypes[spec?.kind] ?? [];
    if (types.length === 0)
      throw new MillraceError({
        code: 'kernel-value',
        message: `buffer ${name} is ${JSON.stringify(spec)}`,
        advice: 'declare it with read(type), rw(type) or atomic(type)',
      });
    if (!types.includes(spec.type))
      throw typeOfPartError(`buffer ${name} has ${spec.kind} elements of`, spec.type, types);
    return { name, ...storedAs(spec), slot };
  });
}

/** The types of a buffer's elements, by its kind. */
const elementTypes = {
  read: [...languageSets.numeric, 'u8', 'u16'],
  rw: [...languageSets.numeric, 'u8', 'u16'],
  atomic: languageSets.unsigned,
} as const;

/** TypeScript refuses these types; JavaScript does not. */
const typeOfPartError = (what: string, type: string, types: readonly string[]): MillraceError =>
  new MillraceError({
    code: 'kernel-value',
    message: `${what} ${String(type)}`,
    advice: `use ${types.slice(0, -1).join(', ')} or ${types.at(-1)}`,
  });

function bufferView(decl: BufferDecl, spec: BufferSpec | undefined): unknown {
  const { kind, type } = spec ?? decl;
  if (isPacked(type)) return kind === 'rw' ? new RwPackedBuffer(decl, type) : new PackedBuffer(decl, type);
  if (type === 'f16') return kind === 'rw' ? new RwHalfBuffer(decl) : new HalfBuffer(decl);
  if (kind === 'atomic') return new AtomicBuffer(decl);
  return kind === 'rw' ? new RwBuffer(decl, undefined, type) : new ReadBuffer(decl, undefined, type);
}

function tracedFields(
  trace: Trace,
  op: 'job' | 'chunk',
  fields: readonly Field[],
): Record<string, Expr<Type> | Expr<Type>[]> {
  const values = fields.flatMap(({ type, length }, field) =>
    Array.from({ length }, (_, element) => fieldValue(type, trace.leaf(op, scalarOf(type), { field, element }))),
  );
  return fieldValuesOf(fields, values);
}

/** Returns values by the names of their fields. */
export function fieldValuesOf(
  fields: readonly Field[],
  values: readonly Expr<Type>[],
): Record<string, Expr<Type> | Expr<Type>[]> {
  let at = 0;
  return Object.fromEntries(
    fields.map(({ name, length, array }) => {
      const own = values.slice(at, at + length);
      at += length;
      return [name, array ? own : (own[0] as Expr<Type>)];
    }),
  );
}

/** A launch may give any f32 for an f16: it is rounded. */
const fieldValue = (type: Type, leaf: Node): Expr<Type> =>
  type === 'f16' ? new Expr('f32', leaf).to(type) : new Expr(type, leaf);

/** Returns the nodes of values that are given by the names of their fields. `use` is for the error if one is missing. */
export function fieldNodes(
  trace: Trace,
  fields: readonly Field[],
  values: Readonly<Record<string, unknown>>,
  use: { readonly what: string; readonly advice: string },
): Node[] {
  const nodes: Node[] = [];
  for (const field of fields) {
    const entry = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
    const list = (field.array ? entry : [entry]) as readonly ExprLike<Type>[];
    if (!Array.isArray(list) || list.length !== field.length || list.includes(undefined as never)) {
      throw trace.error('kernel-type', `${use.what} needs ${field.length} value(s) for ${field.name}`, use.advice);
    }
    for (const value of list) {
      const node = operand(field.type, value).node;
      trace.checkUse(node);
      nodes.push(node);
    }
  }
  return nodes;
}

function emit(trace: Trace, fields: readonly Field[], values: Record<string, unknown>): void {
  const advice = "give every field that the signature's `hit` names";
  const nodes = fieldNodes(trace, fields, values, { what: 'emit()', advice });
  if (fields.length === 0)
    throw trace.error('kernel-type', 'emit() in a kernel without hits', 'declare `hit` in the signature');
  trace.checkEffect('emit()');
  trace.add({ kind: 'emit', values: nodes });
}

/** Throws if a name cannot appear in generated text. */
const PARTS = ['job', 'chunk', 'buffers', 'hit', 'lanes'];

/** A misspelled part would be left out without a word in JavaScript. */
function checkParts(name: string, signature: object): void {
  const unknown = Object.keys(signature).find((part) => !PARTS.includes(part));
  if (unknown === undefined) return;
  throw new MillraceError({
    code: 'kernel-value',
    message: `kernel ${name}: unknown part ${JSON.stringify(unknown)} of its signature`,
    advice: `its parts are ${PARTS.join(', ')}`,
  });
}

export function checkName(what: string, name: string): void {
  if (!/^[a-zA-Z][a-zA-Z0-9-]*$/.test(name)) {
    throw new MillraceError({
      code: 'kernel-value',
      message: `${JSON.stringify(name)} is not a valid ${what} name`,
      advice: 'use letters, digits and dashes, a letter first',
    });
  }
}
