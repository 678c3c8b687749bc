import { type Flow, flow, Overflow } from '../../../engine/index.js';
import type { Kernel } from '../../../kernel/index.js';
import { type PlanOptions, planFor } from '../kernel/plan.js';
import { TALLY_WORDS, TallyIndex } from '../kernel/sieve-kernels.js';
import { countsIn, type HostSieve, type Numbers, type SieveKernel, sieveStage, tallyIn } from './sieve-stage.js';

export interface CandidateOptions extends PlanOptions {
  /** Bitmaps or first multiples computed by the host. Default: the device sieves with the primes of `numbers`. */
  readonly hostSieve?: HostSieve;
  /** Whether the list itself is read back. Default true; its length always is. */
  readonly list?: boolean;
}

export interface Candidates {
  readonly count: number;
  /** Candidates of each window. */
  readonly counts: readonly number[];
  /** The even number that offsets count from: the piece's first number, or the one before it. */
  readonly base: bigint;
  /** Offsets from the base, ascending, all odd; empty if the list stayed on the device. */
  readonly offsets: Uint32Array;
}

/**
 * The sieve alone, as a flow: the candidates of a piece and of the `minGap` numbers after it. A piece has one window or
 * several, at most `depth`. With host bitmaps (`hostSieve`), `primes` only sets the capacity for candidates: as many as that
 * number of primes leaves, and a tenth more. A piece with more of them gives an `Overflow`.
 */
export function candidateFlow(numbers: Numbers, options: CandidateOptions = {}): Flow<Candidates> {
  const { hostSieve, list = true, ...planOptions } = options;
  return {
    name: 'gaps-candidates',
    open: (device, openOptions) => {
      const sieve = sieveStage(numbers, planFor(device, planOptions), { hostSieve });
      const bytes = list ? sieve.buffers.candidate : 4;
      return flow<Candidates, SieveKernel>({
        name: 'gaps-candidates',
        kernels: sieve.kernels as Readonly<Record<SieveKernel, Kernel>>,
        shared: sieve.shared,
        buffers: sieve.buffers,
        host: { ...sieve.host, tally: TALLY_WORDS * 4, list: bytes },
        ...sieve.shape,
        steps: (piece, host) => [
          ...sieve.steps(piece, host),
          { do: 'read', buffer: 'tally', into: tallyIn(host) },
          ...(list && host.list ? [{ do: 'read', buffer: 'candidate', into: host.list } as const] : []),
        ],
        reap: (piece, { host }) => {
          const tally = tallyIn(host);
          const count = tally[TallyIndex.candidates] ?? 0;
          if (count > sieve.room) return new Overflow(count, sieve.room);
          const { base, windows } = sieve.windowsOf(piece);
          const found = { count, counts: countsIn(tally, windows.length), base };
          if (!list || !host.list) return { ...found, offsets: new Uint32Array(0) };
          const places = new Uint32Array(host.list.buffer, host.list.byteOffset, count);
          return { ...found, offsets: places.map((at) => 2 * at + 1) };
        },
      }).open(device, openOptions);
    },
  };
}
