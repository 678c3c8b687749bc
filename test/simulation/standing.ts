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

/** How things stand: devices, jobs, each job on each device. And what follows from it for a device that has room. */
export interface Standing<R extends Indexed> {
  readonly devices: ReadonlyMap<string, DeviceStanding>;
  readonly jobs: ReadonlyMap<string, JobStanding<R>>;
  /** Every chunk whose indices are in flight: on a device, being checked, or awaiting a canary. */
  readonly chunks: ReadonlyMap<number, Issue>;
}

export interface DeviceStanding {
  readonly id: string;
  slots: SlotPool;
  rotation: Rotation;
  health: FaultCounts;
  /** Why it is not used any longer. */
  fault: FaultKind | undefined;
  /** Its chunks that have not ended, in the order they were given to it. */
  queue: readonly number[];
  /** When its last chunk ended. */
  freeSinceMs: number;
  /** While it exceeds a limit the device gets no more chunks. */
  readonly silence: StallDetector;
}

export interface JobStanding<R extends Indexed> {
  readonly plan: JobPlan;
  readonly lanes: Map<string, Lane>;
  coverage: Coverage;
  harvest: ReorderBuffer<R>;
  /** Hits per item, the most that were seen of late. */
  perItem: number | undefined;
}

/** One job on one device. */
export interface Lane {
  readonly rules: ChunkRules;
  chunk: ChunkState;
  throughput: Throughput;
  audit: CanaryState;
  hasCompleted: boolean;
}

export interface JobPlan {
  readonly id: string;
  readonly ranges: Iterable<Range>;
  /** Default `all`. */
  readonly mode?: SearchMode;
  /** Hits that a ring holds. */
  readonly ringRoom?: number;
  /** Items of a canary. Default: no canaries, results count at once. */
  readonly canary?: number;
  /** Chunks in flight on one device at most: 1 is rule C7 to the letter. */
  readonly inFlight?: number;
  /** A partition made beforehand: each device does its own part and nothing else. */
  readonly parts?: ReadonlyMap<string, Range>;
}

/** A chunk for a device. */
export interface Issue extends Piece {
  readonly id: number;
  readonly job: string;
  readonly device: string;
  readonly slot: StreamSlot;
  /** `twin`: indices that another device has too. `canary`: the job's planted chunk; `start` says nothing. */
  readonly kind: 'work' | 'twin' | 'canary';
  readonly policy: ChunkPolicy;
  readonly issuedMs: number;
  /** Turns its job had waited, jobs with work for the device, chunks in flight on it with this one. */
  readonly waitRounds: number;
  readonly active: number;
  readonly busy: number;
}

/** Items of a job's next chunk on a device; 0 when it has none for it now. */
export function wantedSize<R extends Indexed>(
  standing: Standing<R>,
  device: DeviceStanding,
  job: JobStanding<R>,
  nowMs: number,
): number {
  const lane = job.lanes.get(device.id);
  if (lane === undefined || job.harvest.isOver || isHandedOut(job.coverage)) return 0;
  const { plan, coverage } = job;
  if (plan.inFlight !== undefined && inFlight(standing, device, plan.id).length >= plan.inFlight) return 0;
  const flying = inFlight(standing, device, plan.id);
  const items = flying.reduce((sum, { count }) => sum + count, 0);
  const { hasCompleted, throughput } = lane;
  const queued = { items, chunks: flying.length, hasCompleted, jobs: device.rotation.length };
  if (hasEnoughWork({ ...queued, perMs: throughput.perMs.value })) return 0;
  const room = plan.ringRoom === undefined ? MAX_ITEMS : sizeForRing(job.perItem, plan.ringRoom);
  const wanted = Math.min(lane.chunk.size, room);
  if (plan.parts !== undefined) {
    const part = plan.parts.get(device.id);
    const hasWork = part !== undefined && !(coverage.todo.within(part).isEmpty && coverage.retry.length === 0);
    return hasWork ? wanted : 0;
  }
  const loads = [...job.lanes].flatMap(([id, other]) => loadOf(standing, id, other, plan.id, nowMs));
  const me = loads.find((load) => load.device === device.id);
  const size = me === undefined ? wanted : tailSize(me, loads, Number(waitingCount(coverage)), wanted);
  // A ring's room wins over everything, a multiple of the granularity over the rest.
  return size === 0 ? 0 : Math.min(fitSize({ ...lane.rules, min: 1 }, size), room);
}

