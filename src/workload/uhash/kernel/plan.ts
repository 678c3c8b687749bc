import type { DeviceInfo } from '../../../device/device.js';
import type { EngineOptions } from '../../../engine/index.js';
import { CHAINS, type FillTile, ROUNDS, type Variant } from './kernel.js';
import { BLOCKS, MAX_PADS, PAD_BYTES } from './pads.js';

/** How batches run on a device: kernel variant, batch size, number of launches. */
export interface Plan extends Variant {
  /** Workgroup size, or lanes of a gang; default: chosen by the device. */
  readonly lanes?: number;
  /** Nonces in a batch. */
  readonly batch: number;
  /** Launches that a batch's rounds are split into: a divisor of 4,096. */
  readonly launches: number;
  /** Launches that fill its scratchpads: a divisor of 8,192. */
  readonly fillLaunches: number;
  /** The most batches in flight, if the engine allows more. */
  readonly slots: number;
}

export type PlanOptions = Partial<Plan>;

/** Batches in flight per device: one runs while the next begins. More would only take more memory. */
export const IN_FLIGHT: Required<Pick<EngineOptions, 'streams' | 'slots'>> = { streams: 2, slots: 1 };

/**
 * The plan for a device, from its info. A batch keeps the device busy once and no more: on a CPU a gang for each thread,
 * or as many as take some 25 ms; on a GPU a thousand chains for each multiprocessor, although most cards run out of memory
 * before that. The free memory is only known when it is allocated (`scratch.ts`).
 */
export function planFor(info: DeviceInfo, options: PlanOptions = {}): Plan {
  const plan = { ...defaultPlan(info), ...options };
  const pads = options.pads ?? padsFor(info, plan);
  return { ...plan, pads, batch: Math.max(1, Math.min(plan.batch, maxNonces(info, { ...plan, pads }))) };
}

/** Chains that a GPU's multiprocessor runs at once: 32 warps of 32. */
const GPU_CHAINS = 1024;

function defaultPlan({ kind, processor, units, limits, details }: DeviceInfo): Plan {
  const plain = { copies: 1, tables: 1, pads: 1, launches: 1, fillLaunches: 1, slots: 2 } as const;
  if (processor === 'gpu') {
    const own = { ...plain, copies: 8, chainsPerItem: 1, tile: tileFor(limits) } as const;
    const batch = roundUpToThree((units * GPU_CHAINS) / CHAINS);
    if (kind !== 'webgpu') return { ...own, batch, rolled: true, launches: 16, fillLaunches: 4 };
    // WebGPU does not report the GPU's size, so the plan takes all buffers that kernels can bind.
    const pads = (limits.buffers ?? 6) - 1;
    const lanes = Math.min(details?.vendor === 'nvidia' ? 32 : 64, limits.lanes);
    const three = { chainsPerItem: 3, early: true, rolled: true, lanes } as const;
    return { ...own, ...webgpuLaunches, ...three, pads, batch: Number.POSITIVE_INFINITY, slots: 1 };
  }
  // PoCL runs one item after the other, SwiftShader four at once; its dispatches cannot be stopped. Their compilers take
  // many seconds for unrolled code.
  if (kind === 'opencl') return { ...plain, chainsPerItem: 3, rolled: true, batch: 3 * units };
  if (kind === 'webgpu') return { ...plain, launches: 32, fillLaunches: 16, chainsPerItem: 3, rolled: true, batch: 3 };
  const lanes = kind === 'interpreter' ? 1 : limits.lanes;
  const ofThread = Math.max((lanes * 3) / CHAINS, kind === 'native' ? NATIVE_NONCES : 0);
  return { ...plain, chainsPerItem: 3, batch: roundUpToThree(units * ofThread) };
}

/**
 * A batch costs the engine about a millisecond, and a native thread takes six for three nonces: four times as many gave
 * 900 H/s instead of 829 on two cores that the engine had to share (Neoverse-N1).
 */
const NATIVE_NONCES = 12;

/**
 * As few launches as possible: the device splits launches longer than 15 ms, since WebGPU cannot stop a dispatch, and each
 * launch costs about a millisecond there. On an H200 four times as many gave 80 kH/s instead of 109.
 */
const webgpuLaunches = { launches: 8, fillLaunches: 4 } as const;

/** Bytes of an AES table with one copy in each of 32 banks. */
const BANKED_TABLE_BYTES = 32 * 1024;

/**
 * Writes lines of 256 bytes. At least two workgroups fit a multiprocessor, so that one computes while the other writes.
 * For the rounds, 8 copies of one table are as good as any: they wait for memory.
 */
function tileFor({ nearBytes = 0 }: DeviceInfo['limits']): FillTile {
  const isRoomy = nearBytes >= 3 * BANKED_TABLE_BYTES;
  return isRoomy ? { chains: 256, blocks: 4, copies: 32, tables: 2 } : { chains: 128, blocks: 4, copies: 8, tables: 1 };
}

/** The fewest buffers that hold the batch, at most `pads`. */
function padsFor({ limits }: DeviceInfo, plan: Plan): number {
  const wanted = roundUpToThree(plan.batch) * CHAINS;
  if (wanted <= padsOfBuffer(limits.bufferBytes, { ...plan, pads: 1 })) return 1;
  return Math.max(1, Math.min(plan.pads, Math.ceil(wanted / padsOfBuffer(limits.bufferBytes, plan))));
}

const maxNonces = ({ limits }: DeviceInfo, plan: Plan): number =>
  Math.floor((padsOfBuffer(limits.bufferBytes, plan) * plan.pads) / CHAINS / 3) * 3;

const padsOfBuffer = (bytes: number, plan: Plan): number =>
  wholeTiles(Math.min(MAX_PADS, Math.floor(bytes / PAD_BYTES)), plan, Math.floor);

/** With several buffers, each holds whole fill tiles. */
function wholeTiles(slots: number, { tile, pads }: Pick<Plan, 'tile' | 'pads'>, round: (value: number) => number) {
  return tile && pads > 1 ? Math.max(1, round(slots / tile.chains)) * tile.chains : slots;
}

/** Rounds of one launch. */
export const roundsPerLaunch = ({ launches }: Plan): number => ROUNDS / launches;

/** Blocks of one launch. */
export const blocksPerLaunch = ({ fillLaunches }: Plan): number => BLOCKS / fillLaunches;

export const roundUpToThree = (nonces: number): number => Math.ceil(nonces / 3) * 3;

/** Scratchpads in each of a batch's buffers. */
export const perPadOf = (plan: Plan): number =>
  wholeTiles(Math.ceil((roundUpToThree(plan.batch) * CHAINS) / plan.pads), plan, Math.ceil);
