import {
  afterCompletion,
  afterIssue,
  type ChunkPolicy,
  type ChunkRules,
  firstChunk,
  halved,
} from '../../src/engine/feed/chunk-size.js';
import { join, leave, roundsOf, serve } from '../../src/engine/feed/fairness.js';
import { type FaultKind, faultOf, NO_FAULTS, recordFault, recordOk } from '../../src/engine/feed/fault-rate.js';
import { freeSlot, openSlotPool, STREAMS, takeSlot } from '../../src/engine/feed/slots.js';
import { StallDetector } from '../../src/engine/feed/stall.js';
import { measure, NO_THROUGHPUT } from '../../src/engine/feed/throughput.js';
import {
  addHits,
  type Indexed,
  sizeAfterOverflow,
  startReorderBuffer,
  takeReady,
} from '../../src/engine/makers/reorder-buffer.js';
import {
  awaitCanary,
  failCanary,
  NO_CANARY_STATE,
  passCanary,
  resetCanary,
  sendCanary,
} from '../../src/engine/run/canary.js';
import * as coverage from '../../src/engine/work/coverage.js';
import { endOf, type Piece, type Range } from '../../src/engine/work/space.js';
import {
  type DeviceState,
  dueOf,
  duplicateFor,
  type Issue,
  type JobPlan,
  type JobState,
  type Lane,
  type SchedulerState,
  wantedSize,
  wantsCanary,
} from './scheduler-state.js';

/**
 * The policies of src/engine combined without a clock, devices or promises: decides what each device does next and what
 * its results mean. The simulation reports what happened and when, carries out the effects, and after every event calls
 * `next` for each device until it returns nothing.
 *
 * A chunk's life: `next` hands it out; it ends (`ended`) or does not (`incomplete`, `failed`); its results are checked and
 * are right (`accept`), too many for the ring (`overflowed`) or wrong (`refuted`); right results count at once or after the
 * device's next canary. `free` frees its slot when its memory is no longer read, at any point after it ended.
 */
export class Scheduler<R extends Indexed> implements SchedulerState<R> {
  readonly devices = new Map<string, DeviceState>();
  readonly jobs = new Map<string, JobState<R>>();
  readonly chunks = new Map<number, Issue>();
  /** Right results that wait for a canary. */
  readonly #held = new Map<number, readonly R[]>();
  /** When each device's last chunk ended, by the device's own clock. */
  readonly #lastEndMs = new Map<string, number>();
  #nextId = 0;

  addDevice(id: string, streams?: number, perStream?: number): void {
    this.devices.set(id, {
      id,
      slots: openSlotPool(streams, perStream),
      rotation: [],
      health: NO_FAULTS,
      fault: undefined,
      queue: [],
      freeSinceMs: Number.NEGATIVE_INFINITY,
      stallDetector: new StallDetector(streams ?? STREAMS),
    });
  }

  addJob(plan: JobPlan): void {
    this.jobs.set(plan.id, {
      plan,
      lanes: new Map(),
      coverage: coverage.cover(plan.ranges),
      buffer: startReorderBuffer(plan.mode ?? 'all'),
      perItem: undefined,
    });
  }

  /** The device is ready for chunks of the job: compiled, with its buffers. */
  addLane(job: string, device: string, rules: ChunkRules): void {
    const { lanes } = this.#job(job);
    const on = this.#device(device);
    on.rotation = join(on.rotation, job);
    lanes.set(device, {
      rules,
      chunk: firstChunk(rules, on.rotation.length),
      throughput: NO_THROUGHPUT,
      canaryState: NO_CANARY_STATE,
      hasCompleted: false,
    });
  }

  /** Returns the next chunk for a device. Undefined if it has no free slot or there is no work for it. */
  next(device: string, nowMs: number): Issue | undefined {
    const on = this.#device(device);
    if (on.fault !== undefined || on.stallDetector.isStalled || takeSlot(on.slots) === undefined) return undefined;
    return (
      this.#canary(on, nowMs, false) ??
      this.#work(on, nowMs) ??
      this.#canary(on, nowMs, true) ??
      this.#duplicate(on, nowMs)
    );
  }