/** The chunk that an idle device should do once more, and how much of it. */
export function twinFor<R extends Indexed>(
  standing: Standing<R>,
  device: DeviceStanding,
  job: JobStanding<R>,
  nowMs: number,
): { readonly twin: number; readonly most: number } | undefined {
  const lane = job.lanes.get(device.id);
  const perMs = lane?.throughput.perMs.value;
  if (job.plan.parts !== undefined) return undefined;
  if (lane === undefined || perMs === undefined || job.harvest.isOver || !isHandedOut(job.coverage)) return undefined;
  const others = [...standing.devices.values()].filter(({ id, fault }) => id !== device.id && fault === undefined);
  const victims = others.flatMap((other) =>
    [...expectedEnds(queueOf(standing, other, nowMs))].flatMap(([id, endMs]) => {
      if (standing.chunks.get(id)?.job !== job.plan.id) return [];
      const sole = unsharedIndices(job.coverage, id).reduce((sum, { length }) => sum + Number(length), 0);
      return { id, endMs, count: sole };
    }),
  );
  const ownMs = inFlight(standing, device, job.plan.id).reduce((sum, { count }) => sum + count / perMs, 0);
  const victim = chooseVictim(perMs, ownMs, victims);
  return victim && { twin: victim.id, most: lane.chunk.size };
}

/** Whether a canary of the job should go to the device now. */
export function wantsCanary<R extends Indexed>(job: JobStanding<R>, device: DeviceStanding, isIdle: boolean): boolean {
  const { canary } = job.plan;
  const lane = job.lanes.get(device.id);
  if (canary === undefined || lane === undefined || job.harvest.isOver) return false;
  return isCanaryDue(lane.audit, canary, isIdle, lane.throughput.perMs.value);
}

/** What all chunks on the device should take together; undefined while the speed of one of them is unknown. */
export function dueOf<R extends Indexed>(standing: Standing<R>, device: DeviceStanding): number | undefined {
  const times = queueOf(standing, device, 0).chunks.map(({ dueMs }) => dueMs);
  return times.reduce((sum, dueMs) => (sum === undefined || dueMs === undefined ? undefined : sum + dueMs), 0);
}

function loadOf<R extends Indexed>(
  standing: Standing<R>,
  id: string,
  { throughput, rules }: Lane,
  job: string,
  nowMs: number,
): DeviceLoad[] {
  const device = standing.devices.get(id);
  if (device === undefined || device.fault !== undefined || device.silence.isStalled) return [];
  const { value } = throughput.perMs;
  const perMs = value === undefined ? undefined : value / slowdownOf(queueOf(standing, device, nowMs));
  const items = inFlight(standing, device, job).reduce((sum, { count }) => sum + count, 0);
  return [{ device: id, perMs, items, minItems: rules.min }];
}

function queueOf<R extends Indexed>(standing: Standing<R>, device: DeviceStanding, nowMs: number): ChunkQueue {
  const issues = device.queue.flatMap((id) => standing.chunks.get(id) ?? []);
  const chunks = issues.map(({ id, job, count }) => {
    const perMs = standing.jobs.get(job)?.lanes.get(device.id)?.throughput.perMs.value;
    return { id, dueMs: perMs === undefined ? undefined : count / perMs };
  });
  const sinceMs = Math.max(issues[0]?.issuedMs ?? nowMs, device.freeSinceMs);
  return { chunks, runningMs: Math.max(0, nowMs - sinceMs) };
}

function inFlight<R extends Indexed>(standing: Standing<R>, device: DeviceStanding, job: string): Issue[] {
  return device.queue.flatMap((id) => {
    const issue = standing.chunks.get(id);
    return issue?.job === job && issue.kind !== 'canary' ? issue : [];
  });
}
