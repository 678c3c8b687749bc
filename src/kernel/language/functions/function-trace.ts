import type { ErrorCode, MillraceError } from '../../error.js';
import type { Block, FunctionDecl, FunctionStatement, NewStatement, Node } from '../../ir/program.js';
import type { RecordedFunction } from '../../ir/recording.js';
import type { Origin } from '../origin.js';
import type { Scalar } from '../types.js';

/** What functions need of the trace of their kernel. */
interface KernelTrace {
  readonly isRecording: boolean;
  checkUse(node: Node): void;
  local(type: Scalar): Node;
  add(statement: NewStatement): void;
  recordCall(callee: RecordedFunction, args: readonly Node[], results: readonly Node[]): void;
  functionBlock(body: () => void): Block;
  origin(): Origin;
  error(code: ErrorCode, message: string, advice: string): MillraceError;
}

/** A function as its first call has traced it, or recorded it. */
interface TracedFunction {
  readonly decl: FunctionDecl;
  readonly recorded: RecordedFunction;
}

/**
 * The functions of one trace. The first call of a function traces its body, in a block that sees nothing of the kernel
 * around it. Later calls refer to it.
 */
export class FunctionTrace {
  /** The functions so far. Each comes before its callers. */
  readonly statements: FunctionStatement[] = [];
  readonly #trace: KernelTrace;
  readonly #known = new Map<object, TracedFunction>();
  /** The functions whose bodies are being traced, the innermost last. */
  readonly #open: { readonly key: object; readonly name: string }[] = [];

  constructor(trace: KernelTrace) {
    this.#trace = trace;
  }

  /** The name of the function whose body is being traced. */
  get current(): string | undefined {
    return this.#open.at(-1)?.name;
  }

  /** Adds a call. `key` is the function's identity; `body` gets its parameters and returns its results. */
  invoke(
    { key, name, params }: { readonly key: object; readonly name: string; readonly params: readonly Scalar[] },
    args: readonly Node[],
    body: (params: readonly Node[]) => readonly Node[],
  ): Node[] {
    const trace = this.#trace;
    for (const arg of args) trace.checkUse(arg);
    this.#refuseRecursion(key);
    let known = this.#known.get(key);
    if (!known) {
      known = this.#define(key, name, params, body);
      this.#known.set(key, known);
    }
    const results = known.decl.results.map((type) => trace.local(type));
    if (trace.isRecording) trace.recordCall(known.recorded, args, results);
    else trace.add({ kind: 'invoke', callee: known.decl, args, results });
    return results;
  }

  #define(
    key: object,
    name: string,
    types: readonly Scalar[],
    body: (params: readonly Node[]) => readonly Node[],
  ): TracedFunction {
    const trace = this.#trace;
    let nodes: readonly Node[] = [];
    let values: readonly Node[] = [];
    this.#open.push({ key, name });
    const block = (() => {
      try {
        return trace.functionBlock(() => {
          nodes = types.map((type) => trace.local(type));
          if (!trace.isRecording) trace.add({ kind: 'parameters', nodes });
          values = body(nodes);
          for (const value of values) trace.checkUse(value);
          if (!trace.isRecording) trace.add({ kind: 'results', values });
        });
      } finally {
        this.#open.pop();
      }
    })();
    const decl = { id: this.statements.length, name, params: types, results: values.map(({ type }) => type) };
    this.statements.push({ kind: 'function', callee: decl, body: block, origin: trace.origin() });
    return { decl, recorded: { name, params: nodes, events: block, results: values, isOwn: true } };
  }

  #refuseRecursion(key: object): void {
    const at = this.#open.findIndex((open) => open.key === key);
    if (at < 0) return;
    const [first, ...others] = this.#open.slice(at).map(({ name }) => name);
    const through = others.length === 0 ? '' : ` through ${others.join(', ')}`;
    throw this.#trace.error(
      'kernel-control',
      `function ${first} calls itself${through}`,
      'write a loop, with an array() as its stack: kernels have no recursion',
    );
  }

  /** Throws if `what` is inside a function. */
  refuse(what: string): void {
    if (this.current !== undefined)
      throw this.#trace.error(
        'kernel-control',
        `${what} is in function ${this.current}`,
        'a function only computes: give it values, and use what it returns where it is called',
      );
  }

  refuseStatement(statement: NewStatement): void {
    if (this.current === undefined) return;
    switch (statement.kind) {
      case 'load':
      case 'store':
      case 'prefetch': {
        const { kind, name } = statement.place.buffer;
        if (kind !== 'array')
          this.refuse(kind === 'near' ? 'an access to a near array' : `an access to buffer ${name}`);
        return;
      }
      case 'atomic':
      case 'emit':
      case 'scan':
      case 'return':
        this.refuse(statement.kind);
    }
  }

  refuseLeaf(op: keyof typeof leafNames): void {
    if (this.current !== undefined) this.throwCaptured(leafNames[op]);
  }

  /** Throws for a value, a cell or an array that does not belong to the function being traced. */
  throwCaptured(what: Node | string): never {
    throw this.#trace.error(
      'kernel-scope',
      `function ${this.current} uses ${typeof what === 'string' ? `${what}${FROM_OUTSIDE}` : nameOf(what)}`,
      'give it to the function as a parameter',
    );
  }
}

const FROM_OUTSIDE = ', which is not its own';

const leafNames = {
  job: 'a job value',
  chunk: 'a chunk value',
  length: 'the length of a buffer',
  item: 'the number of the item',
} as const;

const nameOf = ({ op, origin }: Node): string =>
  op === 'job' || op === 'chunk' || op === 'length' || op === 'item'
    ? `${leafNames[op]}${FROM_OUTSIDE}`
    : `the value made at ${origin.line}${FROM_OUTSIDE}`;
