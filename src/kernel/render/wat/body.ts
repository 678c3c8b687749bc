import type { Block, CellDecl, Node, Statement } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import type { Scalar, Value } from '../../language/types.js';
import type { Gang } from '../../passes/shape/gang.js';
import { usedOnceInTheirBlock } from '../c/c-like.js';
import { functionName } from '../c/functions.js';
import { parameterName } from '../names.js';
import type { WatFunctions } from './functions.js';
import { calledIn } from './helpers.js';
import { printRegion } from './regions.js';
import { get, wasmType, watLiteral } from './scalar-forms.js';
import {
  type Operand,
  type OperationContext,
  operationTexts,
  registersOf,
  splatConstant,
  splatText,
} from './values.js';

export type EffectStatement = Extract<
  Statement,
  { kind: 'array' | 'load' | 'store' | 'prefetch' | 'atomic' | 'native' }
>;

/** Prints memory accesses: see `memory.ts`. */
export interface Effects {
  /** Defines the node. */
  lookup(node: Node, index: Operand, varying: boolean, mask: Operand | undefined): void;
  effect(statement: EffectStatement, mask: Operand | undefined): void;
}

/** The maximum number of operations in an inline expression; a longer one reads badly and gets a name. */
const INLINE_OPERATIONS = 5;

/**
 * Prints a placed and ganged program as WAT: a line per value that is used more than once. It records the line of the user's
 * source for each line. Names are numbered in the order of the text, so that the same program gives the same text.
 */
export class WatBody implements OperationContext {
  readonly gang: Gang;
  readonly lanes: number;
  readonly lines: string[] = [];
  readonly origins: (Origin | undefined)[] = [];
  /** Functions that the text calls. */
  readonly called = new Set<string>();
  /** Parameters that the text reads. */
  readonly params = new Map<string, Node>();
  /** Parameters that gangs need in all lanes: made once, before the first item. */
  readonly broadcastParams = new Map<string, { readonly type: Scalar; readonly text: string }>();
  statements = 0;
  /** The text that ends a cancelled launch; long loops have it before each round. */
  cancelCheck = '';
  readonly #effects: Effects;
  readonly #functions: WatFunctions;
  readonly #locals = new Map<string, string>();
  readonly #known = new Map<Node, Operand>();
  readonly #sizes = new Map<Node, number>();
  readonly #usedOnce: ReadonlySet<Node>;
  readonly #cells = new Map<CellDecl, string[]>();
  #indent = 0;
  #nameCount = 0;
  #loops: number[] = [];
  #loopCount = 0;
  #origin: Origin | undefined;

  constructor(gang: Gang, effects: (body: WatBody) => Effects, functions: WatFunctions) {
    this.gang = gang;
    this.#functions = functions;
    this.lanes = gang.lanes;
    this.#usedOnce = usedOnceInTheirBlock(gang.program.body);
    this.#effects = effects(this);
  }

  get locals(): ReadonlyMap<string, string> {
    return this.#locals;
  }

  line(text: string, origin = this.#origin): void {
    this.lines.push(`${'  '.repeat(this.#indent)}${text}`);
    this.origins.push(origin);
    for (const name of calledIn(text)) this.called.add(name);
  }

  /** Prints `head`, the inner lines, `tail`. */
  nest(head: string, inner: () => void, tail = ')'): void {
    this.line(head);
    this.#indent++;
    inner();
    this.#indent--;
    this.line(tail);
  }

  /** Prints `(if condition (then …) (else …))`, on one line if it fits. */
  branch(condition: string, yes: () => void, no?: () => void): void {
    const at = this.lines.length;
    this.nest(`(if ${condition} (then`, yes, no ? ') (else' : '))');
    if (no) {
      this.#indent++;
      no();
      this.#indent--;
      this.line('))');
    } else if (this.lines.length === at + 3) {
      const [head = '', only = ''] = this.lines.splice(at);
      this.origins.splice(at + 1);
      this.lines.push(`${head} ${only.trim()}))`);
    }
  }

  /** Declares a variable for the whole function, as Wasm requires. */
  local(name: string, type: string): string {
    this.#locals.set(name, type);
    return name;
  }

  set(name: string, text: string): void {
    this.line(`(local.set ${name} ${text})`);
  }

  block(block: Block): void {
    for (const statement of block) this.#statement(statement);
  }

  operand(node: Node): Operand {
    if (node.op === 'const')
      return { node, varying: false, texts: [watLiteral(node.type, node.detail.value as Value)], isAtom: true };
    return this.#known.get(node) ?? this.#leaf(node);
  }

