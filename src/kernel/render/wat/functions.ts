import { type FunctionDecl, type FunctionStatement, functionsOf } from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import type { Gang } from '../../passes/shape/gang.js';
import { type FunctionNeeds, functionName, functionNeeds } from '../c/functions.js';
import { type Effects, WatBody } from './body.js';
import { get, wasmType, watLiteral } from './scalar-forms.js';

/** A function of the kernel as text, without its end. */
export interface WatFunction {
  readonly body: WatBody;
  /** The first line, with parameters and results. */
  readonly head: string;
  readonly origin: Origin;
  /** Names that are parameters, not variables. */
  readonly params: ReadonlySet<string>;
}

/** The functions of a program. Their bodies are printed like a kernel's, each with variables of its own. */
export class WatFunctions {
  readonly #needs: ReadonlyMap<FunctionDecl, FunctionNeeds>;
  readonly #statements: readonly FunctionStatement[];
  readonly #checked: boolean;

  constructor({ program }: Gang, checked: boolean) {
    this.#needs = functionNeeds(program);
    this.#statements = functionsOf(program);
    this.#checked = checked;
  }

  /** Returns the variables of the launch that a function gets before its arguments. */
  context(callee: FunctionDecl): string[] {
    const cancels = this.cancels(callee);
    return [...(this.#checked || cancels ? ['$control'] : []), ...(cancels ? ['$epoch'] : [])];
  }

  /** True if a call may end early because the launch was cancelled. */
  cancels(callee: FunctionDecl): boolean {
    return this.#needs.get(callee)?.cancels ?? false;
  }

  print(gang: Gang, effects: (body: WatBody) => Effects): WatFunction[] {
    return this.#statements.map(({ callee, body: block, origin }) => {
      const body = new WatBody({ ...gang, program: { ...gang.program, body: block } }, effects, this);
      const [first] = block;
      const own = (first?.kind === 'parameters' ? first.nodes : []).map((node) => {
        const [name = ''] = body.define(node);
        return { name, type: wasmType(node.type) };
      });
      const zeros = callee.results.map((type) => watLiteral(type, type === 'u64' ? 0n : type === 'bool' ? false : 0));
      body.cancelCheck = `${CANCELLED} (then (return ${zeros.join(' ')})))`;
      body.block(block);
      const params = [...this.context(callee).map((name) => ({ name, type: 'i32' })), ...own];
      const head = [
        `(func $${functionName(callee)}`,
        ...params.map(({ name, type }) => `(param ${name} ${type})`),
        `(result ${callee.results.map(wasmType).join(' ')})`,
      ].join(' ');
      return { body, head, origin, params: new Set(params.map(({ name }) => name)) };
    });
  }
}

/** The beginning of the text that leaves a loop if the launch was cancelled. */
export const CANCELLED = `(if (i32.ne (i32.atomic.load ${get('$control')}) ${get('$epoch')})`;
