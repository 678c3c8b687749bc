import {
  type Block,
  type FunctionDecl,
  functionsOf,
  innerBlocks,
  type Program,
  type Statement,
  type TableDecl,
} from '../../ir/program.js';
import type { Scalar } from '../../language/types.js';

/** A language's syntax for functions of kernels. A parameter is given as its type and name. */
export interface FunctionSyntax {
  head(name: string, result: string, params: readonly string[]): string;
  param(type: string, name: string): string;
  /** Declares the type of several results, with the fields `r0`, `r1` and so on. */
  structure(name: string, types: readonly string[]): string;
  /** Returns a statement that returns several results; zeros if there are no values. */
  returnAll(type: string, values: readonly string[]): string;
}

/** Functions in C and its relatives, with these words before them. */
export const cFunctions = (qualifier: string): FunctionSyntax => ({
  head: (name, result, params) => `${qualifier} ${result} ${name}(${params.join(', ')})`,
  param: (type, name) => `${type} ${name}`,
  structure: (name, types) => `typedef struct { ${types.map((type, i) => `${type} r${i};`).join(' ')} } ${name};`,
  returnAll: (type, values) => {
    const fields = values.map((value, i) => ` all.r${i} = ${value};`);
    return `{ ${type} all${values.length === 0 ? ' = {0}' : ''};${fields.join('')} return all; }`;
  },
});

/** Memory that a function accesses besides its own: its callers pass it on. */
export interface FunctionNeeds {
  /** True if a loop checks whether the launch was cancelled. */
  readonly cancels: boolean;
  readonly tables: ReadonlySet<TableDecl>;
}

/** A parameter that is not a value of the function: memory of the launch. */
export interface ContextParameter {
  readonly name: string;
  readonly declaration: string;
}

/** Returns the needs of each function, with those of the functions that it calls. */
export function functionNeeds(program: Pick<Program, 'body'>): ReadonlyMap<FunctionDecl, FunctionNeeds> {
  const needs = new Map<FunctionDecl, FunctionNeeds>();
  for (const { callee, body } of functionsOf(program)) {
    let cancels = false;
    const tables = new Set<TableDecl>();
    const visit = (statement: Statement): void => {
      if ((statement.kind === 'loop' || statement.kind === 'while') && statement.isLong) cancels = true;
      if (statement.kind === 'let' && statement.node.detail.table) tables.add(statement.node.detail.table);
      if (statement.kind === 'invoke') {
        const called = needs.get(statement.callee);
        cancels ||= called?.cancels ?? false;
        for (const table of called?.tables ?? []) tables.add(table);
      }
      innerBlocks(statement).forEach(visitAll);
    };
    const visitAll = (block: Block): void => block.forEach(visit);
    visitAll(body);
    needs.set(callee, { cancels, tables });
  }
  return needs;
}

/** A name that no other part of the text has. */
export const functionName = ({ id, name }: FunctionDecl): string => `fn${id}_${name.replaceAll('-', '_')}`;

/** Returns the type of a function's result: of its value, or of the structure that holds several. */
export const resultTypeOf = (callee: FunctionDecl, typeName: (type: Scalar) => string): string => {
  const [first, ...others] = callee.results;
  return first && others.length === 0 ? typeName(first) : `${functionName(callee)}_results`;
};
