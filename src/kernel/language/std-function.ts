import type { NativeShape, Node } from '../ir/program.js';
import { ValueStage } from '../ir/program.js';
import { Expr } from './expr.js';
import { currentTrace } from './trace.js';
import { scalarOf, type Type } from './types.js';

/** A native body's key names the target's text and the instructions it needs: `c-shani`, `c-neon-sha`. */
export interface NativeText {
  /** Declarations placed once before the kernel's function. */
  readonly prelude?: string;
  /** The gang size that suits this body best; 4 by default. */
  readonly lanes?: number | 'widest';
  /** See `NativeBody.quads`. */
  readonly quads?: boolean;
  text(shape: NativeShape): string;
}

export interface StdFunction {
  readonly name: string;
  /** What the definition depends on besides its arguments: with the name it identifies the function in encoded kernels. */
  readonly parameters?: string;
  /** Types of the results for given arguments. */
  results(args: readonly Expr<Type>[]): readonly Type[];
  /** The definition, in terms of the language. */
  generic(...args: Expr<Type>[]): Expr<Type>[];
  /** Native text per target. In a gang, the text gets the names of all lanes' values and may interleave them. */
  readonly native?: Readonly<Record<string, NativeText>>;
}

/** For std functions that can be traced as a loop of their rounds. Results are the same. */
export interface RolledOption {
  /**
   * True for a loop instead of unrolled rounds: less code, some instructions more. By default rounds are unrolled, unless the
   * kernel would exceed the number of statements that its target accepts.
   */
  readonly rolled?: boolean;
}

/** The key that a target adds to its native bodies to ask for loops. */
export const ROLLED_KEY = 'rolled';

/** The key of a target whose products of 32 bits have no upper half. */
export const NARROW_KEY = 'narrow';

/** True if a call is to be traced as a loop. What is known before the launch is not: the host computes it. */
export const isRolled = ({ rolled }: RolledOption, args: readonly Expr<Type>[]): boolean =>
  (rolled ?? currentTrace().natives.has(ROLLED_KEY)) && !areKnownEarly(args);

/** True if all values are known before the launch. */
export const areKnownEarly = (args: readonly Expr<Type>[]): boolean =>
  args.every(({ node }) => node.stage < ValueStage.varying);

/** A std function, called with traced values. */
export interface StdCall {
  (...args: Expr<Type>[]): Expr<Type>[];
  readonly definition: StdFunction;
}

/** Returns the name of a std function in encoded kernels. */
export const encodedName = ({ name, parameters }: StdFunction): string =>
  parameters === undefined ? name : `${name} ${parameters}`;

/**
 * Defines a std function. It stays one statement if the target has a native body for it. Otherwise, or if all arguments are
 * known before the launch, its generic body is traced in place. In a recording it is a call.
 */
export function std(definition: StdFunction): StdCall {
  const call = (...args: Expr<Type>[]): Expr<Type>[] => {
    const trace = currentTrace();
    const nodes = args.map((arg) => arg.node);
    const generic = () => trace.withCallerOrigin(() => definition.generic(...args));
    if (nodes.every((node) => node.stage < ValueStage.varying)) return generic();
    if (trace.isRecording) return recordCall(definition, args, nodes);
    const key = nativeKeyOf(definition, trace.natives);
    const native = key === undefined ? undefined : definition.native?.[key];
    if (!native) return generic();
    const body = {
      name: `${definition.name} (${key})`,
      text: (shape: NativeShape) => native.text(shape),
      ...(native.prelude === undefined ? {} : { prelude: native.prelude }),
      ...(native.lanes === undefined ? {} : { lanes: native.lanes }),
      ...(native.quads === undefined ? {} : { quads: native.quads }),
    };
    const types = definition.results(args);
    return expressions(trace.native(body, nodes, types.map(scalarOf)), types);
  };
  return Object.assign(call, { definition });
}

/** Returns the key of the native body that a target uses; undefined if it has none. */
export const nativeKeyOf = (definition: StdFunction, natives: ReadonlySet<string>): string | undefined =>
  Object.keys(definition.native ?? {}).find((name) => natives.has(name));

/** The recorded body has its parameters' types as the caller has them: a program knows scalars only. */
function recordCall(definition: StdFunction, args: readonly Expr<Type>[], nodes: readonly Node[]): Expr<Type>[] {
  const trace = currentTrace();
  const types = args.map(({ type }) => type);
  let results: readonly Type[] = [];
  const body = (params: readonly Node[]) => {
    const made = definition.generic(...expressions(params, types));
    results = made.map(({ type }) => type);
    return made.map(({ node }) => node);
  };
  const made = trace.withCallerOrigin(() => trace.call(encodedName(definition), nodes, body));
  return expressions(made, results);
}

const expressions = (nodes: readonly Node[], types: readonly Type[]): Expr<Type>[] =>
  nodes.map((node, i) => new Expr(types[i] ?? node.type, node));
