import { CANCEL_CHECK_INTERVAL } from '../../abi/harness.js';
import type { HoistedProgram, Node } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import type { Scalar, Value } from '../../language/types.js';
import { paramsOf } from '../../passes/graph.js';
import type { Gang } from '../../passes/shape/gang.js';
import { parameterName } from '../names.js';
import { CLikePrinter, cSyntax, type Dialect, type Operand } from './c-like.js';
import { type ContextParameter, cFunctions, type FunctionNeeds } from './functions.js';
import { Helpers } from './helpers.js';
import { cLiteral, vectorType } from './literal.js';
import { CMemory } from './memory.js';
import { CRegions, laneLoop } from './regions.js';

export interface CText {
  readonly text: string;
  readonly lineOrigins: readonly (Origin | undefined)[];
  readonly statements: number;
  /** Checked builds: the accesses that can trap, by trap number. */
  readonly sites: readonly Origin[];
}

export interface COptions {
  readonly checked: boolean;
  /** True if three-input logic is printed as one instruction (AVX-512, 16 lanes of 32 bits). */
  readonly ternaryLogic: boolean;
}

/** Prints C for GCC and clang: plain scalars with one lane, the compilers' vector extensions with more. */
export function renderC(gang: Gang, options: COptions): CText {
  const { program, lanes } = gang;
  const helpers = new Helpers(lanes, options.ternaryLogic);
  const memory = new CMemory(gang, helpers, options.checked);
  const dialect = new CDialect(gang, helpers, memory, options.checked);
  const body = new CLikePrinter(program, dialect);
  body.functions();
  entry(program, lanes, body, memory);

  const head = [
    `/* kernel ${program.name}, ${lanes} lane${lanes === 1 ? '' : 's'} */`,
    ...helpers.prelude(),
    ...memory.prelude(),
    ...memory.nearArrays(program),
    ...program.tables.flatMap((table) => memory.constantTable(table)),
    '',
  ];
  return {
    text: `${[...head, ...body.lines].join('\n')}\n`,
    lineOrigins: [...head.flatMap((text) => text.split('\n').map(() => undefined)), ...body.origins],
    statements: body.statements,
    sites: memory.sites,
  };
}

/**
 * Prints `millrace_run`, which processes items [begin, end) of a launch and returns their number: fewer if the launch was
 * cancelled or trapped. launch[0] holds parameters, [1] control words (cancel epoch; trap flag, its site, index and length),
 * [2] this launch's epoch, then address and size in bytes of each binding.
 */
function entry(program: HoistedProgram, gangLanes: number, body: CLikePrinter, memory: CMemory): void {
  const lanes = program.kind === 'items' ? gangLanes : 1; // the lanes of a tile are inside its regions
  const cancelEvery = program.kind === 'items' ? CANCEL_CHECK_INTERVAL : 1;
  body.braces('uint64_t millrace_run(const uint64_t *launch, uint64_t begin, uint64_t end)', () => {
    body.line('const u32 *const params = (const u32 *)launch[0];');
    body.line('u32 *const control = (u32 *)launch[1];');
    body.line('const u32 epoch = (u32)launch[2];');
    for (const text of memory.bindings(program)) body.line(text);
    for (const node of paramsOf(program.body)) {
      body.line(`const ${node.type} ${parameterName(node)} = ${paramText(node.type, node.detail.word ?? 0)};`);
    }
    laneLoop(body, lanes, 'first', 'begin', 'end', 'item', () => {
      body.line(`if (((first - begin) & ${cancelEvery - 1}) == 0 && ${CANCELLED}) return first - begin;`);
      body.block(program.body);
      for (const text of memory.afterItem()) body.line(text);
    });
    body.line('return end - begin;');
  });
}

const CANCELLED = '__atomic_load_n(control, __ATOMIC_RELAXED) != epoch';

function paramText(type: Scalar, word: number): string {
  const one = `params[${word}]`;
  const two = `((u64)params[${word + 1}] << 32 | params[${word}])`;
  switch (type) {
    case 'u32':
      return one;
    case 'bool':
      return `${one} != 0`;
    case 'i32':
      return `(i32)${one}`;
    case 'u64':
      return two;
    case 'f32':
      return `bits_u32_f32(${one})`;
    case 'f64':
      return `bits_u64_f64(${two})`;
  }
}

class CDialect implements Dialect {
  readonly syntax = cSyntax;
  readonly cancelCheck = [`if (${CANCELLED}) return first - begin;`];
  readonly functions = cFunctions('static');
  readonly #gang: Gang;
  readonly #helpers: Helpers;
  readonly #memory: CMemory;
  readonly #regions: CRegions;
  readonly #checked: boolean;

  constructor(gang: Gang, helpers: Helpers, memory: CMemory, checked: boolean) {
    this.#checked = checked;
    this.#gang = gang;
    this.#helpers = helpers;
    this.#memory = memory;
    this.#regions = new CRegions(gang.lanes, helpers);
    for (const { type } of paramsOf(gang.program.body)) {
      if (type === 'f32') helpers.use('bits_u32_f32');
      if (type === 'f64') helpers.use('bits_u64_f64');
    }
  }

  functionContext({ cancels }: FunctionNeeds): ContextParameter[] {
    return [
      ...(this.#checked || cancels ? [{ name: 'control', declaration: 'u32 *const control' }] : []),
      ...(cancels ? [{ name: 'epoch', declaration: 'const u32 epoch' }] : []),
    ];
  }
  isVarying(node: Node): boolean {
    return this.#gang.varying.has(node);
  }
  isVaryingCell(cell: Parameters<Dialect['isVaryingCell']>[0]): boolean {
    return this.#gang.varyingCells.has(cell);
  }
  typeName(type: Scalar, varying: boolean): string {
    return vectorType(type, varying);
  }
  literal(type: Scalar, value: Value): string {
    return cLiteral(type, value);
  }
  leaf(node: Node): string {
    if (node.op === 'param') return parameterName(node);
    if (node.op === 'item' || node.op === 'active') return node.op;
    throw new TypeError(`no text for ${node.op} (node ${node.id})`);
  }
  splat(type: Scalar, text: string): string {
    return `splat_${type}(${text})`;
  }
  maskedSet(cell: string, type: Scalar, value: string, mask: string): string {
    return `${cell} = ${this.#helpers.call(`select_${type}`, true)}(${mask}, ${value}, ${cell});`;
  }
  operation(node: Node, args: readonly Operand[], varying: boolean, mask: string | undefined): string {
    if (node.op === 'lookup') return this.#memory.lookup(node, args[0] as Operand, varying, mask);
    return this.#helpers.operation(node, args, varying);
  }
  region(...[statement, printer]: Parameters<Dialect['region']>): void {
    this.#regions.print(statement, printer);
  }
  effect(...[statement, names]: Parameters<Dialect['effect']>): string[] {
    return this.#memory.effect(statement, names);
  }
}