  isVarying(node: Node): boolean {
    return this.gang.varying.has(node);
  }

  /** Declares variables for a value that is about to be defined, one per register. */
  define(node: Node): string[] {
    const varying = this.isVarying(node);
    const names = this.registers(`$v${this.#nameCount++}`, node.type, varying);
    this.#known.set(node, { node, varying, texts: names.map(get), isAtom: true });
    return names;
  }

  registers(name: string, type: Scalar, varying: boolean): string[] {
    const count = registersOf(type, varying, this.lanes);
    const names = count === 1 ? [name] : Array.from({ length: count }, (_, r) => `${name}.${r}`);
    return names.map((each) => this.local(each, varying ? 'v128' : wasmType(type)));
  }

  /** Returns a value that may be written several times. */
  toAtom(operand: Operand): Operand {
    return operand.isAtom ? operand : this.toVariable(operand);
  }

  toVariable(operand: Operand): Operand {
    const names = this.registers(`$v${this.#nameCount++}`, operand.node.type, operand.varying);
    names.forEach((name, r) => {
      this.set(name, operand.texts[r] ?? '');
    });
    return { ...operand, texts: names.map(get), isAtom: true };
  }

  /** Assigns a register, or a single word, to a new variable. */
  newVariable(text: string, type = 'v128'): string {
    const name = this.local(`$v${this.#nameCount++}`, type);
    this.set(name, text);
    return get(name);
  }

  broadcast({ node, texts }: Operand): string {
    const [text = ''] = texts;
    if (node.op === 'const') return splatConstant(node.type, node.detail.value as Value);
    if (node.op !== 'param') return splatText(node.type, text);
    const name = `$${parameterName(node)}.all`;
    this.broadcastParams.set(this.local(name, 'v128'), { type: node.type, text });
    return get(name);
  }

  /** Returns a value for every lane: a text per register. */
  inLanes(operand: Operand): string[] {
    if (operand.varying) return [...operand.texts];
    const text = this.broadcast(operand);
    return Array<string>(registersOf(operand.node.type, true, this.lanes)).fill(text);
  }