  /** A chunk is complete; times are those of the device, in milliseconds of its clock. */
  ended(id: number, startedMs: number, endedMs: number, nowMs: number): void {
    const issue = this.chunks.get(id);
    if (issue === undefined) return;
    const on = this.#leaveQueue(issue, nowMs);
    const lastMs = this.#lastEndMs.get(on.id) ?? Number.NEGATIVE_INFINITY;
    this.#lastEndMs.set(on.id, Math.max(lastMs, endedMs));
    const lane = this.jobs.get(issue.job)?.lanes.get(on.id);
    if (lane === undefined || issue.kind === 'canary') return;
    lane.hasCompleted = true;
    lane.throughput = measure(lane.throughput, issue.count, endedMs - Math.max(startedMs, lastMs));
    lane.chunk = afterCompletion(lane.rules, lane.chunk, issue.count, endedMs - startedMs, on.rotation.length);
  }

  /** The chunk's results are right; `checked` of them were recomputed. */
  accept(id: number, results: readonly R[], checked = results.length): Effects<R> {
    const effects = new Effects<R>();
    const issue = this.chunks.get(id);
    if (issue === undefined) return effects;
    const job = this.#job(issue.job);
    const lane = this.#lane(issue);
    const on = this.#device(issue.device);
    on.health = recordOk(on.health, checked);
    job.perItem = denser(job.perItem, results.length / issue.count);
    this.#held.set(id, results);
    if (job.plan.canary === undefined) this.#count([id], effects);
    else lane.canaryState = awaitCanary(lane.canaryState, id, issue.count);
    return effects;
  }

  /** The chunk had more hits than its ring holds. Throws if one index alone has. */
  overflowed(id: number, found: number, capacity: number): void {
    const issue = this.chunks.get(id);
    if (issue === undefined) return;
    const job = this.#job(issue.job);
    job.coverage = coverage.queueRetry(job.coverage, id, sizeAfterOverflow(issue, found, capacity));
    job.perItem = denser(job.perItem, found / issue.count);
    this.chunks.delete(id);
  }

  /** The chunk stopped before its end because it was cancelled. */
  incomplete(id: number, nowMs: number): Effects<R> {
    return this.#takeBack(id, nowMs);
  }

  /** The chunk ended in an error of the device. */
  failed(id: number, nowMs: number): Effects<R> {
    return this.#takeBack(id, nowMs, 'failed');
  }

  /** A result of the chunk was wrong. */
  refuted(id: number, nowMs: number): Effects<R> {
    return this.#takeBack(id, nowMs, 'wrong');
  }

  /** A canary has ended: its hits were all found, or not. */
  canaryEnded(id: number, isFound: boolean): Effects<R> {
    const effects = new Effects<R>();
    const issue = this.chunks.get(id);
    if (issue === undefined) return effects;
    this.chunks.delete(id);
    if (!isFound) {
      this.#recordFault(this.#device(issue.device), 'missed', effects);
      return effects;
    }
    const lane = this.#lane(issue);
    const { state, chunks } = passCanary(lane.canaryState);
    lane.canaryState = state;
    this.#count(chunks, effects);
    return effects;
  }

  /** The chunk's memory is no longer read. */
  free({ device, slot }: Pick<Issue, 'device' | 'slot'>): void {
    const on = this.#device(device);
    on.slots = freeSlot(on.slots, slot);
  }

  /** The device is gone. */
  lost(device: string): Effects<R> {
    const effects = new Effects<R>();
    this.#exclude(this.#device(device), 'failed', effects);
    return effects;
  }

  /** Records that `ms` have passed, and detects devices that hang. Others may run their chunks in flight. */
  tick(ms: number): Effects<R> {
    const effects = new Effects<R>();
    for (const device of this.devices.values()) {
      if (device.fault !== undefined) continue;
      const queued = device.queue.flatMap((id) => this.chunks.get(id) ?? []);
      const before = device.stallDetector.strikes;
      const dueMs = dueOf(this, device);
      for (const stream of new Set(queued.map(({ slot }) => slot.stream))) {
        if (!device.stallDetector.add(stream, ms, dueMs)) continue;
        const hasOthers = [...this.devices.values()].some((other) => other !== device && isUsable(other));
        const late = hasOthers ? queued.filter(({ slot }) => slot.stream === stream) : [];
        for (const { id } of late) this.#updateCoverage(id, coverage.abandon);
      }
      if (device.stallDetector.strikes > before) this.#recordFault(device, 'stalled', effects);
    }
    return effects;
  }

