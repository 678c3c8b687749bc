import type { Expr } from './expr.js';
import { callers } from './origin.js';
import {
  type Buffers,
  defineKernel,
  type Fields,
  type HitValues,
  type Kernel,
  type KernelContext,
  type ScalarFields,
  type ScalarHit,
  type Signature,
  type TracedFields,
  type TracedScalars,
} from './signature.js';

/** The context of an item, given the values of its fields. */
export interface ItemValues<Job, Chunk, B extends Buffers, Hit> extends KernelContext<Job, Chunk, B, Hit> {
  /** The item's number within this launch, from 0. */
  readonly item: Expr<'u32'>;
}

/** The context of an item, given the declarations of its fields. */
export type ItemContext<J extends Fields, C extends Fields, B extends Buffers, H extends Fields> = ItemValues<
  TracedFields<J>,
  TracedFields<C>,
  B,
  HitValues<H>
>;

/** Defines a kernel whose items, one per index, are independent of each other. */
export function items<
  const J extends ScalarFields = Record<never, never>,
  const C extends ScalarFields = Record<never, never>,
  const B extends Buffers = Record<never, never>,
  const H extends ScalarFields = Record<never, never>,
>(
  name: string,
  signature: Signature<J, C, B, H>,
  body: (context: ItemValues<TracedScalars<J>, TracedScalars<C>, B, ScalarHit<H>>) => void,
): Kernel<J, C, B, H>;
export function items<
  const J extends Fields = Record<never, never>,
  const C extends Fields = Record<never, never>,
  const B extends Buffers = Record<never, never>,
  const H extends Fields = Record<never, never>,
>(name: string, signature: Signature<J, C, B, H>, body: (context: ItemContext<J, C, B, H>) => void): Kernel<J, C, B, H>;
export function items<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  name: string,
  signature: Signature<J, C, B, H>,
  body: (context: never) => void,
): Kernel<J, C, B, H> {
  const run = body as (context: ItemContext<J, C, B, H>) => void;
  return defineKernel('items', name, signature, (context, item) => callers.callBlockBody(run, { ...context, item }));
}
