import type { Device } from '../../device/device.js';
import { type Flow, flow, hitsIn, Overflow, type Piece } from '../../engine/index.js';
import type { Kernel } from '../../kernel/index.js';
import { chains, limbsOf, type NumberShape } from './chain-kernel.js';
import { type Plan, type PlanOptions, planFor } from './plan.js';
import { withPlanted } from './planted.js';
import { bitsOf } from './reference.js';
import type { PlantedGaps } from './rulings.js';
import { TALLY_WORDS, Tally } from './sieve-kernels.js';
import {
  countsIn,
  limbs,
  type Numbers,
  type SieveKernel,
  type Sieving,
  type Special,
  sieving,
  tallyIn,
  windowAt,
} from './sieving.js';

/** A number that passes Fermat's test, with no other that does in the next `leastGap` − 1. */
export interface FoundGap {
  readonly index: bigint;
}

export interface GapFlowOptions extends PlanOptions {
  /** A piece is on its way to a device. */
  readonly onSubmit?: (piece: Piece) => void;
  /** Told what each piece took, whether it counts in the end or not. */
  readonly onPiece?: (work: PieceWork) => void;
  readonly onPlan?: (device: Device, plan: Plan) => void;
  /** A piece whose gaps are known: see `plantedCanary`. */
  readonly planted?: PlantedGaps;
}

export interface PieceWork {
  readonly device: Device;
  readonly piece: Piece;
  readonly windows: number;
  readonly candidates: number;
  /** Those of each window; the last has the few behind the piece, too. */
  readonly counts: readonly number[];
  readonly tests: number;
  readonly primes: number;
  /** What was found in it, and in which of its windows. */
  readonly found: readonly { readonly index: bigint; readonly window: number }[];
  /** Of the numbers that were tested, and how wide: 5×u64. */
  readonly limbs: string;
  /** Bytes that came back. */
  readonly bytes: number;
}

/**
 * Gaps as a flow for `search`: a piece is some windows, each sieved and listed, then chains over the whole list, sized by a
 * count that stays on the device. What the host sends is the piece's base, what comes back are the hits.
 */
export function gapFlow(numbers: Numbers, options: GapFlowOptions = {}): Flow<readonly FoundGap[]> {
  const { onSubmit, onPiece, onPlan, planted, ...asked } = options;
  const special = planted && specialOf(planted);
  const made: Flow<readonly FoundGap[]> = {
    name: 'gaps',
    open: (device, how) => {
      const plan = planFor(device, asked);
      onPlan?.(device, plan);
      const heard: Heard = { submitted: onSubmit, told: (work) => onPiece?.({ device, ...work }) };
      return flowOf(numbers, plan, sieving(numbers, plan, { special }), heard, special).open(device, how);
    },
  };
  return special ? withPlanted(made, special.piece) : made;
}

/** Short chains: a device has so many threads, and one that tested all of it would take as long as a whole piece. */
const specialOf = ({ start, count, leastGap }: PlantedGaps): Special => ({
  start,
  piece: { start: 0n, count },
  leastGap,
  perChain: 8,
});

interface Heard {
  readonly submitted: GapFlowOptions['onSubmit'];
  readonly told: (work: Omit<PieceWork, 'device'>) => void;
}

function flowOf(
  numbers: Numbers,
  plan: Plan,
  sieve: Sieving,
  { submitted, told }: Heard,
  special: Special | undefined,
) {
  const { start, length, leastGap } = numbers;
  const { limb, perChain, threads } = plan;
  const { room } = sieve;
  const shape: NumberShape = { limb, bits: bitsOf(start + length + BigInt(leastGap)) };
  const most = (piece: Piece): number =>
    Math.min(threads, piece === special?.piece ? piece.count : Math.ceil(room / perChain));
  return flow<readonly FoundGap[], SieveKernel | 'chains'>({
    name: 'gaps',
    kernels: { chains: chainsFor(shape), ...sieve.kernels } as Readonly<Record<SieveKernel | 'chains', Kernel>>,
    shared: sieve.shared,
    buffers: sieve.buffers,
    rings: { ring: { kernel: 'chains', hits: RING_HITS } },
    host: { tally: TALLY_WORDS * 4 },
    ...sieve.shape,
    steps: (piece, host) => {
      if (piece !== special?.piece) submitted?.(piece);
      const { base, owned } = sieve.windowsOf(piece);
      const own = piece === special?.piece ? special : { leastGap, perChain };
      const number = limbs(base, limb === 'u32' ? 32 : 64, limbsOf(shape));
      return [
        ...sieve.steps(piece),
        {
          do: 'launch',
          kernel: 'chains',
          count: { buffer: 'tally', word: Tally.threads, max: most(piece) },
          chunk: { base: number, half: own.leastGap / 2, owned, perChain: own.perChain, room },
          ring: 'ring',
        },
        { do: 'read', buffer: 'tally', into: tallyIn(host) },
      ];
    },
    reap: (piece, slot) => {
      const tally = tallyIn(slot.host);
      const candidates = tally[Tally.candidates] ?? 0;
      if (candidates > room) return new Overflow(candidates, room);
      const { base, owned, windows } = sieve.windowsOf(piece);
      const ring = slot.ring('ring');
      const hits = hitsIn<typeof hit>({ start: 0n, count: most(piece) }, ring);
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
        tests: tally[Tally.tests] ?? 0,
        primes: tally[Tally.primes] ?? 0,
        found,
        limbs: `${limbsOf(shape)}×${limb}`,
        bytes: ring.words.byteLength + TALLY_WORDS * 4,
      };
      if (piece !== special?.piece) told(work);
      return found.map(({ index }) => ({ index }));
    },
  });
}

const hit = { place: 'u32' } as const;
const RING_HITS = 4096;

/** One kernel for each shape, so that its program is compiled once. */
const known = new Map<string, Kernel>();

function chainsFor(shape: NumberShape): Kernel {
  const key = `${shape.limb} ${shape.bits}`;
  const kernel = known.get(key) ?? (chains(shape) as unknown as Kernel);
  known.set(key, kernel);
  return kernel;
}
