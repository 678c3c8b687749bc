import { LaunchStatus } from '../../../kernel/abi/grid.js';
import type { MarkResult } from '../worker/driver.js';

export type TrapResult = Extract<MarkResult, { kind: 'trapped' }>;

/** The status words of each program's launches between two marks, as the host sees them. */
export type Statuses = ReadonlyMap<
  { readonly number: number; readonly name: string },
  { readonly words: Int32Array | Uint32Array }
>;

/** Evaluates the status words of finished launches: a trap, or whether each launch ran to its end. */
export function statusOf(statuses: Statuses): TrapResult | { readonly kind: 'ended'; readonly complete: boolean } {
  let complete = true;
  for (const [{ number }, { words }] of statuses) {
    const trap = trapIn(number, words);
    if (trap) return trap;
    complete &&= words[LaunchStatus.incomplete] === 0;
  }
  return { kind: 'ended', complete };
}

/** Returns the trap in a program's status words, if any. */
export function trapIn(program: number, words: Int32Array | Uint32Array): TrapResult | undefined {
  if (words[LaunchStatus.trapped] === 0) return undefined;
  const word = (at: number): number => (words[at] ?? 0) >>> 0;
  const wide = (at: number): number => word(at + 1) * 2 ** 32 + word(at);
  return {
    kind: 'trapped',
    program,
    site: word(LaunchStatus.site),
    index: wide(LaunchStatus.index),
    length: wide(LaunchStatus.length),
  };
}

/** Describes the work between two marks, for errors. */
export function workOf(statuses: Statuses): string {
  const names = [...statuses.keys()].map(({ name }) => name);
  return names.length === 0 ? 'transfers' : `kernel ${names.join(', ')}`;
}
