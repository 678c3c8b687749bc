/**
 * How many items the next chunk of a job on a device has. Pure, per (job, device).
 *
 * The rules, with their names in the specification of `block`:
 *
 *   C1, C2  The first chunk is `stride / active`, `stride / 4` while fewer than two jobs are active: small, because nothing
 *           is known of the kernel yet.
 *   C3      It doubles only when the last 4 completions were all shorter than half of the aim (5 ms of 10). Only chunks
 *           of at least the present size are evidence for doubling; any longer completion is evidence against.
 *   C4      The cap is a time. Doubling from under half of the aim cannot pass the aim, so a chunk ends up between half
 *           of the aim and the aim on every device. The proposal's cap of 8 initial chunks would hold an H200, whose
 *           initial chunk takes 0.07 to 0.3 ms, at about 1 ms, where 0.1 ms of host work per chunk is 10 % of the device
 *           and of a core.
 *   C5      Halved when another job has waited too many rounds (see fairness.ts).
 *   C6      Multiples of the launch's granularity; what ends a range or reaches a multiple of 2^32 is clipped by whoever
 *           takes it from the space (space.ts).
 *
 * Beside them: several active jobs share a device by turns, so the aim is then never above the interactive one. A chunk
 * that took more than twice the aim, or longer than the device allows at all, shrinks the size at once to what would have
 * taken the aim: a device that slows tenfold needs one chunk to be noticed, not three halvings. Two things win over time:
 * a kernel's least useful size, and what a slot's buffers hold.
 *
 * From 0.1 ms to 50 ms are 9 doublings of 4 chunks, about 0.2 s of full work.
 */

/** Which sizes suit a kernel on a device. */
export interface ChunkShape {
  /** Items of one pass over the whole device. */
  readonly stride: number;
  /** Chunks are multiples of it. */
  readonly granularity: number;
  /** Below this a chunk wastes the device. */
  readonly least: number;
  /** What a slot's buffers take; at most 2^32. */
  readonly most: number;
  /** Items that a chunk should have at least while `queued` of the slots are in use: more, where the queue runs empty. */
  readonly batch?: ((queued: number, capacity: number) => number) | undefined;
  /** Items per millisecond that the device should do: `batch` goes by it until the speed is measured. */
  readonly expectedPerMs?: number | undefined;
}

export interface ChunkRules extends ChunkShape {
  readonly aimMs: number;
  /** No chunk is meant to take longer. */
  readonly longestMs: number;
}

/** How long a chunk should take: to answer and to stop soon, or to lose as little as possible between chunks. */
export const AIM_MS = { interactive: 10, batch: 50 } as const;
export type Aim = keyof typeof AIM_MS;
export const LONGEST_MS = 1000;
/** A browser's or desktop's display waits for the same device. */
export const WEBGPU_LONGEST_MS = 20;
/** N of C3. */
const COMPLETIONS = 4;

export function chunkRules(shape: ChunkShape, aim: Aim, longestMs: number = LONGEST_MS): ChunkRules {
  return { ...shape, aimMs: Math.min(AIM_MS[aim], longestMs), longestMs };
}

/**
 * The size of the next chunk where `batch` asks for more than `size`: as much as should take no longer than a chunk may.
 * Before the first completion that time is a quarter, because the speed is a guess and each slot gets a chunk by it.
 */
export function batched(
  rules: ChunkRules,
  size: number,
  {
    perMs,
    queued,
    capacity,
  }: { readonly perMs: number | undefined; readonly queued: number; readonly capacity: number },
): number {
  const { batch, longestMs, expectedPerMs = 0, granularity } = rules;
  if (batch === undefined) return size;
  const most = perMs === undefined ? (expectedPerMs * longestMs) / 4 : perMs * longestMs;
  return Math.max(size, Math.min(batch(queued, capacity), Math.floor(most / granularity) * granularity));
}

/** Why a chunk has its size, for telemetry. */
export type ChunkPolicy = 'init' | 'double' | 'hold' | 'shrink';

export interface ChunkState {
  /** Items of the next chunk. */
  readonly size: number;
  readonly policy: ChunkPolicy;
  /** Completions in a row that were short, at this size or above. */
  readonly short: number;
}

/** C1 and C2; `active` counts the jobs that have work for the device, this one included. */
export function firstChunk(rules: ChunkRules, active: number): ChunkState {
  return { size: fitted(rules, active < 2 ? rules.stride / 4 : rules.stride / active), policy: 'init', short: 0 };
}

/** A chunk of the present size is on its way: the next one of this size merely holds it. */
export function issued(state: ChunkState): ChunkState {
  return state.policy === 'init' || state.policy === 'hold' ? state : holding(state, state.short);
}

/** A chunk of `count` items has taken `ms` on the device. */
export function completed(rules: ChunkRules, state: ChunkState, count: number, ms: number, active: number): ChunkState {
  const aimMs = aimFor(rules, active);
  const isFull = count >= state.size;
  const paced = fitted(rules, (count * aimMs) / ms);
  // Half a chunk or less says little of the pace: fixed costs weigh more in it.
  if (2 * count >= state.size && (ms > 2 * aimMs || ms > rules.longestMs) && paced < state.size) {
    return { size: paced, policy: 'shrink', short: 0 };
  }
  if (!(ms < aimMs / 2)) return known(state, 0);
  const short = state.short + (isFull ? 1 : 0);
  const doubled = fitted(rules, 2 * state.size);
  if (short < COMPLETIONS || doubled <= state.size) return known(state, Math.min(short, COMPLETIONS));
  return { size: doubled, policy: 'double', short: 0 };
}

/** Something of this size has been seen: the size is no longer a guess. Mostly nothing changes, and nothing is made. */
function known(state: ChunkState, short: number): ChunkState {
  if (state.policy === 'init') return holding(state, short);
  if (state.short === short) return state;
  return { size: state.size, policy: state.policy, short };
}

const holding = ({ size }: ChunkState, short: number): ChunkState => ({ size, policy: 'hold', short });

/** C5: another job has waited too long. */
export function crowded(rules: ChunkRules, state: ChunkState): ChunkState {
  const size = Math.min(state.size, fitted(rules, state.size / 2));
  return { size, policy: size < state.size ? 'shrink' : state.policy, short: 0 };
}

/** How long a chunk should take while so many jobs take turns. */
export function aimFor({ aimMs }: ChunkRules, active: number): number {
  return active > 1 ? Math.min(aimMs, AIM_MS.interactive) : aimMs;
}

/** A multiple of the granularity, within what is useful and what there is room for. */
export function fitted({ granularity, least, most }: ChunkShape, items: number): number {
  const floor = Math.ceil(Math.max(1, least) / granularity) * granularity;
  const wanted = Math.floor(items / granularity) * granularity;
  const ceiling = most < granularity ? most : Math.floor(most / granularity) * granularity;
  return Math.min(Math.max(wanted, floor), ceiling);
}