  #work(on: DeviceState, nowMs: number): Issue | undefined {
    const sizes = new Map<string, number>();
    const wants = (id: string): boolean => {
      const size = wantedSize(this, on, this.#job(id), nowMs);
      sizes.set(id, size);
      return size > 0;
    };
    const waitRounds = on.rotation;
    const served = serve(on.rotation, wants);
    on.rotation = served.rotation;
    if (served.mustHalveOthers) this.#halveOthers(on, served.job);
    if (served.job === undefined) return undefined;
    const job = this.#job(served.job);
    const max = sizes.get(served.job) ?? 0;
    const within = job.plan.parts?.get(on.id);
    const request = { id: this.#nextId, device: on.id, max, ...(within && { within }) };
    const taken = coverage.take(job.coverage, request);
    const lane = job.lanes.get(on.id);
    if (taken === undefined || lane === undefined) return undefined;
    job.coverage = taken.coverage;
    const policy = max < lane.chunk.size ? 'shrink' : lane.chunk.policy;
    lane.chunk = afterIssue(lane.chunk);
    return this.#issue(on, job, 'work', taken.chunk, policy, nowMs, roundsOf(waitRounds, served.job));
  }

  #duplicate(on: DeviceState, nowMs: number): Issue | undefined {
    for (const { job: id } of on.rotation) {
      const job = this.#job(id);
      const chosen = duplicateFor(this, on, job, nowMs);
      const request = { id: this.#nextId, device: on.id, max: chosen?.max ?? 0 };
      const taken = chosen && coverage.duplicate(job.coverage, request, chosen.original);
      if (taken === undefined) continue;
      job.coverage = taken.coverage;
      return this.#issue(on, job, 'duplicate', taken.chunk, 'hold', nowMs, 0);
    }
    return undefined;
  }

  #canary(on: DeviceState, nowMs: number, isIdle: boolean): Issue | undefined {
    for (const job of this.jobs.values()) {
      const lane = job.lanes.get(on.id);
      if (lane === undefined || !wantsCanary(job, on, isIdle)) continue;
      const count = job.plan.canary ?? 0;
      lane.canaryState = sendCanary(lane.canaryState, count);
      return this.#issue(on, job, 'canary', { start: 0n, count }, 'hold', nowMs, 0);
    }
    return undefined;
  }

