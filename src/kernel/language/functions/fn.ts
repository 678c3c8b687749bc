import type { Node } from '../../ir/program.js';
import { Expr } from '../expr.js';
import { callers } from '../origin.js';
import {
  checkName,
  type Fields,
  fieldNodes,
  fieldsOf,
  fieldValuesOf,
  type HitValues,
  type ScalarFields,
  type ScalarHit,
  type TracedFields,
  type TracedScalars,
} from '../signature.js';
import { currentTrace } from '../trace.js';
import { type Scalar, scalarOf, type Type } from '../types.js';

/** What a function may return: a value, or lists and records of values. */
export type FunctionResult = Expr<Type> | readonly FunctionResult[] | { readonly [name: string]: FunctionResult };

/** The results of a call, in the form in which the body returned them. A cell is returned as its value. */
export type Returned<R> = R extends Expr<infer T> ? Expr<T> : { readonly [K in keyof R]: Returned<R[K]> };

/** A function of kernels. It takes a value for each parameter, by name. */
export type KernelFunction<P extends Fields, R> = (args: HitValues<P>) => Returned<R>;

/**
 * Defines a function that kernels and other functions call. Its body is traced once per kernel, with parameters that stand
 * for the arguments of all calls: it uses these, constants, cells, arrays, loops and functions, but nothing of the kernel
 * around it. Targets that have functions print it once; small functions and those of CPU gangs are inlined.
 */
export function fn<const P extends ScalarFields, const R extends FunctionResult>(
  name: string,
  params: P,
  body: (params: TracedScalars<P>) => R,
): (args: ScalarHit<P>) => Returned<R>;
export function fn<const P extends Fields, const R extends FunctionResult>(
  name: string,
  params: P,
  body: (params: TracedFields<P>) => R,
): KernelFunction<P, R>;
export function fn<P extends Fields, R extends FunctionResult>(
  name: string,
  params: P,
  body: (params: never) => R,
): KernelFunction<P, R> {
  checkName('function', name);
  const fields = fieldsOf(params);
  const declared = fields.flatMap(({ type, length }) => Array<Type>(length).fill(type));
  const types = declared.map((type): Scalar => scalarOf(type));
  const shapes = new WeakMap<object, (nodes: Iterator<Node>) => unknown>();
  const key = {};
  return (args) => {
    const trace = currentTrace();
    const nodes = fieldNodes(trace, fields, args, {
      what: `function ${name}`,
      advice: `give all its parameters: ${name}({ ${fields.map((field) => field.name).join(', ')} })`,
    });
    const results = trace.functions.invoke({ key, name, params: types }, nodes, (made) => {
      const own = made.map((node, i) => new Expr(declared[i] as Type, node));
      const returned = callers.callBlockBody(body, fieldValuesOf(fields, own) as never);
      const found: Node[] = [];
      shapes.set(trace, shapeOf(name, returned, found));
      return found;
    });
    return shapes.get(trace)?.(results.values()) as Returned<R>;
  };
}

/** Adds the values of a result to `found`. Returns a function that makes the same lists and records of other values. */
function shapeOf(name: string, result: unknown, found: Node[]): (nodes: Iterator<Node>) => unknown {
  if (result instanceof Expr) {
    const { node, type } = result as Expr<Type>;
    found.push(node);
    return (nodes) => new Expr(type, nodes.next().value as Node);
  }
  if (Array.isArray(result) && result.length > 0) {
    const parts = result.map((part) => shapeOf(name, part, found));
    return (nodes) => parts.map((part) => part(nodes));
  }
  if (isRecord(result) && Object.keys(result).length > 0) {
    const parts = Object.entries(result).map(([key, part]) => [key, shapeOf(name, part, found)] as const);
    return (nodes) => Object.fromEntries(parts.map(([key, part]) => [key, part(nodes)]));
  }
  throw currentTrace().error(
    'kernel-type',
    `function ${name} returns ${result === undefined ? 'nothing' : describe(result)}`,
    'return a value of the kernel, or a list or record of values; write a constant as lit(type, value)',
  );
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

function describe(value: unknown): string {
  if (Array.isArray(value)) return 'an empty list';
  if (isRecord(value)) return 'an empty record';
  return typeof value === 'object' ? 'an object that is not a value' : `${typeof value} ${String(value)}`;
}
