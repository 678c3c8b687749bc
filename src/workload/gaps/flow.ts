import type { Device } from '../../device/device.js';
import { type Flow, flow, hitsIn, Overflow, type Piece } from '../../engine/index.js';
import type { Kernel } from '../../kernel/index.js';
import { chains, limbsOf, type NumberShape } from './chain-kernel.js';
import { type Plan, type PlanOptions, planFor } from './plan.js';
import { bitsOf } from './reference.js';
import { TALLY_WORDS, Tally } from './sieve-kernels.js';
import { limbs, type Numbers, type SieveKernel, type Sieving, sieving, tallyIn } from './sieving.js';

/** A number that passes Fermat's test, with no other that does in the next `leastGap` − 1. */
export interface FoundGap {
  readonly index: bigint;
}

export interface GapFlowOptions extends PlanOptions {
  /** Told what each piece took, whether it counts in the end or not. */
  readonly onPiece?: (work: PieceWork) => void;
  readonly onPlan?: (device: Device, plan: Plan) => void;
}

export interface PieceWork {
  readonly device: Device;
  readonly piece: Piece;
  readonly windows: number;
  readonly candidates: number;
  readonly tests: number;
  readonly primes: number;
  /** Bytes that came back. */
  readonly bytes: number;
}

/**
 * Gaps as a flow for `search`: a piece is some windows, each sieved and listed, then chains over the whole list, sized by a
 * count that stays on the device. What the host sends is the piece's base, what comes back are the hits.
 */
export function gapFlow(numbers: Numbers, options: GapFlowOptions = {}): Flow<readonly FoundGap[]> {
  const { onPiece, onPlan, ...asked } = options;
  return {
    name: 'gaps',
    open: (device, how) => {
      const plan = planFor(device, asked);
      onPlan?.(device, plan);
      const told = (work: Omit<PieceWork, 'device'>): void => onPiece?.({ device, ...work });
      return flowOf(numbers, plan, sieving(numbers, plan), told).open(device, how);
    },
  };
}

function flowOf(numbers: Numbers, plan: Plan, sieve: Sieving, told: (work: Omit<PieceWork, 'device'>) => void) {
  const { start, length, leastGap } = numbers;
  const { limb, perChain, threads } = plan;
  const { room } = sieve;
  const shape: NumberShape = { limb, bits: bitsOf(start + length + BigInt(leastGap)) };
  const most = Math.min(threads, Math.ceil(room / perChain));
  return flow<readonly FoundGap[], SieveKernel | 'chains'>({
    name: 'gaps',
    kernels: { chains: chainsFor(shape), ...sieve.kernels } as Readonly<Record<SieveKernel | 'chains', Kernel>>,
    shared: sieve.shared,
    buffers: sieve.buffers,
    rings: { ring: { kernel: 'chains', hits: RING_HITS } },
    host: { tally: TALLY_WORDS * 4 },
    ...sieve.shape,
    steps: (piece, host) => {
      const { base, owned } = sieve.windowsOf(piece);
      const number = limbs(base, limb === 'u32' ? 32 : 64, limbsOf(shape));
      return [
        ...sieve.steps(piece),
        {
          do: 'launch',
          kernel: 'chains',
          count: { buffer: 'tally', word: Tally.threads, max: most },
          chunk: { base: number, half: leastGap / 2, owned, perChain, room },
          ring: 'ring',
        },
        { do: 'read', buffer: 'tally', into: tallyIn(host) },
      ];
    },
    reap: (piece, slot) => {
      const tally = tallyIn(slot.host);
      const candidates = tally[Tally.candidates] ?? 0;
      if (candidates > room) return new Overflow(candidates, room);
      const { base, windows } = sieve.windowsOf(piece);
      const ring = slot.ring('ring');
      told({
        piece,
        windows: windows.length,
        candidates,
        tests: tally[Tally.tests] ?? 0,
        primes: tally[Tally.primes] ?? 0,
        bytes: ring.words.byteLength + TALLY_WORDS * 4,
      });
      const found = hitsIn<typeof hit>({ start: 0n, count: most }, ring);
      if (!Array.isArray(found)) return found as Overflow;
      return (found as readonly { readonly place: number }[])
        .map(({ place }) => ({ index: base + BigInt(2 * place + 1) - start }))
        .sort((a, b) => (a.index < b.index ? -1 : 1));
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