  #leaf(node: Node): Operand {
    const varying = this.isVarying(node);
    if (node.op === 'param') {
      const name = `$${parameterName(node)}`;
      this.params.set(name, node);
      return { node, varying, texts: [get(name)], isAtom: true };
    }
    if (node.op !== 'item' && node.op !== 'active') throw new TypeError(`no text for ${node.op} (node ${node.id})`);
    return { node, varying, texts: this.registers(`$${node.op}`, node.type, varying).map(get), isAtom: true };
  }

  #statement(statement: Statement): void {
    this.#origin = statement.origin;
    const mask = statement.mask && this.toAtom(this.operand(statement.mask));
    switch (statement.kind) {
      case 'let':
        this.#let(statement.node, mask);
        return;
      case 'cell': {
        const varying = this.gang.varyingCells.has(statement.cell);
        const names = this.registers(`$c${this.#cells.size}`, statement.cell.type, varying);
        this.#cells.set(statement.cell, names);
        this.#assign(names, statement.value, varying);
        return;
      }
      case 'get': {
        const names = this.#cells.get(statement.cell) ?? [];
        this.define(statement.result).forEach((name, r) => {
          this.set(name, get(names[r] ?? ''));
        });
        this.statements++;
        return;
      }
      case 'set':
        this.#assign(
          this.#cells.get(statement.cell) ?? [],
          statement.value,
          this.gang.varyingCells.has(statement.cell),
          mask,
        );
        return;
      case 'when':
        this.#when(statement);
        return;
      case 'loop':
      case 'while':
        this.#loop(statement);
        return;
      case 'break':
        this.line(`(br_if $break${this.#loops.at(-1)} ${this.#condition(statement.condition)})`);
        return;
      case 'array':
      case 'load':
      case 'store':
      case 'prefetch':
      case 'atomic':
      case 'native':
        this.#effects.effect(statement, mask);
        this.statements++;
        return;
      case 'each':
      case 'sum':
      case 'scan':
      case 'once':
        printRegion(this, statement);
        this.statements++;
        return;
      case 'function':
      case 'parameters':
        return; // see `WatFunctions`
      case 'results':
        for (const node of statement.values) this.line(this.operand(node).texts[0] ?? '');
        this.statements++;
        return;
      case 'invoke':
        this.#invoke(statement);
        return;
      case 'return':
      case 'emit':
        throw new TypeError(`${statement.kind} is lowered before printing`);
    }
  }

  /** Several results are on the stack after the call, the last one on top. */
  #invoke({ callee, args, results }: Extract<Statement, { kind: 'invoke' }>): void {
    const values = args.map((node) => this.operand(node).texts[0] ?? '');
    const call = `(call ${[`$${functionName(callee)}`, ...this.#functions.context(callee).map(get), ...values].join(' ')})`;
    const names = results.flatMap((node) => this.define(node));
    const [name] = names;
    if (name && names.length === 1) this.set(name, call);
    else {
      this.line(call);
      for (const each of names.reverse()) this.line(`(local.set ${each})`);
    }
    this.statements++;
    if (this.#functions.cancels(callee)) this.line(this.cancelCheck);
  }

  #let(node: Node, mask: Operand | undefined): void {
    const varying = this.isVarying(node);
    const args = node.args.map((arg) => this.operand(arg));
    if (node.op === 'lookup') {
      this.#effects.lookup(node, args[0] as Operand, varying, mask);
      this.statements++;
      return;
    }
    const texts = operationTexts(node, args, varying, this);
    const size = node.args.reduce((sum, arg) => sum + (this.#sizes.get(arg) ?? 0), 1);
    if (this.#usedOnce.has(node) && size <= INLINE_OPERATIONS) {
      this.#known.set(node, { node, varying, texts, isAtom: false });
      this.#sizes.set(node, size);
      return;
    }
    this.define(node).forEach((name, r) => {
      this.set(name, texts[r] ?? '');
    });
    this.statements++;
  }

  /** Assigns a cell's new value, only for the lanes of the mask if there is one. */
  #assign(names: readonly string[], value: Node, varying: boolean, mask?: Operand): void {
    const operand = this.operand(value);
    const texts = varying ? this.inLanes(operand) : operand.texts;
    const where = mask && this.laneMasks(this.inLanes(mask), names.length);
    names.forEach((name, r) => {
      this.set(name, where ? `(v128.bitselect ${texts[r]} ${get(name)} ${where[r]})` : (texts[r] ?? ''));
    });
    this.statements++;
  }

  /** Makes the variable of a loop over lanes, and a number for its labels. */
  counter(): { readonly first: string; readonly number: number } {
    const number = this.#loopCount++;
    return { first: this.local(`$first${number}`, 'i64'), number };
  }

  /** Returns a mask as wide as values that take `registers` registers. */
  laneMasks(masks: readonly string[], registers: number): readonly string[] {
    if (masks.length === registers) return masks;
    return masks.flatMap((text) => ['low', 'high'].map((half) => `(i64x2.extend_${half}_i32x4_s ${text})`));
  }

  #condition(node: Node): string {
    return this.operand(node).texts[0] ?? '';
  }

  #when({ condition, body, otherwise }: Extract<Statement, { kind: 'when' }>): void {
    const no = otherwise.length > 0 ? () => this.block(otherwise) : undefined;
    this.branch(this.#condition(condition), () => this.block(body), no);
  }

  #loop(statement: Extract<Statement, { kind: 'loop' | 'while' }>): void {
    const number = this.#loopCount++;
    const counted = statement.kind === 'loop' ? this.#countedLoop(statement) : undefined;
    this.#loops.push(number);
    this.nest(
      `(block $break${number} (loop $again${number}`,
      () => {
        if (statement.isLong) this.line(this.cancelCheck);
        if (counted) {
          this.line(`(br_if $break${number} (i32.ge_u ${get(counted.index)} ${counted.count}))`);
        } else if (statement.kind === 'while') {
          this.block(statement.test);
          this.line(`(br_if $break${number} (i32.eqz ${this.#condition(statement.condition)}))`);
        }
        this.block(statement.body);
        if (counted) this.set(counted.index, `(i32.add ${get(counted.index)} (i32.const 1))`);
        this.line(`(br $again${number})`);
      },
      '))',
    );
    this.#loops.pop();
  }

  /** The index starts at 0; the count is evaluated once. */
  #countedLoop({ count, index }: Extract<Statement, { kind: 'loop' }>): { index: string; count: string } {
    const countOperand = this.operand(count);
    const countAtom = this.toAtom(countOperand);
    const [name = ''] = this.define(index);
    this.set(name, '(i32.const 0)');
    return { index: name, count: countAtom.texts[0] ?? '' };
  }
}