  #issue(
    on: DeviceState,
    job: JobState<R>,
    kind: Issue['kind'],
    { start, count }: Piece,
    policy: ChunkPolicy,
    issuedMs: number,
    waitRounds: number,
  ): Issue | undefined {
    const taken = takeSlot(on.slots);
    if (taken === undefined) return undefined;
    on.slots = taken.slots;
    const id = this.#nextId++;
    on.queue = [...on.queue, id];
    const { slot } = taken;
    const work = { id, job: job.plan.id, device: on.id, slot, start, count };
    const reason = { kind, policy, issuedMs, waitRounds, active: on.rotation.length, busy: on.queue.length };
    const issue: Issue = { ...work, ...reason };
    this.chunks.set(id, issue);
    return issue;
  }

  #halveOthers(on: DeviceState, served: string | undefined): void {
    for (const { job } of on.rotation) {
      const lane = this.jobs.get(job)?.lanes.get(on.id);
      if (lane !== undefined && job !== served) lane.chunk = halved(lane.rules, lane.chunk);
    }
  }

  /** Counts the results of chunks. */
  #count(ids: readonly number[], effects: Effects<R>): void {
    const changed = new Set<JobState<R>>();
    for (const id of ids) {
      const issue = this.chunks.get(id);
      const job = issue && this.jobs.get(issue.job);
      if (job === undefined) continue;
      const results = this.#held.get(id) ?? [];
      const finished = coverage.finish(job.coverage, id);
      const { buffer, end } = addHits(job.buffer, results, finished.newRanges);
      const limited = end === undefined ? finished : coverage.dropFrom(finished.coverage, end);
      job.coverage = limited.coverage;
      job.buffer = buffer;
      for (const range of finished.newRanges) {
        const inside = results.filter(({ index }) => index >= range.start && index < endOf(range));
        effects.counted.push({ job: job.plan.id, device: issue?.device ?? '', range, results: inside });
      }
      effects.cancel.push(...finished.obsolete, ...limited.obsolete);
      this.#forget(id);
      changed.add(job);
    }
    for (const job of changed) this.#deliverReady(job, effects);
  }

  #deliverReady(job: JobState<R>, effects: Effects<R>): void {
    if (job.buffer.isOver) return;
    const { buffer, hits } = takeReady(job.buffer, coverage.frontierOf(job.coverage));
    job.buffer = buffer;
    if (hits.length > 0) effects.delivered.push({ job: job.plan.id, results: hits });
    if (buffer.isOver) this.#end(job, effects);
  }

  #end(job: JobState<R>, effects: Effects<R>): void {
    job.buffer = { ...job.buffer, isOver: true };
    for (const device of this.devices.values()) device.rotation = leave(device.rotation, job.plan.id);
    for (const issue of this.chunks.values()) {
      if (issue.job !== job.plan.id) continue;
      effects.cancel.push(issue.id);
    }
    effects.over.push(job.plan.id);
  }

  /** Nothing of the chunk counts. */
  #takeBack(id: number, nowMs: number, kind?: FaultKind): Effects<R> {
    const effects = new Effects<R>();
    const issue = this.chunks.get(id);
    if (issue === undefined) return effects;
    const on = this.#leaveQueue(issue, nowMs);
    this.#drop(issue);
    if (kind !== undefined) this.#recordFault(on, kind, effects);
    return effects;
  }

  #recordFault(on: DeviceState, kind: FaultKind, effects: Effects<R>): void {
    on.health = recordFault(on.health, kind);
    const fault = faultOf(on.health);
    if (fault !== undefined) this.#exclude(on, fault, effects);
  }

  /** Stops using the device. Its chunks, and its results since the last canary, go to the others. */
  #exclude(on: DeviceState, fault: FaultKind, effects: Effects<R>): void {
    if (on.fault !== undefined) return;
    on.fault = fault;
    for (const issue of [...this.chunks.values()]) {
      if (issue.device !== on.id) continue;
      effects.cancel.push(issue.id);
      this.#drop(issue);
    }
    for (const { lanes } of this.jobs.values()) {
      const lane = lanes.get(on.id);
      if (lane) lane.canaryState = failCanary(lane.canaryState).state;
    }
    on.queue = [];
    effects.excluded.push({ device: on.id, fault });
  }

  #drop(issue: Issue): void {
    if (issue.kind === 'canary') {
      const lane = this.#lane(issue);
      lane.canaryState = resetCanary(lane.canaryState);
    }
    this.#updateCoverage(issue.id, coverage.giveBack);
    this.#forget(issue.id);
  }

  #updateCoverage(id: number, change: (coverage: coverage.Coverage, id: number) => coverage.Coverage): void {
    const issue = this.chunks.get(id);
    const job = issue && this.jobs.get(issue.job);
    if (job) job.coverage = change(job.coverage, id);
  }

  #forget(id: number): void {
    this.chunks.delete(id);
    this.#held.delete(id);
  }

  #leaveQueue(issue: Issue, nowMs: number): DeviceState {
    const on = this.#device(issue.device);
    on.queue = on.queue.filter((id) => id !== issue.id);
    on.freeSinceMs = nowMs;
    on.stallDetector.reset(issue.slot.stream);
    return on;
  }

  #device(id: string): DeviceState {
    const device = this.devices.get(id);
    if (device === undefined) throw new RangeError(`no device ${id}`);
    return device;
  }

  #job(id: string): JobState<R> {
    const job = this.jobs.get(id);
    if (job === undefined) throw new RangeError(`no job ${id}`);
    return job;
  }

  #lane({ job, device }: Issue): Lane {
    const lane = this.#job(job).lanes.get(device);
    if (lane === undefined) throw new RangeError(`job ${job} is not on ${device}`);
    return lane;
  }
}

/** Actions for the simulation to carry out. */
export class Effects<R extends Indexed> {
  /** Indices that count from now on, each once, with their hits. */
  readonly counted: { job: string; device: string; range: Range; results: readonly R[] }[] = [];
  /** Results to deliver, in this order. */
  readonly delivered: { job: string; results: readonly R[] }[] = [];
  /** Chunks that are no longer needed. Those on a device are to be cancelled. */
  readonly cancel: number[] = [];
  /** Jobs that have just ended. */
  readonly over: string[] = [];
  /** Devices that are no longer used, and why. */
  readonly excluded: { device: string; fault: FaultKind }[] = [];
}

const isUsable = ({ fault, stallDetector }: DeviceState): boolean => fault === undefined && !stallDetector.isStalled;

/** Returns the new hit density: it rises at once and falls slowly, because an overflow costs a whole chunk. */
function denser(before: number | undefined, seen: number): number | undefined {
  if (before === undefined) return seen > 0 ? seen : undefined;
  return Math.max(seen, before + 0.05 * (seen - before));
}
