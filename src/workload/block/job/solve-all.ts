import type { Engine } from '../../../engine/index.js';
import { type Block, headerPrefix, targetFromBits } from '../kernel/reference.js';
import { type Search, type Solution, solveOn } from './solve.js';

/**
 * Looks for the nonces of many blocks at once: each is a job of its own, devices take them by turns. The answers are in
 * the order of the blocks. When one search fails the others end too, and all have ended when that is told.
 */
export async function solveAll(
  engine: Engine,
  blocks: readonly Block[],
  options: SolveAllOptions,
): Promise<readonly (Solution | null)[]> {
  const { jobs = JOBS, signal, source, onBlock, onProgress, ...search } = options;
  const failure = new AbortController();
  const signals = AbortSignal.any([failure.signal, ...(signal ? [signal] : [])]);
  const solutions = blocks.map((): Solution | null => null);
  const waiting = blocks.entries();
  let total = 0;
  const work = async (): Promise<void> => {
    for (const [at, block] of waiting) {
      const start = performance.now();
      let tried = 0;
      const solution = await solveOn(engine, {
        ...search,
        ...(source && { source: source(at) }),
        name: `block ${at + 1}`,
        prefix: headerPrefix(block),
        target: targetFromBits(block.bits),
        signal: signals,
        onProgress: (now) => {
          total += now - tried;
          tried = now;
          onProgress?.(total);
        },
      });
      solutions[at] = solution;
      onBlock?.({ at, solution, tried, seconds: (performance.now() - start) / 1000 });
    }
  };
  const ends = await Promise.allSettled(
    Array.from({ length: Math.min(jobs, blocks.length) }, () =>
      work().catch((error: unknown) => {
        failure.abort(error);
        throw error;
      }),
    ),
  );
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return solutions;
}

export interface SolveAllOptions extends Pick<Search, 'from' | 'to' | 'mode' | 'aim' | 'signal'> {
  /** Blocks that are searched at a time. Default 4. */
  readonly jobs?: number;
  /** Where the work for a block comes from and is written down, instead of memory. */
  readonly source?: (at: number) => NonNullable<Search['source']>;
  /** A block is done: as soon as it is, whatever comes before it in the list. */
  readonly onBlock?: (done: SolvedBlock) => void;
  /** Nonces tried so far, of all blocks. */
  readonly onProgress?: (tried: number) => void;
}

export interface SolvedBlock {
  /** Which block, from 0. */
  readonly at: number;
  readonly solution: Solution | null;
  readonly tried: number;
  /** From the beginning of its search, the turns of others included. */
  readonly seconds: number;
}

/** With four there is always another while one ends, starts or compiles; with more each only takes longer. */
export const JOBS = 4;
