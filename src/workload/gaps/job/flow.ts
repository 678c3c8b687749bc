import type { Device } from '../../../device/device.js';
import type { HostViews } from '../../../engine/flow/flow.js';
import { type Flow, type FlowStep, flow, hitsIn, Overflow, type Piece } from '../../../engine/index.js';
import { LruCache } from '../../../engine/telemetry/lru-cache.js';
import type { Kernel } from '../../../kernel/index.js';
import { limbsOf, type NumberShape } from '../kernel/chain-kernel.js';
import { CACHED_SHAPES, type Plan, type PlanOptions, planFor } from '../kernel/plan.js';
import { withPlanted } from '../kernel/planted.js';
import { bitsOf } from '../kernel/reference.js';
import { TALLY_WORDS, TallyIndex } from '../kernel/sieve-kernels.js';
import { type CandidateTrace, MAX_TRACES, traces, tracesIn, traceWords } from './candidate-trace.js';
import {
  countsIn,
  limbs,
  type Numbers,
  type PlantedPiece,
  type SieveKernel,
  type SieveStage,
  sieveStage,
  tallyIn,
  windowAt,
  wordsOf,
} from './sieve-stage.js';
import { cellStage, chainStage, type TestedPiece, type TestKernel } from './test-stages.js';
import type { PlantedGaps } from './verifier-tasks.js';

/** A number that passes Fermat's test, followed by none that does in the next `minGap` − 1. */
export interface FoundGap {
  readonly index: bigint;
}

export interface GapFlowOptions extends PlanOptions {
  /** Called when a piece is submitted to a device. */
  readonly onSubmit?: (piece: Piece) => void;
  /** Called with the cost of each piece, even if its result is discarded later. */
  readonly onPiece?: (work: PieceWork) => void;
  readonly onPlan?: (device: Device, plan: Plan) => void;
  /** A piece whose gaps are known: see `plantedCanary`. */
  readonly planted?: PlantedGaps;
  /** Whether some candidates of each piece are traced (`PieceWork.traces`). Default false: it takes an extra launch. */
  readonly traced?: boolean;
}

export interface PieceWork {
  readonly device: Device;
  readonly piece: Piece;
  readonly windows: number;
  readonly candidates: number;
  /** Candidates of each window; the last includes the few after the piece. */
  readonly counts: readonly number[];
  readonly tests: number;
  readonly primes: number;
  /** The gaps found, with the window of each. */
  readonly found: readonly { readonly index: bigint; readonly window: number }[];
  /** Limb type and bits of the tested numbers: u64 in C, u32 elsewhere. */
  readonly shape: NumberShape;
  /** The even number that candidates are added to. */
  readonly base: bigint;
  /** Some of the candidates, if the flow traces them. */
  readonly traces: readonly CandidateTrace[];
  /** Bytes read back. */
  readonly bytes: number;
}

/**
 * Gaps as a flow for `search`: a piece is some windows, each sieved and listed, then tests over the whole list. The host
 * sends the piece's base; the hits come back.
 */
export function gapFlow(numbers: Numbers, options: GapFlowOptions = {}): Flow<readonly FoundGap[]> {
  const { onSubmit, onPiece, onPlan, planted, traced = false, ...planOptions } = options;
  const special = planted && plantedPieceOf(planted);
  const made: Flow<readonly FoundGap[]> = {
    name: 'gaps',
    open: (device, openOptions) => {
      const plan = planFor(device, planOptions);
      onPlan?.(device, plan);
      const hooks: PieceHooks = { onSubmit, onPiece: (work) => onPiece?.({ device, ...work }) };
      const sieve = sieveStage(numbers, plan, { special });
      return flowOf(numbers, plan, sieve, hooks, special, traced).open(device, openOptions);
    },
  };
  return special ? withPlanted(made, special.piece) : made;
}

/** Short chains: one thread that tests all of it would take as long as many threads for a whole piece. */
const plantedPieceOf = ({ start, count, minGap }: PlantedGaps): PlantedPiece => ({
  start,
  piece: { start: 0n, count },
  minGap,
  perChain: 8,
});

interface PieceHooks {
  readonly onSubmit: GapFlowOptions['onSubmit'];
  readonly onPiece: (work: Omit<PieceWork, 'device'>) => void;
}

