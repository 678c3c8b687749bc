import { LaunchHeader } from '../../abi/grid.js';
import type { HoistedProgram, Node, Statement, TableDecl } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { bytesOf, type Scalar, type Value } from '../../language/types.js';
import { paramsOf } from '../../passes/graph.js';
import { type Fence, findBarriers } from '../../passes/shape/barriers.js';
import { CLikePrinter, type Dialect, type Operand, type Syntax } from '../c/c-like.js';
import type { ContextParameter, FunctionNeeds, FunctionSyntax } from '../c/functions.js';
import { lengthName, parameterName, tableName } from '../names.js';
import { OperationPrinter } from './forms.js';
import type { GpuLanguage } from './language.js';
import { type GpuLayout, valueOfWords } from './layout.js';
import { GpuMemory, type ThreadScope } from './memory.js';
import { GpuRegions } from './regions.js';

export interface GpuText {
  readonly text: string;
  readonly lineOrigins: readonly (Origin | undefined)[];
  readonly statements: number;
  /** Checked builds: the accesses that can trap, by trap number. */
  readonly sites: readonly Origin[];
}

/** Blocks of items, or tiles, between two reads of the cancel word: some milliseconds of light items. */
export const CANCEL_BLOCKS = { items: 64, tiles: 16 } as const;

/**
 * Prints text for a GPU: one thread per item, or one workgroup per tile, inside the `range` harness that `grid.ts`
 * describes.
 */
export function renderGpu(layout: GpuLayout, language: GpuLanguage): GpuText {
  const cancelCheck = layout.program.kind === 'items' ? language.entry.cancelInItem : [];
  const printer = new GpuPrinter(layout, language, cancelCheck);
  printer.printRange();
  return printer.finish();
}

/** Prints the parts that a harness places around a kernel. */
export class GpuPrinter {
  readonly layout: GpuLayout;
  readonly language: GpuLanguage;
  readonly body: CLikePrinter;
  readonly #forms: OperationPrinter;
  readonly #memory: GpuMemory;

  /** `cancelCheck` holds the lines of a long loop that leave the item if the launch was cancelled. */
  constructor(layout: GpuLayout, language: GpuLanguage, cancelCheck: readonly string[]) {
    this.layout = layout;
    this.language = language;
    this.#forms = new OperationPrinter(language.table, (name, helper) => language.helper(name, helper));
    const scope: ThreadScope = { isParallel: layout.program.kind === 'items', isInFunction: false };
    this.#memory = new GpuMemory(language, layout, this.#forms, scope);
    this.body = new CLikePrinter(
      layout.program,
      new GpuDialect(layout, language, this.#forms, this.#memory, scope, cancelCheck),
    );
    scope.isInFunction = true;
    this.body.functions();
    scope.isInFunction = false;
  }

  /** Prints the entry of the `range` harness: a workgroup strides over the launch's blocks of items, or its tiles. */
  printRange(): void {
    const { layout, body } = this;
    const { entry, syntax, typeName } = this.language;
    body.braces(entry.head(layout), () => {
      this.lines(entry.begin(layout));
      body.line(syntax.constant(typeName('u32'), 'epoch', entry.word(layout, LaunchHeader.epoch)));
      body.line(syntax.constant(typeName('u32'), 'first', entry.word(layout, LaunchHeader.first)));
      body.line(syntax.variable(typeName('u32'), 'last', entry.word(layout, LaunchHeader.last)));
      this.lines(entry.limitToCount(layout));
      this.declareParameters(layout.shape.launch.parametersAt);
      this.declareLengths();
      this.fillTables();
      this.lines(entry.cancelBeforeLoop(layout));
      this.printLoop(entry.cancelInLoop(layout, CANCEL_BLOCKS[layout.program.kind]));
    });
  }

  lines(lines: readonly string[]): void {
    for (const text of lines) this.body.line(text);
  }

  /**
   * Declares the parameters that the body reads. `isIncluded` selects them; `word` returns the text of a parameter word.
   */
  declareParameters(
    at: number,
    isIncluded: (word: number) => boolean = () => true,
    word = (index: number) => this.language.entry.word(this.layout, at + index),
  ): void {
    for (const node of paramsOf(this.layout.program.body)) {
      const { type, detail } = node;
      const first = detail.word ?? 0;
      if (!isIncluded(first)) continue;
      const value = valueOfWords(
        type,
        (k) => word(first + k),
        (key, args) => this.#forms.apply(key, args),
      );
      this.body.line(this.language.syntax.constant(this.language.typeName(type), parameterName(node), value));
    }
  }

  /** Declares the number of elements of each buffer, in checked builds. */
  declareLengths(): void {
    const { layout, language } = this;
    if (!layout.checked) return;
    const { address } = language.memory;
    const buffers = layout.shape.bindings.flatMap((binding) => (binding.type ? [{ binding, type: binding.type }] : []));
    buffers.forEach(({ binding, type }, i) => {
      const [low, high] = [0, 1].map((k) => language.entry.word(layout, layout.shape.launch.sizesAt + 2 * i + k));
      const shift = Math.log2(bytesOf[type]);
      // Without 64 bits there are fewer than 2^32 elements, whatever the number of bytes.
      const value =
        address === 'u64'
          ? `((u64)${high} << 32 | ${low}) >> ${shift}`
          : `(${low} >> ${shift}u) | (${high} << ${32 - shift}u)`;
      this.body.line(language.syntax.constant(language.typeName(address), lengthName(binding), value));
    });
  }

  /** Copies the tables once per workgroup, not once per item. */
  fillTables(): void {
    const { layout, language, body } = this;
    const near = [...layout.tables].flatMap(([table, place]) => (place.near ? [table] : []));
    for (const table of near) this.#fillTable(table);
    if (near.length > 0) for (const text of language.memory.barrier({ near: true, global: false })) body.line(text);
  }

  #fillTable(table: TableDecl): void {
    const { workgroup } = this.layout.shape;
    const head = this.language.syntax.loop('i', 'thread', `i < ${table.values.length}u`, `i += ${workgroup}u`);
    this.body.braces(head, () => this.body.line(`${tableName(table)}[i] = ${this.#memory.tableEntry(table, 'i')};`));
  }

