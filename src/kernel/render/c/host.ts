import { implicitChunkFields } from '../../abi/harness.js';
import { type BufferDecl, type HoistedProgram, type Node, type Statement, ValueStage } from '../../ir/program.js';
import { Origin } from '../../language/origin.js';
import { type Scalar, toWords, type Value } from '../../language/types.js';
import { topologicalOrder } from '../../passes/graph.js';
import { CLikePrinter, cSyntax, type Dialect, type EffectNames, type EffectStatement, type Operand } from './c-like.js';
import { cFunctions } from './functions.js';
import { Helpers } from './helpers.js';
import { cLiteral } from './literal.js';

/** How the text names the values that it reads. */
export interface HostNames {
  /** Returns the text of a field's element. */
  field(kind: 'job' | 'chunk', field: number, element: number): string;
  readonly base: string;
  readonly ringCapacity: string;
  /** Returns the text of a buffer's size in bytes. */
  size(slot: number): string;
}

/** The host part of a program as C: the bodies of two functions that write parameter words to `words`. */
export interface HostText {
  /** Types and functions that the bodies use. */
  readonly prelude: readonly string[];
  /** Writes the words of the job. */
  readonly job: readonly string[];
  /** Writes the words of a launch. Computes the job's values that they depend on again. */
  readonly chunk: readonly string[];
}

/** Prints what `JobParameters` evaluates: the values that `hoist` has moved to the host. */
export function renderHost(program: HoistedProgram, names: HostNames): HostText {
  const helpers = new Helpers(1, false);
  const isJob = ({ stage }: Node): boolean => stage <= ValueStage.job;
  const own = program.params.map(({ node, word }) => ({ node, word }));
  const tables = program.tables.flatMap(({ word, type, values }) =>
    word === undefined ? [] : values.map((node, at) => ({ node, word: word + at * wordCount(type) })),
  );
  const print = (outputs: readonly HostOutput[]): readonly string[] => printOutputs(program, names, helpers, outputs);
  const job = print([...own.filter(({ node }) => isJob(node)), ...tables]);
  const chunk = print(own.filter(({ node }) => !isJob(node)));
  return { prelude: helpers.prelude(), job, chunk };
}

interface HostOutput {
  readonly node: Node;
  /** The first parameter word that gets the value. */
  readonly word: number;
}

function printOutputs(
  program: HoistedProgram,
  names: HostNames,
  helpers: Helpers,
  outputs: readonly HostOutput[],
): readonly string[] {
  const nodes = topologicalOrder(outputs.map(({ node }) => node));
  const lets = nodes
    .filter(({ args }) => args.length > 0)
    .map((node): Statement => ({ kind: 'let', node, origin: node.origin }));
  const stores = outputs.map(({ node, word }): Statement => {
    const index: Node = { ...wordNumber, id: -word - 1, detail: { value: word } };
    return { kind: 'store', place: { buffer: WORDS, index }, values: [node], origin: node.origin };
  });
  const body = [...lets, ...stores];
  const printer = new CLikePrinter({ ...program, body }, new HostDialect(names, helpers));
  printer.block(body);
  return printer.lines;
}

const WORDS: BufferDecl = { name: 'words', kind: 'rw', type: 'u32', slot: 0 };
const wordNumber = {
  op: 'const',
  type: 'u32',
  args: [],
  stage: ValueStage.constant,
  origin: Origin.ofLine(''),
} as const satisfies Omit<Node, 'id' | 'detail'>;

class HostDialect implements Dialect {
  readonly syntax = cSyntax;
  readonly cancelCheck = [];
  readonly functions = cFunctions('static');
  readonly #names: HostNames;
  readonly #helpers: Helpers;

  constructor(names: HostNames, helpers: Helpers) {
    this.#names = names;
    this.#helpers = helpers;
  }

  functionContext(): never {
    throw new TypeError('no functions on the host');
  }
  isVarying(): boolean {
    return false;
  }
  isVaryingCell(): boolean {
    return false;
  }
  typeName(type: Scalar): string {
    return type;
  }
  literal(type: Scalar, value: Value): string {
    return cLiteral(type, value);
  }
  leaf({ op, type, detail: { field = -1, element = -1 } }: Node): string {
    if (op === 'length') return `(${this.#names.size(field)} / ${element}u)`;
    if (op === 'job') return asType(type, this.#names.field('job', field, element));
    if (op !== 'chunk') throw new TypeError(`no text for ${op} on the host`);
    switch (implicitChunkFields[field]?.name) {
      case '.base':
        return element === 0 ? `((u32)${this.#names.base})` : `((u32)(${this.#names.base} >> 32))`;
      case '.ringCapacity':
        return this.#names.ringCapacity;
      case '.one':
        return '1u';
      default:
        return asType(type, this.#names.field('chunk', field, element));
    }
  }
  splat(_: Scalar, text: string): string {
    return text;
  }
  maskedSet(): string {
    throw new TypeError('no cells on the host');
  }
  operation(node: Node, args: readonly Operand[]): string {
    return this.#helpers.operation(node, args, false);
  }
  region(): void {
    throw new TypeError('no regions on the host');
  }
  /** A store of parameter words, low word first. All NaNs have one bit pattern, as in `toWords`. */
  effect(statement: EffectStatement, names: EffectNames): string[] {
    if (statement.kind !== 'store') throw new TypeError(`no ${statement.kind} on the host`);
    const [node] = statement.values as [Node];
    const word = Number(statement.place.index.detail.value);
    const { text } = names.value(node);
    const set = (at: number, value: string): string => `words[${at}] = ${value};`;
    switch (node.type) {
      case 'u32':
        return [set(word, text)];
      case 'bool':
        return [set(word, `${text} ? 1u : 0u`)];
      case 'i32':
        return [set(word, `(u32)${text}`)];
      case 'f32': {
        const bits = `${this.#helpers.use('bits_f32_u32')}(${text})`;
        return [set(word, `${text} != ${text} ? 0x${nanWord('f32')}u : ${bits}`)];
      }
      case 'u64':
        return [set(word, `(u32)${text}`), set(word + 1, `(u32)(${text} >> 32)`)];
      case 'f64': {
        const bits = `${this.#helpers.use('bits_f64_u64')}(${text})`;
        return [
          set(word, `${text} != ${text} ? 0u : (u32)${bits}`),
          set(word + 1, `${text} != ${text} ? 0x${nanWord('f64')}u : (u32)(${bits} >> 32)`),
        ];
      }
    }
  }
}

const wordCount = (type: Scalar): number => toWords(type, type === 'bool' ? false : 0).length;

/** The last word of a NaN, in hexadecimal. */
const nanWord = (type: 'f32' | 'f64'): string => (toWords(type, Number.NaN).at(-1) ?? 0).toString(16);

/** A bool is a word in the caller's struct, of which any value but 0 is true. An i64 is signed there, a u64 in a program. */
function asType(type: Scalar, text: string): string {
  if (type === 'bool') return `(${text} != 0)`;
  return type === 'u64' ? `((u64)${text})` : text;
}
