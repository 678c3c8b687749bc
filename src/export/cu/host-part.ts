import { type HoistedProgram, type Node, type Program, type Statement, ValueStage } from '../../kernel/ir/program.js';
import type { Scalar } from '../../kernel/language/types.js';
import { placeNodes } from '../../kernel/passes/shape/place-nodes.js';
import { CLikePrinter, cSyntax, type Dialect, type Operand } from '../../kernel/render/c/c-like.js';
import { cLiteral } from '../../kernel/render/c/literal.js';
import { cFamily, OperationPrinter } from '../../kernel/render/gpu/forms.js';

/**
 * Prints the lines that compute a kernel's job words on the host: `words[i] = …;`. A job value is `field[element]`. The
 * text around the lines declares `words` and the fields, and defines `rotr` and `choose`.
 */
export function hostPart(program: HoistedProgram): readonly string[] {
  const stores = program.params
    .filter(({ node }) => node.stage <= ValueStage.job)
    .map(({ node, word }): Statement => {
      const index: Node = { ...node, op: 'const', args: [], stage: ValueStage.constant, detail: { value: word } };
      return { kind: 'store', place: { buffer: words, index }, values: [node], origin: node.origin };
    });
  const body = placeNodes<Program>({ ...program, body: stores });
  const printer = new CLikePrinter(body, new HostDialect(program));
  printer.block(body.body);
  return printer.lines;
}

const words = { name: 'words', kind: 'rw', type: 'u32', slot: 0 } as const;

const { forms, functions } = cFamily('ull');
/** The functions of the SHA-256 on the host. */
const shaForms = { rotr_u32: 'rotr($a, $b)', bitSelect_u32: 'choose($a, $b, $c)' };

/** Plain C++ of one thread. */
class HostDialect implements Dialect {
  readonly syntax = cSyntax;
  readonly cancelCheck = [];
  readonly #forms = new OperationPrinter({ forms: { ...forms, ...shaForms }, functions }, (name) => {
    throw new TypeError(`the host part needs a function ${name}`);
  });
  readonly #program: HoistedProgram;

  constructor(program: HoistedProgram) {
    this.#program = program;
  }

  typeName(type: Scalar): string {
    return type;
  }
  literal = cLiteral;
  leaf(node: Node): string {
    if (node.op !== 'job') throw new TypeError(`no text for ${node.op} (node ${node.id})`);
    const { name, array } = this.#program.job[node.detail.field ?? -1] ?? {};
    return array ? `${name}[${node.detail.element}]` : `${name}`;
  }
  operation(node: Node, args: readonly Operand[]): string {
    return this.#forms.operation(
      node,
      args.map(({ text }) => text),
    );
  }
  effect(...[statement, names]: Parameters<Dialect['effect']>): string[] {
    if (statement.kind !== 'store') throw new TypeError(`no text for ${statement.kind}`);
    const { place, values } = statement;
    const bare = (value: Node) => names.value(value).text.replace(/^\((.*)\)$/, '$1');
    return values.map((value) => `words[${place.index.detail.value}] = ${bare(value)};`);
  }
  region(): never {
    throw new TypeError('no tiles on the host');
  }
  isVarying(): boolean {
    return false;
  }
  isVaryingCell(): boolean {
    return false;
  }
  splat(_type: Scalar, text: string): string {
    return text;
  }
  maskedSet(): never {
    throw new TypeError('nothing is masked on the host');
  }
}