  /**
   * Prints the loop over this workgroup's part of the launch. It counts rounds, not tiles, since the next tile's number may
   * not fit 32 bits. `names` prints the definitions that each round repeats.
   */
  printLoop(cancel: readonly string[], names: () => void = () => undefined): void {
    const { layout, body } = this;
    const { syntax, typeName } = this.language;
    const isItems = layout.program.kind === 'items';
    const size = layout.shape.workgroup;
    const word = typeName('u32');
    const block = (number: string) => (isItems ? `${number} / ${size}u` : number);
    body.line(syntax.constant(word, 'least', block('first')));
    body.line(syntax.constant(word, 'most', block('last')));
    body.braces('if (least <= most && group <= most - least)', () => {
      body.line(syntax.constant(word, 'own', 'least + group'));
      body.braces(syntax.loop('round', '0u', 'round <= (most - own) / groups', 'round++'), () => {
        this.lines(cancel);
        names();
        const number = 'own + round * groups';
        body.line(
          syntax.constant(word, isItems ? 'item' : 'tile', isItems ? `(${number}) * ${size}u + thread` : number),
        );
        if (isItems) body.braces('if (item <= last)', () => body.block(layout.program.body));
        else body.block(layout.program.body);
      });
    });
  }

  finish(): GpuText {
    const { layout, language, body } = this;
    const { program, shape } = layout;
    const head = [
      `// kernel ${program.name}, workgroups of ${shape.workgroup}`,
      ...language.entry.preamble(layout),
      ...language.entry.globals(layout),
      ...this.#forms.prelude(),
      ...this.#memory.prelude(),
      '',
    ];
    return {
      text: `${[...head, ...body.lines].join('\n')}\n`,
      lineOrigins: [...head.flatMap((text) => text.split('\n').map(() => undefined)), ...body.origins],
      statements: body.statements,
      sites: this.#memory.sites,
    };
  }
}

/** The dialect of GPUs. All values belong to one thread: nothing is masked or spread over lanes. */
class GpuDialect implements Dialect {
  readonly syntax: Syntax;
  readonly cancelCheck: readonly string[];
  readonly functions: FunctionSyntax;
  readonly #layout: GpuLayout;
  readonly #language: GpuLanguage;
  readonly #forms: OperationPrinter;
  readonly #memory: GpuMemory;
  readonly #regions: GpuRegions;
  readonly #fences: ReadonlyMap<Statement, Fence>;
  readonly #kind: HoistedProgram['kind'];

  constructor(
    layout: GpuLayout,
    language: GpuLanguage,
    forms: OperationPrinter,
    memory: GpuMemory,
    scope: ThreadScope,
    cancelCheck: readonly string[],
  ) {
    this.syntax = language.syntax;
    this.cancelCheck = cancelCheck;
    this.functions = language.functions;
    this.#layout = layout;
    this.#language = language;
    this.#forms = forms;
    this.#memory = memory;
    this.#regions = new GpuRegions(language, layout, forms, scope);
    this.#fences = findBarriers(layout.program);
    this.#kind = layout.program.kind;
  }

  functionContext({ cancels, tables }: FunctionNeeds): ContextParameter[] {
    const forms = this.#language.functionContext;
    if (!forms) return [];
    const given = (name: 'status' | 'cancel' | 'epoch' | 'tables') => ({ name, declaration: forms[name] });
    const { nearTable } = forms;
    const near = nearTable ? [...tables].filter((table) => this.#layout.tables.get(table)?.near) : [];
    const checksCancel = cancels && this.cancelCheck.length > 0;
    return [
      ...(this.#layout.checked || checksCancel ? [given('status')] : []),
      ...(checksCancel ? [given('cancel'), given('epoch')] : []),
      ...(near.length < tables.size ? [given('tables')] : []),
      ...near.map((table) => {
        const name = tableName(table);
        return { name, declaration: nearTable?.(table.type, name) ?? '' };
      }),
    ];
  }
  before(statement: Statement): readonly string[] {
    const fence = this.#fences.get(statement);
    return fence ? this.#language.memory.barrier(fence) : [];
  }
  typeName(type: Scalar): string {
    return this.#language.typeName(type);
  }
  literal(type: Scalar, value: Value): string {
    return this.#language.literal(type, value);
  }
  leaf(node: Node): string {
    if (node.op === 'param') return parameterName(node);
    if (node.op === 'item') return this.#kind === 'items' ? 'item' : 'tile';
    throw new TypeError(`no text for ${node.op} (node ${node.id})`);
  }
  operation(node: Node, args: readonly Operand[]): string {
    if (node.op === 'lookup') return this.#memory.lookup(node, args[0] as Operand);
    return this.#forms.operation(
      node,
      args.map(({ text }) => text),
    );
  }
  effect(...[statement, names]: Parameters<Dialect['effect']>): string[] {
    return this.#memory.effect(statement, names);
  }
  region(...[statement, printer]: Parameters<Dialect['region']>): void {
    this.#regions.print(statement, printer);
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
  maskedSet(): string {
    throw new TypeError('nothing is masked on a GPU');
  }
}
