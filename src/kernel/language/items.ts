import type { Expr } from './expr.js';
import { callers } from './origin.js';
import {
  type Buffers,
  defineKernel,
  type Fields,
  type Kernel,
  type KernelContext,
  type Signature,
} from './signature.js';

export interface ItemContext<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>
  extends KernelContext<J, C, B, H> {
  /** The item's number within this launch, from 0. */
  readonly item: Expr<'u32'>;
}

/** Defines a kernel whose items, one per index, are independent of each other. */
export function items<
  const J extends Fields = Record<never, never>,
  const C extends Fields = Record<never, never>,
  const B extends Buffers = Record<never, never>,
  const H extends Fields = Record<never, never>,
>(
  name: string,
  signature: Signature<J, C, B, H>,
  body: (context: ItemContext<J, C, B, H>) => void,
): Kernel<J, C, B, H> {
  return defineKernel('items', name, signature, (context, item) => callers.callBlockBody(body, { ...context, item }));
}
