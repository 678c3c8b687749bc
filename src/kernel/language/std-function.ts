import type { NativeShape } from '../ir/program.js';
import { ValueStage } from '../ir/program.js';
import { Expr } from './expr.js';
import { currentTrace } from './trace.js';
import type { Scalar } from './types.js';

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
  /** Types of the results for given arguments. */
  results(args: readonly Expr<Scalar>[]): readonly Scalar[];
  /** The definition, in terms of the language. */
  generic(...args: Expr<Scalar>[]): Expr<Scalar>[];
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

/** True if a call is to be traced as a loop. What is known before the launch is not: the host computes it. */
export const isRolled = ({ rolled }: RolledOption, args: readonly Expr<Scalar>[]): boolean =>
  (rolled ?? currentTrace().natives.has(ROLLED_KEY)) && !areKnownEarly(args);

/** True if all values are known before the launch. */
export const areKnownEarly = (args: readonly Expr<Scalar>[]): boolean =>
  args.every(({ node }) => node.stage < ValueStage.varying);

/**
 * Defines a std function. It stays one statement if the target has a native body for it. Otherwise, or if all arguments are
 * known before the launch, its generic body is traced in place.
 */
export function std(definition: StdFunction): (...args: Expr<Scalar>[]) => Expr<Scalar>[] {
  return (...args) => {
    const trace = currentTrace();
    const key = Object.keys(definition.native ?? {}).find((name) => trace.natives.has(name));
    const native = key === undefined ? undefined : definition.native?.[key];
    const nodes = args.map((arg) => arg.node);
    if (!native || nodes.every((node) => node.stage < ValueStage.varying))
      return trace.withCallerOrigin(() => definition.generic(...args));
    const body = {
      name: `${definition.name} (${key})`,
      text: (shape: NativeShape) => native.text(shape),
      ...(native.prelude === undefined ? {} : { prelude: native.prelude }),
      ...(native.lanes === undefined ? {} : { lanes: native.lanes }),
      ...(native.quads === undefined ? {} : { quads: native.quads }),
    };
    return trace.native(body, nodes, definition.results(args)).map((node) => new Expr(node.type, node));
  };
}
