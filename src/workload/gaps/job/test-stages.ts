import type { FieldValues } from '../../../device/device.js';
import type { FlowStep } from '../../../engine/flow/flow.js';
import { LruCache } from '../../../engine/telemetry/lru-cache.js';
import type { Kernel } from '../../../kernel/index.js';
import {
  CELL_TALLY_WORDS,
  CLOSED_AT_ONCE,
  cellGaps,
  cells,
  closeRound,
  neighbours,
  roundTests,
  roundWord,
  WORKGROUP,
} from '../kernel/cell-kernels.js';
import { type CellSearch, cellLength, expectedDistant, expectedRounds } from '../kernel/cells.js';
import { chains, type NumberShape } from '../kernel/chain-kernel.js';
import { CACHED_SHAPES, type Plan } from '../kernel/plan.js';
import { TallyIndex } from '../kernel/sieve-kernels.js';

/** The part of a flow that tests the candidates in the list, and emits the gaps. */
export interface TestStage {
  readonly kernels: Readonly<Partial<Record<TestKernel, Kernel>>>;
  /** In bytes. */
  readonly buffers: Readonly<Record<string, number>>;
  /** The kernel that emits. */
  readonly emits: TestKernel;
  steps(piece: TestedPiece): FlowStep<TestKernel>[];
  /** Items of the launch that emits. */
  emitters(piece: TestedPiece): number;
}

export type TestKernel = 'chains' | 'cells' | 'roundTests' | 'closeRound' | 'neighbours' | 'cellGaps';

export interface TestedPiece {
  /** The even number that candidates are added to, in limbs. */
  readonly base: bigint[];
  /** Places of the piece itself. */
  readonly owned: number;
  readonly minGap: number;
  /** Candidates per chain. */
  readonly perChain: number;
}

export interface TestSize {
  readonly shape: NumberShape;
  /** Capacity of the list, in candidates. */
  readonly room: number;
  /** The pieces with the most cells: their places and minimum gaps. */
  readonly largest: readonly Pick<TestedPiece, 'owned' | 'minGap'>[];
  /** The share of odd numbers that are candidates. */
  readonly density: number;
}

/** One launch: threads follow chains of candidates, with the fewest tests; see `chains`. */
export function chainStage({ shape, room }: TestSize, { threads }: Plan): TestStage {
  const emitters = ({ perChain }: TestedPiece): number => Math.min(threads, Math.ceil(room / perChain));
  return {
    kernels: kernelsFor('chains', shape, () => ({ chains: chains(shape) })),
    buffers: {},
    emits: 'chains',
    emitters,
    steps: (tested) => [
      {
        do: 'launch',
        kernel: 'chains',
        count: { buffer: 'tally', word: TallyIndex.threads, max: emitters(tested) },
        chunk: { base: tested.base, half: tested.minGap / 2, owned: tested.owned, perChain: tested.perChain, room },
        ring: 'ring',
      },
    ],
  };
}

/** Rounds of tests over cells, with all threads in use; see `cells`. */
export function cellStage({ shape, room, largest, density }: TestSize, { threads, width }: Plan): TestStage {
  const mean = (shape.bits * Math.LN2) / 2;
  const searchFor = (minGap: number): CellSearch => ({
    half: minGap / 2,
    mean,
    primeShare: Math.min(1, 1 / mean / density),
  });
  const cellsOf = ({ owned, minGap }: Pick<TestedPiece, 'owned' | 'minGap'>): number =>
    Math.max(1, Math.ceil(owned / cellLength(searchFor(minGap))));
  const array = (Math.max(...largest.map(cellsOf)) + 1) * 4;
  return {
    kernels: kernelsFor('cells', shape, () => ({
      roundTests: roundTests(shape),
      cells,
      closeRound,
      neighbours,
      cellGaps,
    })),
    buffers: {
      tally: CELL_TALLY_WORDS * 4,
      bounds: 2 * array,
      between: 2 * array,
      best: array,
      answer: array,
      live: array,
      next: array,
    },
    emits: 'cellGaps',
    emitters: cellsOf,
    steps: (tested) => {
      const { base, owned, minGap } = tested;
      const search = searchFor(minGap);
      const length = cellLength(search);
      const count = cellsOf(tested);
      const rounds = (second: boolean, buffers: Readonly<Record<string, string>>): FlowStep<TestKernel>[] => {
        const searches = second ? expectedDistant(count, length, search) : count;
        const expected = expectedRounds(searches, length, width, search);
        return expected.flatMap((open, at): FlowStep<TestKernel>[] => {
          const isLast = at === expected.length - 1 ? 1 : 0;
          const chunk: FieldValues = { width, round: roundWord(at, second), isLast };
          // With a small round there is space for the workgroups of another piece.
          const testers = workgroups(open <= width ? width : Math.min(threads, Math.max(count, width)));
          const lists = at % 2 === 0 ? { live: 'live', next: 'next' } : { live: 'next', next: 'live' };
          const bound = { ...lists, ...buffers };
          return [
            {
              do: 'launch',
              kernel: 'roundTests',
              count: testers,
              chunk: { ...chunk, base, threads: testers },
              buffers: bound,
            },
            {
              do: 'launch',
              kernel: 'closeRound',
              count: Math.ceil(count / CLOSED_AT_ONCE),
              chunk,
              buffers: bound,
            },
          ];
        });
      };
      return [
        { do: 'launch', kernel: 'cells', count: count + 1, chunk: { length, cells: count, owned, room } },
        ...rounds(false, {}),
        { do: 'launch', kernel: 'neighbours', count, chunk: { cells: count, half: search.half, room } },
        { do: 'fill', buffer: 'answer', word: 0, offset: 0, bytes: count * 4 },
        ...rounds(true, { bounds: 'between', best: 'answer' }),
        { do: 'launch', kernel: 'cellGaps', count, ring: 'ring' },
      ];
    },
  };
}

/** As many items as fill workgroups. */
const workgroups = (count: number): number => Math.ceil(count / WORKGROUP) * WORKGROUP;

/** One kernel for each shape, so that its program is compiled once. */
const kernelCache = new LruCache<TestStage['kernels']>(CACHED_SHAPES);

/** `make` returns kernels with any signature: a flow binds them by the names of its buffers and values. */
function kernelsFor(
  name: string,
  { limb, bits }: NumberShape,
  make: () => Readonly<Partial<Record<TestKernel, unknown>>>,
): TestStage['kernels'] {
  return kernelCache.get(`${name} ${limb} ${bits}`, () => make() as TestStage['kernels']);
}
