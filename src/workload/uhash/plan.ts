import type { DeviceInfo } from '../../device/device.js';
import type { EngineOptions } from '../../engine/index.js';
import { CHAINS, ROUNDS, type Variant } from './kernel.js';
import { BLOCKS, MOST_PADS, PAD_BYTES } from './pads.js';

/** How batches run on a device: what is compiled, how many nonces there are at a time, in how many launches. */
export interface Plan extends Variant {
  /** Threads of a workgroup, or lanes of a gang; the device's own choice unless told. */
  readonly lanes?: number;
  /** Nonces of a batch. */
  readonly batch: number;
  /** Launches that a batch's rounds are cut into: a divisor of 4,096. */
  readonly launches: number;
  /** Launches that its scratchpads are filled in: a divisor of 8,192. */
  readonly fillLaunches: number;
  /** Batches in flight, where the engine would have more. */
  readonly slots: number;
}

export type PlanOptions = Partial<Plan>;

/** Batches of each device that are in flight: one works while the next begins, and more memory would bring nothing. */
export const IN_FLIGHT: Required<Pick<EngineOptions, 'streams' | 'slots'>> = { streams: 2, slots: 1 };

/**
 * The plan for a device, from what it says of itself. A batch is what keeps the device busy once and no more: on a CPU a
 * gang for each thread; on a GPU a thousand chains for each multiprocessor, whose memory is the limit before that on most
 * cards. What memory is really free is seen when it is asked for (`scratch.ts`).
 */
export function planFor(info: DeviceInfo, options: PlanOptions = {}): Plan {
  const plan = { ...usualPlan(info), ...options };
  const pads = options.pads ?? padsFor(info, plan.batch, plan.pads);
  return { ...plan, pads, batch: Math.max(1, Math.min(plan.batch, mostNonces(info, pads))) };
}

/** Chains that a GPU's multiprocessor works on at once: 32 warps of 32. */
const GPU_CHAINS = 1024;

function usualPlan({ kind, processor, units, limits }: DeviceInfo): Plan {
  const plain = { copies: 1, tables: 1, pads: 1, launches: 1, fillLaunches: 1, slots: 2 } as const;
  if (processor === 'gpu') {
    const own = { ...plain, chainsPerItem: 1, ...tablesFor(kind, limits) } as const;
    if (kind !== 'webgpu') return { ...own, batch: inThrees((units * GPU_CHAINS) / CHAINS), launches: 4 };
    // It tells nothing of its size: all that kernels can bind. Its launches have to be short (`webgpuLaunches`).
    const pads = (limits.buffers ?? 6) - 1;
    return { ...own, ...webgpuLaunches, chainsPerItem: 3, pads, batch: Number.POSITIVE_INFINITY, slots: 1 };
  }
  // PoCL runs one item after the other, SwiftShader four at once; its dispatches cannot be stopped. Their compilers take
  // many seconds for what is unrolled.
  if (kind === 'opencl') return { ...plain, chainsPerItem: 3, rolled: true, batch: 3 * units };
  if (kind === 'webgpu') return { ...plain, ...webgpuLaunches, chainsPerItem: 3, rolled: true, batch: 3 };
  const lanes = kind === 'interpreter' ? 1 : limits.lanes;
  return { ...plain, chainsPerItem: 3, batch: inThrees((units * lanes * 3) / CHAINS) };
}

/**
 * A few milliseconds each, by estimate. The device cuts what takes over 15 ms into fewer workgroups at a time; where a GPU
 * has room for all of them at once, a part takes as long as the whole and is cut again. Not measured yet.
 */
const webgpuLaunches = { launches: 32, fillLaunches: 16 } as const;

/**
 * Workgroup memory, by what an H200 did best. Four tables with a copy for each bank, 128 KiB, leave a multiprocessor room
 * for one workgroup; of 512 threads that was faster than any smaller table with twice as many. Where there is less, eight
 * copies are better than 32, which save less in conflicts than the room is worth.
 */
function tablesFor(kind: string, { nearBytes = 0, lanes }: DeviceInfo['limits']) {
  const isRoomy = kind === 'cuda' && nearBytes >= 4 * WHOLE_TABLE && lanes >= 512;
  return isRoomy ? ({ copies: 32, tables: 4, lanes: 512 } as const) : { copies: 8 };
}

/** Bytes of a table that stands once in each of 32 banks. */
const WHOLE_TABLE = 32 * 1024;

/** As few buffers as hold the batch. */
function padsFor({ limits }: DeviceInfo, batch: number, most: number): number {
  const perPad = padsOfBuffer(limits.bufferBytes);
  return Math.max(1, Math.min(most, Math.ceil((inThrees(batch) * CHAINS) / perPad)));
}

function mostNonces({ limits }: DeviceInfo, pads: number): number {
  return Math.floor((padsOfBuffer(limits.bufferBytes) * pads) / CHAINS / 3) * 3;
}

const padsOfBuffer = (bytes: number): number => Math.min(MOST_PADS, Math.floor(bytes / PAD_BYTES));

/** Rounds of one launch. */
export const roundsPerLaunch = ({ launches }: Plan): number => ROUNDS / launches;

/** Blocks of one launch. */
export const blocksPerLaunch = ({ fillLaunches }: Plan): number => BLOCKS / fillLaunches;

export const inThrees = (nonces: number): number => Math.ceil(nonces / 3) * 3;

/** Scratchpads in each of a batch's buffers. */
export const perPadOf = ({ batch, pads }: Plan): number => Math.ceil((inThrees(batch) * CHAINS) / pads);
