import { MillraceError } from '../error.js';
import type { Origin } from '../language/origin.js';
import { isPacked, type Packed, scalarOf, type Type } from '../language/types.js';
import type { BufferDecl, BufferKind, Field, Node, Program, Statement, TableDecl } from './program.js';

/**
 * A kernel as its body wrote it: every value and statement in its place and order, with calls of std functions instead of
 * their bodies. A trace is made from it again for each target (`codec/replay.ts`), which has native bodies of its own.
 */
export interface Recording {
  readonly name: string;
  readonly kind: Program['kind'];
  readonly job: readonly Field[];
  /** Without the implicit fields of every launch. */
  readonly chunk: readonly Field[];
  readonly hit: readonly Field[];
  readonly buffers: readonly RecordedBuffer[];
  readonly lanes?: number;
  readonly bodies: readonly RecordedBody[];
  /** False if the recording came without source lines. */
  readonly hasOrigins: boolean;
}

/** A buffer as the signature declares it. */
export interface RecordedBuffer {
  readonly name: string;
  readonly kind: Exclude<BufferKind, 'near' | 'array'>;
  readonly type: Exclude<Type, 'bool'> | Packed;
}

/** Returns how a declared buffer is accessed. Packed elements are parts of words, in which other items may store too. */
export function storedAs({ kind, type }: Pick<RecordedBuffer, 'kind' | 'type'>): Pick<BufferDecl, 'kind' | 'type'> {
  if (isPacked(type) || type === 'f16') return { kind: kind === 'rw' ? 'atomic' : kind, type: 'u32' };
  return { kind, type: scalarOf(type) };
}

/** One form of the body. A body that asks which native bodies its target has has a form for each set of answers. */
export interface RecordedBody {
  /** The answers for which the body has this form, in the order of the questions. */
  readonly natives: ReadonlyMap<string, boolean>;
  readonly events: readonly TraceEvent[];
}

/**
 * What a body adds to its trace. Values that are known before the launch have their `let` where they were made, not in the
 * outermost block. A call of a function (`invoke`) is a call event. The blocks of a recorded statement are lists of events too: see `eventsOf`.
 */
export type TraceEvent = Statement | CallEvent | TableEvent | NearEvent;

/** A call of a std function, or of a function of the kernel. The results are locals. */
export interface CallEvent {
  readonly kind: 'call';
  readonly callee: RecordedFunction;
  readonly args: readonly Node[];
  readonly results: readonly Node[];
  readonly origin: Origin;
}

/** The declaration of a table. A table of constants may be declared by its first look-up instead. */
export interface TableEvent {
  readonly kind: 'table';
  readonly table: TableDecl;
  readonly origin: Origin;
}

/** The declaration of a tile's array. */
export interface NearEvent {
  readonly kind: 'near';
  readonly near: BufferDecl;
  readonly origin: Origin;
}

/**
 * A std function's generic body, or a function of the kernel (`fn`). It uses its parameters and its own values only. All lines
 * of a std function are the caller's line.
 */
export interface RecordedFunction {
  /** The function's name; for a std function with its parameters (`StdFunction`). */
  readonly name: string;
  /** True for a function of the kernel: a trace has it once, with its own lines. */
  readonly isOwn?: boolean;
  readonly params: readonly Node[];
  readonly events: readonly TraceEvent[];
  readonly results: readonly Node[];
}

/** Returns the events of a recorded statement's block. */
export const eventsOf = (block: readonly Statement[]): readonly TraceEvent[] => block;

/** True if a table can be stored with the kernel, apart from its body. */
export const isConstantTable = (table: TableDecl): boolean => table.values.every(({ op }) => op === 'const');

/** A kernel's body asks few questions, and each std function asks the same ones. */
export const MAX_BODIES = 16;

/** Calls `record` once for each set of answers to its questions about native bodies. */
export function recordBodies(record: (natives: ReadonlySet<string>) => readonly TraceEvent[]): RecordedBody[] {
  const bodies: RecordedBody[] = [];
  const pending: (readonly (readonly [string, boolean])[])[] = [[]];
  for (let known = pending.pop(); known; known = pending.pop()) {
    const natives = new AnsweringSet(known);
    const events = record(natives);
    bodies.push({ natives: natives.answers, events });
    // A question without an answer was answered with no. The body with the other answer is another one.
    const answers = [...natives.answers];
    for (const [i, [key]] of answers.entries())
      if (i >= known.length) pending.push([...answers.slice(0, i), [key, true]]);
    if (bodies.length + pending.length > MAX_BODIES) {
      throw new MillraceError({
        code: 'kernel-budget',
        message: `the kernel's body has more than ${MAX_BODIES} forms`,
        asked: `its form for each set of the native bodies ${answers.map(([key]) => key).join(', ')}`,
        advice: 'ask for fewer native bodies',
      });
    }
  }
  return bodies;
}

/** True if every target has exactly one of the bodies: all ask the same first question, and so on for each answer to it. */
export function haveEveryAnswer(bodies: readonly RecordedBody[]): boolean {
  const covers = (forms: readonly (readonly (readonly [string, boolean])[])[], at: number): boolean => {
    const question = forms[0]?.[at]?.[0];
    if (question === undefined) return forms.length === 1;
    return (
      forms.every((answers) => answers[at]?.[0] === question) &&
      [false, true].every((has) =>
        covers(
          forms.filter((answers) => answers[at]?.[1] === has),
          at + 1,
        ),
      )
    );
  };
  return covers(
    bodies.map(({ natives }) => [...natives]),
    0,
  );
}

/** A set with given answers; what else it is asked for it does not have. */
class AnsweringSet extends Set<string> {
  readonly answers: Map<string, boolean>;

  constructor(known: Iterable<readonly [string, boolean]>) {
    super();
    this.answers = new Map(known);
  }

  override has(key: string): boolean {
    const has = this.answers.get(key) ?? false;
    this.answers.set(key, has);
    return has;
  }
}
