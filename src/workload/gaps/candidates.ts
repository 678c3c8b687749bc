import { type Flow, flow, Overflow } from '../../engine/index.js';
import type { Kernel } from '../../kernel/index.js';
import { type PlanOptions, planFor } from './plan.js';
import { TALLY_WORDS, Tally } from './sieve-kernels.js';
import { type Given, type Numbers, type SieveKernel, sieving, tallyIn } from './sieving.js';

export interface CandidateOptions extends PlanOptions {
  readonly given?: Given;
  /** Whether the list itself comes to the host. Default true; its length always does. */
  readonly list?: boolean;
}

export interface Candidates {
  readonly count: number;
  /** Offsets from the piece's even base, all of them odd; empty where the list stayed on the device. */
  readonly offsets: Uint32Array;
}

/** The sieve alone, as a flow: what is left of a piece and of the `leastGap` numbers behind it, ascending. */
export function candidateFlow(numbers: Numbers, options: CandidateOptions = {}): Flow<Candidates> {
  const { given, list = true, ...asked } = options;
  return {
    name: 'gaps-candidates',
    open: (device, how) => {
      const sieve = sieving(numbers, planFor(device, asked), { brings: given });
      const bytes = list ? sieve.buffers.candidate : 4;
      return flow<Candidates, SieveKernel>({
        name: 'gaps-candidates',
        kernels: sieve.kernels as Readonly<Record<SieveKernel, Kernel>>,
        shared: sieve.shared,
        buffers: sieve.buffers,
        host: { tally: TALLY_WORDS * 4, list: bytes },
        ...sieve.shape,
        steps: (piece, host) => [
          ...sieve.steps(piece),
          { do: 'read', buffer: 'tally', into: tallyIn(host) },
          ...(list && host.list ? [{ do: 'read', buffer: 'candidate', into: host.list } as const] : []),
        ],
        reap: (_, { host }) => {
          const count = tallyIn(host)[Tally.candidates] ?? 0;
          if (count > sieve.room) return new Overflow(count, sieve.room);
          if (!list || !host.list) return { count, offsets: new Uint32Array(0) };
          const places = new Uint32Array(host.list.buffer, host.list.byteOffset, count);
          return { count, offsets: places.map((at) => 2 * at + 1) };
        },
      }).open(device, how);
    },
  };
}