function flowOf(
  numbers: Numbers,
  plan: Plan,
  sieve: SieveStage,
  { onSubmit, onPiece }: PieceHooks,
  special: PlantedPiece | undefined,
  isTraced: boolean,
) {
  const { start, length, minGap } = numbers;
  const { limb, perChain } = plan;
  const { room, density, maxOwned } = sieve;
  const shape: NumberShape = { limb, bits: bitsOf(start + length + BigInt(minGap)) };
  const largest = [
    { owned: maxOwned, minGap },
    ...(special ? [{ owned: sieve.windowsOf(special.piece).owned, minGap: special.minGap }] : []),
  ];
  const stage = (usesCells(plan, shape, minGap) ? cellStage : chainStage)({ shape, room, largest, density }, plan);
  const testedPiece = (piece: Piece): TestedPiece => {
    const { base, owned } = sieve.windowsOf(piece);
    const own = piece === special?.piece ? special : { minGap, perChain };
    const number = limbs(base, limb === 'u32' ? 32 : 64, limbsOf(shape));
    return { base: number, owned, minGap: own.minGap, perChain: own.perChain };
  };
  const traceBytes = isTraced ? { trace: MAX_TRACES * traceWords(shape) * 4 } : {};
  return flow<readonly FoundGap[], GapKernel>({
    name: 'gaps',
    kernels: { ...stage.kernels, ...(isTraced && { trace: traceKernel(shape) }), ...sieve.kernels } as Readonly<
      Record<GapKernel, Kernel>
    >,
    shared: sieve.shared,
    buffers: { ...sieve.buffers, ...stage.buffers, ...traceBytes },
    rings: { ring: { kernel: stage.emits, hits: RING_HITS } },
    host: { ...sieve.host, ...traceBytes, tally: TALLY_WORDS * 4 },
    ...sieve.shape,
    steps: (piece, host) => {
      if (piece !== special?.piece) onSubmit?.(piece);
      const tested = testedPiece(piece);
      return [
        ...sieve.steps(piece, host),
        ...stage.steps(tested),
        { do: 'read', buffer: 'tally', into: tallyIn(host) },
        ...(isTraced && piece !== special?.piece ? traceSteps(tested.base, room, host) : []),
      ];
    },
    reap: (piece, slot) => {
      const tally = tallyIn(slot.host);
      const candidates = tally[TallyIndex.candidates] ?? 0;
      if (candidates > room) return new Overflow(candidates, room);
      const { base, owned, windows } = sieve.windowsOf(piece);
      const ring = slot.ring('ring');
      const hits = hitsIn<typeof hit>({ start: 0n, count: stage.emitters(testedPiece(piece)) }, ring);
      if (!Array.isArray(hits)) return hits as Overflow;
      const first = piece === special?.piece ? special.start : start;
      const starts = [...windows.map(({ from }) => from), owned];
      const found = (hits as readonly { readonly place: number }[])
        .map(({ place }) => ({ index: base + BigInt(2 * place + 1) - first, window: windowAt(starts, place) }))
        .sort((a, b) => (a.index < b.index ? -1 : 1));
      const work = {
        piece,
        windows: windows.length,
        candidates,
        counts: countsIn(tally, windows.length),
        tests: tally[TallyIndex.tests] ?? 0,
        primes: tally[TallyIndex.primes] ?? 0,
        found,
        shape,
        base,
        traces: isTraced ? tracesIn(wordsOf(slot.host.trace), shape, Math.min(candidates, room)) : [],
        bytes: ring.words.byteLength + TALLY_WORDS * 4,
      };
      if (piece !== special?.piece) onPiece(work);
      return found.map(({ index }) => ({ index }));
    },
  });
}

const hit = { place: 'u32' } as const;
const RING_HITS = 4096;

type GapKernel = SieveKernel | TestKernel | 'trace';

/** Gaps below the mean distance of primes would need more cells than there is memory for. */
const usesCells = ({ width }: Plan, { bits }: NumberShape, minGap: number): boolean =>
  width > 0 && minGap >= bits * Math.LN2;

function traceSteps(base: bigint[], room: number, host: HostViews): FlowStep<'trace'>[] {
  return [
    { do: 'launch', kernel: 'trace', count: MAX_TRACES, chunk: { base, room } },
    { do: 'read', buffer: 'trace', into: wordsOf(host.trace) },
  ];
}

/** One kernel for each shape, so that its program is compiled once. */
const kernelCache = new LruCache<Kernel>(CACHED_SHAPES);

const traceKernel = (shape: NumberShape): Kernel =>
  kernelCache.get(`${shape.limb} ${shape.bits}`, () => traces(shape) as unknown as Kernel);
