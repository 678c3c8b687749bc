import type { DeviceInfo } from '../../device/device.js';

/**
 * Computes the size of the next chunk of a job on a device. Pure, per (job, device).
 *
 * The rules, with their names in the specification of `block`:
 *
 *   C1, C2  The first chunk is `stride / active`, `stride / 4` while fewer than two jobs are active: small, because the
 *           kernel's speed is unknown.
 *   C3      It doubles only when the last 4 completions were all shorter than half of the aim (5 ms of 10). Only chunks
 *           of at least the present size are evidence for doubling; any longer completion is evidence against.
 *   C4      The cap is a time. Doubling from under half of the aim cannot pass the aim, so a chunk ends up between half
 *           of the aim and the aim on every device. The proposal's cap of 8 initial chunks would hold an H200, whose
 *           initial chunk takes 0.07 to 0.3 ms, at about 1 ms, where 0.1 ms of host work per chunk is 10 % of the device
 *           and of a core.
 *   C5      Halved when another job has waited too many rounds (see fairness.ts).
 *   C6      Multiples of the launch's granularity. space.ts clips a piece at the end of its range and at multiples of 2^32.
 *
 * Further rules: several active jobs take turns on a device, so the aim is then never above the interactive one. A chunk
 * that took more than twice the aim, or longer than the device allows, shrinks the size at once to what would have taken
 * the aim: a device that slows tenfold is noticed after one chunk, not after three halvings. Two limits take precedence
 * over time: a kernel's smallest useful size, and the capacity of a slot's buffers.
 *
 * From 0.1 ms to 50 ms are 9 doublings of 4 chunks, about 0.2 s of full work.
 */

/** The chunk sizes that suit a kernel on a device. */
export interface ChunkShape {
  /** Items in one pass over the whole device. */
  readonly stride: number;
  /** Chunk sizes are multiples of this. */
  readonly granularity: number;
  /** Smallest chunk that uses the device well. */
  readonly min: number;
  /** Items that fit a slot's buffers; at most 2^32. */
  readonly max: number;
  /** Minimum items of a chunk while `queued` of `capacity` slots are in use: larger when the queue runs empty. */
  readonly batch?: ((queued: number, capacity: number) => number) | undefined;
  /** Expected items per millisecond. `batch` uses it until the speed is measured. */
  readonly expectedPerMs?: number | undefined;
}

export interface ChunkRules extends ChunkShape {
  readonly aimMs: number;
  /** Upper limit for the time of a chunk. */
  readonly maxMs: number;
}

/**
 * Target time of a chunk. `interactive` answers and stops soon; `batch` loses as little time as possible between
 * chunks.
 */
export const AIM_MS = { interactive: 10, batch: 50 } as const;
export type Aim = keyof typeof AIM_MS;
const MAX_CHUNK_MS = 1000;
/** Times of chunks that a device asks for. */
type ChunkTimes = Pick<DeviceInfo['limits'], 'chunkMs' | 'interactiveMs'>;
/** N of C3. */
const COMPLETIONS_TO_DOUBLE = 4;

export function chunkRules(
  shape: ChunkShape,
  aim: Aim,
  { chunkMs: maxMs = MAX_CHUNK_MS, interactiveMs = AIM_MS.interactive }: ChunkTimes = {},
): ChunkRules {
  return { ...shape, aimMs: Math.min(aim === 'interactive' ? interactiveMs : AIM_MS[aim], maxMs), maxMs };
}

/**
 * Returns the size of the next chunk if `batch` asks for more than `size`, limited to what should take `maxMs`.
 * Before the first completion the limit is a quarter of that, because the speed is a guess and every slot gets a chunk
 * sized by it.
 */
export function sizeForBatch(
  rules: ChunkRules,
  size: number,
  {
    perMs,
    queued,
    capacity,
  }: { readonly perMs: number | undefined; readonly queued: number; readonly capacity: number },
): number {
  const { batch, maxMs, expectedPerMs = 0, granularity } = rules;
  if (batch === undefined) return size;
  const maxItems = perMs === undefined ? (expectedPerMs * maxMs) / 4 : perMs * maxMs;
  return Math.max(size, Math.min(batch(queued, capacity), Math.floor(maxItems / granularity) * granularity));
}

/** Why a chunk has its size, for telemetry. */
export type ChunkPolicy = 'init' | 'double' | 'hold' | 'shrink';

export interface ChunkState {
  /** Items of the next chunk. */
  readonly size: number;
  readonly policy: ChunkPolicy;
  /** Consecutive short completions at this size or above. */
  readonly shortCount: number;
}

/** Rules C1 and C2. `active` counts the jobs that have work for the device, including this one. */
export function firstChunk(rules: ChunkRules, active: number): ChunkState {
  return { size: fitSize(rules, active < 2 ? rules.stride / 4 : rules.stride / active), policy: 'init', shortCount: 0 };
}

/** Records that a chunk of the present size was issued. The next chunk of this size has the policy `hold`. */
export function afterIssue(state: ChunkState): ChunkState {
  return state.policy === 'init' || state.policy === 'hold' ? state : holding(state, state.shortCount);
}

/** Records that a chunk of `count` items took `ms` on the device. */
export function afterCompletion(
  rules: ChunkRules,
  state: ChunkState,
  count: number,
  ms: number,
  active: number,
): ChunkState {
  const aimMs = aimFor(rules, active);
  const isFull = count >= state.size;
  const paced = fitSize(rules, (count * aimMs) / ms);
  // A chunk of less than half the size says little about speed: fixed costs dominate.
  if (2 * count >= state.size && (ms > 2 * aimMs || ms > rules.maxMs) && paced < state.size) {
    return { size: paced, policy: 'shrink', shortCount: 0 };
  }
  if (!(ms < aimMs / 2)) return withShortCount(state, 0);
  const shortCount = state.shortCount + (isFull ? 1 : 0);
  const doubled = fitSize(rules, 2 * state.size);
  if (shortCount < COMPLETIONS_TO_DOUBLE || doubled <= state.size)
    return withShortCount(state, Math.min(shortCount, COMPLETIONS_TO_DOUBLE));
  return { size: doubled, policy: 'double', shortCount: 0 };
}

/** Records that the size is no longer a guess. Returns the same object if nothing changes, which is the usual case. */
function withShortCount(state: ChunkState, shortCount: number): ChunkState {
  if (state.policy === 'init') return holding(state, shortCount);
  if (state.shortCount === shortCount) return state;
  return { size: state.size, policy: state.policy, shortCount };
}

const holding = ({ size }: ChunkState, shortCount: number): ChunkState => ({ size, policy: 'hold', shortCount });

/** Rule C5: halves the size, because another job has waited too long. */
export function halved(rules: ChunkRules, state: ChunkState): ChunkState {
  const size = Math.min(state.size, fitSize(rules, state.size / 2));
  return { size, policy: size < state.size ? 'shrink' : state.policy, shortCount: 0 };
}

/** Returns the target time of a chunk while `active` jobs take turns. */
export function aimFor({ aimMs }: ChunkRules, active: number): number {
  return active > 1 ? Math.min(aimMs, AIM_MS.interactive) : aimMs;
}

/** Rounds `items` to a multiple of the granularity between `min` and `max`. */
export function fitSize({ granularity, min, max }: ChunkShape, items: number): number {
  const floor = Math.ceil(Math.max(1, min) / granularity) * granularity;
  const rounded = Math.floor(items / granularity) * granularity;
  const ceiling = max < granularity ? max : Math.floor(max / granularity) * granularity;
  return Math.min(Math.max(rounded, floor), ceiling);
}
