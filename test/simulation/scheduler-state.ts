import { type ChunkPolicy, type ChunkRules, type ChunkState, fitSize } from '../../src/engine/feed/chunk-size.js';
import type { Rotation } from '../../src/engine/feed/fairness.js';
import type { FaultCounts, FaultKind } from '../../src/engine/feed/fault-rate.js';
import type { SlotPool, StreamSlot } from '../../src/engine/feed/slots.js';
import type { StallDetector } from '../../src/engine/feed/stall.js';
import type { Throughput } from '../../src/engine/feed/throughput.js';
import {
  type Indexed,
  type ReorderBuffer,
  type SearchMode,
  sizeForRing,
} from '../../src/engine/makers/reorder-buffer.js';
import {
  type ChunkQueue,
  chooseVictim,
  type DeviceLoad,
  expectedEnds,
  hasEnoughWork,
  slowdownOf,
  tailSize,
} from '../../src/engine/run/balance.js';
import { type CanaryState, isCanaryDue } from '../../src/engine/run/canary.js';
import { type Coverage, isHandedOut, unsharedIndices, waitingCount } from '../../src/engine/work/coverage.js';
import { MAX_ITEMS, type Piece, type Range } from '../../src/engine/work/space.js';

/** The state of devices, jobs, and each job on each device. The functions decide the next chunk of a device. */
export interface SchedulerState<R extends Indexed> {
  readonly devices: ReadonlyMap<string, DeviceState>;
  readonly jobs: ReadonlyMap<string, JobState<R>>;
  /** Every chunk whose indices are in flight: on a device, being checked, or waiting for a canary. */
  readonly chunks: ReadonlyMap<number, Issue>;
}

export interface DeviceState {
  readonly id: string;
  slots: SlotPool;
  rotation: Rotation;
  health: FaultCounts;
  /** Why it is no longer used. */
  fault: FaultKind | undefined;
  /** Its chunks that have not ended, in the order they were given to it. */
  queue: readonly number[];
  /** When its last chunk ended. */
  freeSinceMs: number;
  /** While a stream exceeds its limit the device gets no chunks. */
  readonly stallDetector: StallDetector;
}

export interface JobState<R extends Indexed> {
  readonly plan: JobPlan;
  readonly lanes: Map<string, Lane>;
  coverage: Coverage;
  buffer: ReorderBuffer<R>;
  /** Hits per item: the recent maximum. */
  perItem: number | undefined;
}

/** One job on one device. */
export interface Lane {
  readonly rules: ChunkRules;
  chunk: ChunkState;
  throughput: Throughput;
  canaryState: CanaryState;
  hasCompleted: boolean;
}

export interface JobPlan {
  readonly id: string;
  readonly ranges: Iterable<Range>;
  /** Default `all`. */
  readonly mode?: SearchMode;
  /** Capacity of a ring, in hits. */
  readonly ringCapacity?: number;
  /** Items of a canary. Default: no canaries, results count at once. */
  readonly canary?: number;
  /** Maximum chunks in flight on one device. With 1, rule C7 applies literally. */
  readonly inFlight?: number;
  /** A static partition: each device does only its own part. */
  readonly parts?: ReadonlyMap<string, Range>;
}

/** A chunk for a device. */
export interface Issue extends Piece {
  readonly id: number;
  readonly job: string;
  readonly device: string;
  readonly slot: StreamSlot;
  /** `duplicate`: another device has the indices too. `canary`: a chunk with known hits; its `start` is meaningless. */
  readonly kind: 'work' | 'duplicate' | 'canary';
  readonly policy: ChunkPolicy;
  readonly issuedMs: number;
  /** Turns its job had waited, jobs with work for the device, and chunks in flight on it, including this one. */
  readonly waitRounds: number;
  readonly active: number;
  readonly busy: number;
}

