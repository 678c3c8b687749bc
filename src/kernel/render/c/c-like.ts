import {
  type Block,
  type CellDecl,
  type FunctionDecl,
  type FunctionStatement,
  functionsOf,
  innerBlocks,
  type Node,
  nodeReadAtEnd,
  type Program,
  readNodes,
  type Statement,
} from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import type { Scalar, Value } from '../../language/types.js';
import {
  type ContextParameter,
  type FunctionNeeds,
  type FunctionSyntax,
  functionName,
  functionNeeds,
  resultTypeOf,
} from './functions.js';

/** A language's syntax for the parts of every program. Types are given as text. */
export interface Syntax {
  constant(type: string, name: string, value: string): string;
  variable(type: string, name: string, value: string): string;
  /** Declares an array with these values; of zeros if there are none. */
  array(type: string, name: string, length: number, values: readonly string[]): string;
  /** The head of a loop over a u32. */
  loop(name: string, from: string, condition: string, step: string): string;
  breakIf(condition: string): string;
}

export const cSyntax: Syntax = {
  constant: (type, name, value) => `const ${type} ${name} = ${value};`,
  variable: (type, name, value) => `${type} ${name} = ${value};`,
  array: (type, name, length, values) => `${type} ${name}[${length}] = {${values.join(', ') || '0'}};`,
  loop: (name, from, condition, step) => `for (u32 ${name} = ${from}; ${condition}; ${step})`,
  breakIf: (condition) => `if (${condition}) break;`,
};

/** The differences between C-like targets. Everything structural is in `CLikePrinter`. */
export interface Dialect {
  readonly syntax: Syntax;
  /** Lines that must precede a statement: barriers. */
  before?(statement: Statement): readonly string[];
  /** Lines at the start of a long loop's round. They leave the item if the launch was cancelled. */
  readonly cancelCheck: readonly string[];
  readonly functions: FunctionSyntax;
  /** Returns the memory of the launch that a function gets in addition to its arguments. */
  functionContext(needs: FunctionNeeds): readonly ContextParameter[];
  /** Returns the type of a variable; `varying` if each lane has its own value. */
  typeName(type: Scalar, varying: boolean): string;
  literal(type: Scalar, value: Value): string;
  /** Prints one operation. Operand texts are safe to combine (atoms or parenthesised). */
  operation(node: Node, args: readonly Operand[], varying: boolean, mask: string | undefined): string;
  leaf(node: Node): string;
  /** Converts `text` to a value for every lane. */
  splat(type: Scalar, text: string): string;
  /** Returns the lines of a statement that accesses memory or has native text. */
  effect(statement: EffectStatement, names: EffectNames): string[];
  /** Prints a parallel region of a tile. */
  region(statement: RegionStatement, printer: RegionPrinter): void;
  /** Prints `target = value` for the lanes of the mask only. */
  maskedSet(cell: string, type: Scalar, value: string, mask: string): string;
  isVarying(node: Node): boolean;
  isVaryingCell(cell: CellDecl): boolean;
}

export interface Operand {
  readonly text: string;
  readonly varying: boolean;
  readonly node: Node;
}

export type EffectStatement = Extract<
  Statement,
  { kind: 'array' | 'load' | 'store' | 'prefetch' | 'atomic' | 'native' }
>;

export type RegionStatement = Extract<Statement, { kind: 'each' | 'sum' | 'scan' | 'once' }>;

/** The printer's functions for a region. */
export interface RegionPrinter {
  /** Returns the text of a value that is the same for the whole tile. */
  uniform(node: Node): string;
  /** Returns the text of a value that each lane has its own of. */
  varying(node: Node): string;
  define(node: Node): string;
  body(): void;
  line(text: string): void;
  braces(head: string, inner: () => void): void;
}

export interface EffectNames {
  /** Returns the text of a value that is read. */
  value(node: Node): Operand;
  /** Returns the name of a value that is defined. */
  define(node: Node): string;
  readonly mask: string | undefined;
  /** The statement's block: names declared beside the statement are valid until its end. */
  readonly block: Block;
}

/** The maximum number of operations in an inline expression; a longer one reads badly and gets a name. */
const INLINE_OPERATIONS = 4;

/**
 * Prints a placed program as C-like text, with a name for each value used more than once, and records the line of the user's
 * source for each line of text. Names are numbered in the order of the text, so that the same program gives the same text.
 */
export class CLikePrinter {
  readonly #dialect: Dialect;
  readonly #names = new Map<Node, string>();
  readonly #inline = new Map<Node, { text: string; size: number }>();
  readonly #usedOnce: ReadonlySet<Node>;
  readonly #program: Program;
  readonly #needs: ReadonlyMap<FunctionDecl, FunctionNeeds>;
  /** The function that is being printed. */
  #function: FunctionDecl | undefined;
  readonly #cellNames = new Map<CellDecl, string>();
  readonly #lines: string[] = [];
  readonly #origins: (Origin | undefined)[] = [];
  #indent = 0;
  #valueCount = 0;
  #cellCount = 0;
  /** The number of variables and effects printed, which determines the compile time. */
  statements = 0;

