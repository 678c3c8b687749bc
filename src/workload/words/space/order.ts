import type { Mask } from './mask.js';

/** `canonical`: the rightmost position changes fastest. `hashcat`: the leftmost. */
export type Order = 'canonical' | 'hashcat';

export const orders: readonly Order[] = ['canonical', 'hashcat'];

/** Positions from the slowest to the fastest. */
export function slowestFirst(mask: Mask, order: Order): number[] {
  const positions = [...mask.keys()];
  return order === 'canonical' ? positions : positions.reverse();
}
