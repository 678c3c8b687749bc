import type { Engine } from '../../../engine/index.js';
import { type Block, headerPrefix, targetFromBits } from '../kernel/reference.js';
import type { BlockSearch } from './blocks-coverage.js';
import { type NonceSearch, type NonceSolver, type Solution, solveOn } from './solve.js';

/**
 * Finds the nonces of many blocks at once: each block is a separate job, and devices alternate between jobs. Returns
 * the answers in the order of the blocks. If one search fails, the others are cancelled; the promise rejects after all
 * have ended.
 */
export async function solveAll(
  solver: Engine | NonceSolver,
  blocks: readonly Block[],
  options: SolveAllOptions,
): Promise<readonly (Solution | null)[]> {
  const { jobs = DEFAULT_JOBS, signal, source, onBlock, onSearch, onProgress, ...search } = options;
  const solve: NonceSolver = typeof solver === 'function' ? solver : (request) => solveOn(solver, request);
  const failure = new AbortController();
  const signals = AbortSignal.any([failure.signal, ...(signal ? [signal] : [])]);
  const solutions = blocks.map((): Solution | null => null);
  const waiting = blocks.entries();
  let total = 0;
  const work = async (): Promise<void> => {
    for (const [at, block] of waiting) {
      const start = performance.now();
      let tried = 0;
      const solution = await solve({
        ...search,
        ...(source && { source: source(at) }),
        name: `block ${at + 1}`,
        prefix: headerPrefix(block),
        target: targetFromBits(block.bits),
        signal: signals,
        onSearch: (running) => onSearch?.(at, running),
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

export interface SolveAllOptions extends Pick<NonceSearch, 'from' | 'to' | 'mode' | 'aim' | 'signal'> {
  /** Blocks searched at a time. Default 4. */
  readonly jobs?: number;
  /** The chunk source for a block, which also records finished work. Default: in memory. */
  readonly source?: (at: number) => NonNullable<NonceSearch['source']>;
  /** Called as soon as a block is done, in any order. */
  readonly onBlock?: (done: SolvedBlock) => void;
  /** Called with the search of a block before it starts. */
  readonly onSearch?: (at: number, search: BlockSearch) => void;
  /** Called with the number of nonces tried so far, of all blocks. */
  readonly onProgress?: (tried: number) => void;
}

export interface SolvedBlock {
  /** Index of the block, from 0. */
  readonly at: number;
  readonly solution: Solution | null;
  readonly tried: number;
  /** From the start of its search, including the time that other jobs had the devices. */
  readonly seconds: number;
}

/** With four, another job always has work while one ends, starts or compiles; with more, each only takes longer. */
export const DEFAULT_JOBS = 4;