  constructor(program: Program, dialect: Dialect) {
    this.#dialect = dialect;
    this.#program = program;
    this.#needs = functionNeeds(program);
    this.#usedOnce = usedOnceInTheirBlock(program.body);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }
  get origins(): readonly (Origin | undefined)[] {
    return this.#origins;
  }

  line(text: string, origin?: Origin): void {
    this.#lines.push(text === '' ? '' : `${'  '.repeat(this.#indent)}${text}`);
    this.#origins.push(origin);
  }

  /** Prints `head {`, the inner lines, `}`. */
  braces(head: string, inner: () => void, origin?: Origin): void {
    this.line(`${head} {`, origin);
    this.#indent++;
    inner();
    this.#indent--;
    this.line('}');
  }

  /** Prints the program's functions, which the rest of the text calls. */
  functions(): void {
    for (const statement of functionsOf(this.#program)) this.#printFunction(statement);
  }

  #printFunction({ callee, body, origin }: FunctionStatement): void {
    const { functions } = this.#dialect;
    const [first] = body;
    const params = first?.kind === 'parameters' ? first.nodes : [];
    const result = resultTypeOf(callee, (type) => this.#typeName(type));
    if (callee.results.length > 1)
      this.line(
        functions.structure(
          result,
          callee.results.map((type) => this.#typeName(type)),
        ),
        origin,
      );
    const declared = [
      ...this.#context(callee).map(({ declaration }) => declaration),
      ...params.map((node) => functions.param(this.#typeName(node.type), this.#define(node))),
    ];
    this.#function = callee;
    this.braces(functions.head(functionName(callee), result, declared), () => this.block(body), origin);
    this.#function = undefined;
  }

  #typeName(type: Scalar): string {
    return this.#dialect.typeName(type, false);
  }

  #context(callee: FunctionDecl): readonly ContextParameter[] {
    return this.#dialect.functionContext(this.#needs.get(callee) as FunctionNeeds);
  }

  #return(values: readonly Node[], origin: Origin): void {
    const [value] = values;
    const all = () => this.#returnAll(values.map((node) => this.#fullText(node, false)));
    this.line(value && values.length === 1 ? `return ${this.#fullText(value, false)};` : all(), origin);
    this.statements++;
  }

  #returnAll(texts: readonly string[]): string {
    const callee = this.#function as FunctionDecl;
    return this.#dialect.functions.returnAll(
      resultTypeOf(callee, (type) => this.#typeName(type)),
      texts,
    );
  }

  #invoke({ callee, args, results, origin }: Extract<Statement, { kind: 'invoke' }>): void {
    const passed = [
      ...this.#context(callee).map(({ name }) => name),
      ...args.map((node) => this.#fullText(node, false)),
    ];
    const call = `${functionName(callee)}(${passed.join(', ')})`;
    const { constant } = this.#dialect.syntax;
    const [result] = results;
    if (result && results.length === 1) this.#declare(result, call, origin);
    else {
      const all = `r${this.#valueCount}`;
      this.line(
        constant(
          resultTypeOf(callee, (type) => this.#typeName(type)),
          all,
          call,
        ),
        origin,
      );
      for (const [i, node] of results.entries()) this.#declare(node, `${all}.r${i}`, origin);
    }
    if (this.#needs.get(callee)?.cancels) this.#cancelCheck(origin);
  }

  /** In a function the lines that leave the item return to the caller, which checks again. */
  #cancelCheck(origin: Origin): void {
    const isSingle = this.#function?.results.length === 1;
    for (const text of this.#dialect.cancelCheck)
      this.line(
        this.#function ? text.replace(/return[^;]*;/, isSingle ? 'return 0;' : this.#returnAll([])) : text,
        origin,
      );
  }

  block(block: Block): void {
    for (const statement of block) this.#statement(statement, block);
  }

  #operand(node: Node): Operand {
    const varying = this.#dialect.isVarying(node);
    if (node.op === 'const')
      return { text: this.#dialect.literal(node.type, node.detail.value as Value), varying, node };
    const inline = this.#inline.get(node);
    if (inline) return { text: `(${inline.text})`, varying, node };
    const name = this.#names.get(node);
    if (name) return { text: name, varying, node };
    return { text: this.#dialect.leaf(node), varying, node };
  }

  /**
   * Returns a value for effects that access it lane by lane. It gets a name; otherwise each lane would compute it for all
   * lanes.
   */
  #named(node: Node): Operand {
    const inline = this.#inline.get(node);
    if (inline && this.#dialect.isVarying(node)) {
      this.#inline.delete(node);
      this.#declare(node, inline.text, node.origin);
    }
    return this.#operand(node);
  }

  /** Returns the text of a value that a statement uses without combining it. */
  #fullText(node: Node, varying: boolean): string {
    const inline = this.#inline.get(node);
    const text = inline ? inline.text : this.#operand(node).text;
    return varying && !this.#dialect.isVarying(node) ? this.#dialect.splat(node.type, text) : text;
  }

  #define(node: Node): string {
    const name = `v${this.#valueCount++}`;
    this.#names.set(node, name);
    return name;
  }

  #declare(node: Node, text: string, origin: Origin): void {
    const type = this.#dialect.typeName(node.type, this.#dialect.isVarying(node));
    this.line(this.#dialect.syntax.constant(type, this.#define(node), text), origin);
    this.statements++;
  }

  #statement(statement: Statement, block: Block): void {
    const { origin } = statement;
    const mask = statement.mask && this.#operand(statement.mask).text;
    for (const text of this.#dialect.before?.(statement) ?? []) this.line(text, origin);
    switch (statement.kind) {
      case 'let': {
        const { node } = statement;
        const varying = this.#dialect.isVarying(node);
        const text = this.#dialect.operation(
          node,
          node.args.map((arg) => this.#operand(arg)),
          varying,
          mask,
        );
        const size = node.args.reduce((sum, arg) => sum + (this.#inline.get(arg)?.size ?? 0), 1);
        if (this.#usedOnce.has(node) && size <= INLINE_OPERATIONS) this.#inline.set(node, { text, size });
        else this.#declare(node, text, origin);
        return;
      }
      case 'cell': {
        const name = `c${this.#cellCount++}`;
        this.#cellNames.set(statement.cell, name);
        const varying = this.#dialect.isVaryingCell(statement.cell);
        const type = this.#dialect.typeName(statement.cell.type, varying);
        this.line(this.#dialect.syntax.variable(type, name, this.#fullText(statement.value, varying)), origin);
        this.statements++;
        return;
      }
      case 'get':
        this.#declare(statement.result, this.#cellName(statement.cell), origin);
        return;
      case 'set': {
        const name = this.#cellName(statement.cell);
        const value = this.#fullText(statement.value, this.#dialect.isVaryingCell(statement.cell));
        this.line(
          mask ? this.#dialect.maskedSet(name, statement.cell.type, value, mask) : `${name} = ${value};`,
          origin,
        );
        this.statements++;
        return;
      }
      case 'when':
        this.braces(`if (${this.#fullText(statement.condition, false)})`, () => this.block(statement.body), origin);
        if (statement.otherwise.length > 0) this.braces('else', () => this.block(statement.otherwise));
        return;
      case 'loop': {
        const index = this.#define(statement.index);
        const count = this.#operand(statement.count).text;
        const head = this.#dialect.syntax.loop(index, '0', `${index} < ${count}`, `${index}++`);
        this.braces(
          head,
          () => {
            if (statement.isLong) this.#cancelCheck(origin);
            this.block(statement.body);
          },
          origin,
        );
        return;
      }
      case 'while':
        this.braces(
          'for (;;)',
          () => {
            if (statement.isLong) this.#cancelCheck(origin);
            this.block(statement.test);
            this.line(this.#dialect.syntax.breakIf(`!(${this.#fullText(statement.condition, false)})`), origin);
            this.block(statement.body);
          },
          origin,
        );
        return;
      case 'break':
        this.line(this.#dialect.syntax.breakIf(this.#fullText(statement.condition, false)), origin);
        return;
      case 'each':
      case 'sum':
      case 'scan':
      case 'once':
        this.#dialect.region(statement, {
          uniform: (node) => this.#operand(node).text,
          varying: (node) => this.#fullText(node, true),
          define: (node) => this.#define(node),
          body: () => this.block(statement.kind === 'scan' ? [] : statement.body),
          line: (text) => this.line(text, origin),
          braces: (head, inner) => this.braces(head, inner, origin),
        });
        this.statements++;
        return;
      case 'function':
      case 'parameters':
        return; // see `functions`
      case 'results':
        this.#return(statement.values, origin);
        return;
      case 'invoke':
        this.#invoke(statement);
        return;
      case 'return':
      case 'emit':
        throw new TypeError(`${statement.kind} is lowered before printing`);
      default: {
        const names: EffectNames = {
          value: (node) => this.#named(node),
          define: (node) => this.#define(node),
          mask,
          block,
        };
        for (const text of this.#dialect.effect(statement, names)) this.line(text, origin);
        this.statements++;
      }
    }
  }

  #cellName(cell: CellDecl): string {
    return this.#cellNames.get(cell) ?? 'missing_cell';
  }
}

/** Returns the values whose only use is in the block that computes them. They can be printed where they are used. */
export function usedOnceInTheirBlock(body: Block): Set<Node> {
  const uses = new Map<Node, { count: number; block: Block }>();
  const homes = new Map<Node, Block>();
  const use = (node: Node, block: Block) => {
    const known = uses.get(node);
    uses.set(node, { count: (known?.count ?? 0) + 1, block });
  };
  const walk = (block: Block): void => {
    for (const statement of block) {
      if (statement.kind === 'let') homes.set(statement.node, block);
      for (const node of readNodes(statement)) use(node, block);
      const last = nodeReadAtEnd(statement);
      if (last) use(last.node, last.block);
      for (const inner of innerBlocks(statement)) walk(inner);
    }
  };
  walk(body);
  const single = new Set<Node>();
  for (const [node, block] of homes) {
    const known = uses.get(node);
    if (known?.count === 1 && known.block === block) single.add(node);
  }
  return single;
}