/** Returns the items of a job's next chunk on a device. 0 if it has none for the device now. */
export function wantedSize<R extends Indexed>(
  state: SchedulerState<R>,
  device: DeviceState,
  job: JobState<R>,
  nowMs: number,
): number {
  const lane = job.lanes.get(device.id);
  if (lane === undefined || job.buffer.isOver || isHandedOut(job.coverage)) return 0;
  const { plan, coverage } = job;
  if (plan.inFlight !== undefined && inFlight(state, device, plan.id).length >= plan.inFlight) return 0;
  const chunks = inFlight(state, device, plan.id);
  const items = chunks.reduce((sum, { count }) => sum + count, 0);
  const { hasCompleted, throughput } = lane;
  const queued = { items, chunks: chunks.length, hasCompleted, jobs: device.rotation.length };
  if (hasEnoughWork({ ...queued, perMs: throughput.perMs.value })) return 0;
  const maxForRing = plan.ringCapacity === undefined ? MAX_ITEMS : sizeForRing(job.perItem, plan.ringCapacity);
  const wanted = Math.min(lane.chunk.size, maxForRing);
  if (plan.parts !== undefined) {
    const part = plan.parts.get(device.id);
    const hasWork = part !== undefined && !(coverage.todo.within(part).isEmpty && coverage.retry.length === 0);
    return hasWork ? wanted : 0;
  }
  const loads = [...job.lanes].flatMap(([id, other]) => loadOf(state, id, other, plan.id, nowMs));
  const me = loads.find((load) => load.device === device.id);
  const size = me === undefined ? wanted : tailSize(me, loads, Number(waitingCount(coverage)), wanted);
  // The ring's capacity takes precedence over everything, the granularity over the rest.
  return size === 0 ? 0 : Math.min(fitSize({ ...lane.rules, min: 1 }, size), maxForRing);
}

/** Returns the chunk that an idle device should duplicate, and the maximum items. */
export function duplicateFor<R extends Indexed>(
  state: SchedulerState<R>,
  device: DeviceState,
  job: JobState<R>,
  nowMs: number,
): { readonly original: number; readonly max: number } | undefined {
  const lane = job.lanes.get(device.id);
  const perMs = lane?.throughput.perMs.value;
  if (job.plan.parts !== undefined) return undefined;
  if (lane === undefined || perMs === undefined || job.buffer.isOver || !isHandedOut(job.coverage)) return undefined;
  const others = [...state.devices.values()].filter(({ id, fault }) => id !== device.id && fault === undefined);
  const victims = others.flatMap((other) =>
    [...expectedEnds(queueOf(state, other, nowMs))].flatMap(([id, endMs]) => {
      if (state.chunks.get(id)?.job !== job.plan.id) return [];
      const unshared = unsharedIndices(job.coverage, id).reduce((sum, { length }) => sum + Number(length), 0);
      return { id, endMs, count: unshared };
    }),
  );
  const ownMs = inFlight(state, device, job.plan.id).reduce((sum, { count }) => sum + count / perMs, 0);
  const victim = chooseVictim(perMs, ownMs, victims);
  return victim && { original: victim.id, max: lane.chunk.size };
}

/** True if a canary of the job should go to the device now. */
export function wantsCanary<R extends Indexed>(job: JobState<R>, device: DeviceState, isIdle: boolean): boolean {
  const { canary } = job.plan;
  const lane = job.lanes.get(device.id);
  if (canary === undefined || lane === undefined || job.buffer.isOver) return false;
  return isCanaryDue(lane.canaryState, canary, isIdle, lane.throughput.perMs.value);
}

/** Returns the expected time of all chunks on the device. Undefined while the speed of one of them is unknown. */
export function dueOf<R extends Indexed>(state: SchedulerState<R>, device: DeviceState): number | undefined {
  const times = queueOf(state, device, 0).chunks.map(({ dueMs }) => dueMs);
  return times.reduce((sum, dueMs) => (sum === undefined || dueMs === undefined ? undefined : sum + dueMs), 0);
}

function loadOf<R extends Indexed>(
  state: SchedulerState<R>,
  id: string,
  { throughput, rules }: Lane,
  job: string,
  nowMs: number,
): DeviceLoad[] {
  const device = state.devices.get(id);
  if (device === undefined || device.fault !== undefined || device.stallDetector.isStalled) return [];
  const { value } = throughput.perMs;
  const perMs = value === undefined ? undefined : value / slowdownOf(queueOf(state, device, nowMs));
  const items = inFlight(state, device, job).reduce((sum, { count }) => sum + count, 0);
  return [{ device: id, perMs, items, minItems: rules.min }];
}

function queueOf<R extends Indexed>(state: SchedulerState<R>, device: DeviceState, nowMs: number): ChunkQueue {
  const issues = device.queue.flatMap((id) => state.chunks.get(id) ?? []);
  const chunks = issues.map(({ id, job, count }) => {
    const perMs = state.jobs.get(job)?.lanes.get(device.id)?.throughput.perMs.value;
    return { id, dueMs: perMs === undefined ? undefined : count / perMs };
  });
  const sinceMs = Math.max(issues[0]?.issuedMs ?? nowMs, device.freeSinceMs);
  return { chunks, runningMs: Math.max(0, nowMs - sinceMs) };
}

function inFlight<R extends Indexed>(state: SchedulerState<R>, device: DeviceState, job: string): Issue[] {
  return device.queue.flatMap((id) => {
    const issue = state.chunks.get(id);
    return issue?.job === job && issue.kind !== 'canary' ? issue : [];
  });
}
