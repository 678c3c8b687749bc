import { clockNs } from '../../device/clock.js';
import type { Completion, Device, Report, Stream } from '../../device/device.js';
import { openStreams } from '../../device/streams.js';
import type { MillraceError } from '../../kernel/error.js';
import { Overflow } from '../flow/flow.js';
import type { OnPrint } from '../flow/prints.js';
import { expectedEnds, stallLimit } from '../run/balance.js';
import type { ChunkOutcome, ChunkRecord, Recorder } from '../telemetry/record.js';
import { Utilization } from '../telemetry/utilization.js';
import type { Chunk, PlannedChunk } from './chunk.js';
import { DeviceHealth, ignoreErrors, isDeviceError } from './device-health.js';
import { join, leave, type Rotation, roundsOf, serve } from './fairness.js';
import { FAULT_LIMITS } from './fault-rate.js';
import type { Lane } from './lane.js';
import { freeSlot, openSlotPool, type SlotPool, type StreamSlot, takeSlot } from './slots.js';
import { StallDetector, strikeLimit } from './stall.js';

export interface PipelineOptions {
  readonly streams: number;
  readonly slotsPerStream: number;
  /** One chunk at a time; the next starts after the last was checked. */
  readonly isSync: boolean;
  readonly isPersistent: boolean;
  /** Scales the times after which a device counts as stalled. */
  readonly patience: number;
  readonly recorder: Recorder;
  onWarning(message: string): void;
  readonly onPrint: OnPrint;
  /** Called when the device is no longer used. */
  onLost(pipeline: Pipeline, error: MillraceError): void;
}

/** Settings of a job on a device. */
export interface LaunchSize {
  readonly lanes: number | undefined;
  readonly items: number;
}

/**
 * Keeps one device supplied with work: its streams, the chunks in flight on each, and the jobs that take turns. Nothing
 * here blocks: a chunk is handled when it reports completion, and meanwhile every free slot gets the next chunk.
 */
export class Pipeline {
  readonly device: Device;
  readonly options: PipelineOptions;
  readonly health: DeviceHealth;
  readonly utilization = new Utilization();
  readonly streams: readonly Stream[];
  readonly #lanes = new Map<string, Lane>();
  /** Chunks in flight by stream, in the order they were queued. */
  readonly #inFlight: Chunk[][];
  readonly #stallDetector: StallDetector;
  #slots: SlotPool;
  #rotation: Rotation = [];
  #lastEndedNs = 0n;
  #isAwake = false;
  #hasWarned = false;
  readonly #refill = (): void => {
    this.#isAwake = false;
    this.#fill();
  };
  #onIdle: (() => void) | undefined;

  constructor(device: Device, options: PipelineOptions) {
    const { streams, slotsPerStream, patience, onLost } = options;
    this.device = device;
    this.options = options;
    this.health = new DeviceHealth(device.info, (fault) => {
      for (const chunk of this.#inFlight.flat()) chunk.isLost = true;
      for (const stream of this.streams) ignoreErrors(() => stream.cancel());
      onLost(this, fault);
    });
    this.streams = this.#open(streams);
    this.#inFlight = Array.from({ length: streams }, () => []);
    this.#stallDetector = new StallDetector(streams, patience);
    this.#slots = openSlotPool(streams, slotsPerStream);
  }

  /** True if the oldest chunk of a stream is overdue. The device gets no more chunks until it responds. */
  get isStalled(): boolean {
    return this.#stallDetector.isStalled;
  }

  /** Jobs that take turns on the device. */
  get jobs(): number {
    return this.#rotation.length;
  }

  /** Threads of a workgroup or lanes of a gang, and items of the next chunk, of the job that joined last. */
  get launchSize(): LaunchSize | undefined {
    const lane = [...this.#lanes.values()].at(-1);
    return lane && { lanes: lane.lanes, items: lane.next.size };
  }

  /** Warns, once per device, that a job cannot use the resident grid that was requested. */
  warnNotResident(job: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { id } = this.device.info;
    const why = this.device.resident ? `${job} cannot run as a resident grid on ${id}` : `${id} has no resident grids`;
    this.options.onWarning(`${why}: pipeline persistent works like poll there`);
  }

  /** Starts no chunk until `resume`. Chunks in flight end. */
  pause(): void {
    this.utilization.pause();
  }

  resume(): void {
    this.utilization.resume();
    this.wake();
  }

  join(lane: Lane): void {
    this.#lanes.set(lane.run.id, lane);
    this.#rotation = join(this.#rotation, lane.run.id);
    lane.startSizing(this.#rotation.length);
    this.wake();
  }

  leave(lane: Lane): void {
    if (this.#lanes.get(lane.run.id) !== lane) return;
    this.#lanes.delete(lane.run.id);
    this.#rotation = leave(this.#rotation, lane.run.id);
  }

  /** Schedules one `#fill` after the present turn, however often it is called. */
  wake(): void {
    if (this.#isAwake) return;
    this.#isAwake = true;
    void RESOLVED.then(this.#refill);
  }

  /** Cancels a stream if its oldest chunk is no longer needed. Chunks queued behind it are run again. */
  cancelUnneeded(): void {
    for (const [at, chunks] of this.#inFlight.entries()) {
      const [oldest] = chunks;
      if (oldest === undefined || oldest.isCancelled || oldest.lane.run.needs(oldest)) continue;
      const { lane, slot } = oldest;
      // A resident grid is cancelled with all of its chunks, so not while any of them is needed.
      const sharing = slot.slot.cancel ? this.#inFlight.flat().filter((chunk) => chunk.lane === lane) : [];
      if (sharing.some((chunk) => !chunk.isCancelled && lane.run.needs(chunk))) continue;
      try {
        this.streams[at]?.cancel();
        slot.slot.cancel?.();
      } catch (error) {
        this.health.recordError(error);
        return;
      }
      for (const chunk of [...chunks, ...sharing]) chunk.isCancelled = true;
    }
  }

  /** Adds `ms` of silence to every stream with chunks in flight. Streams past their limit are overdue. */
  tick(ms: number): void {
    const before = this.#stallDetector.strikes;
    const dueMs = this.#dueMs;
    let longestMs = 0;
    for (const [stream, chunks] of this.#inFlight.entries()) {
      const isLate = chunks.length > 0 && this.#stallDetector.add(stream, ms, dueMs);
      this.#warnIfEndless(chunks[0], this.#stallDetector.silentMs(stream));
      if (!isLate) continue;
      longestMs = Math.max(longestMs, this.#stallDetector.silentMs(stream));
      for (const chunk of chunks) chunk.lane.run.overdue(chunk);
    }
    // When a device hangs, all of its streams do. That is one fault, not several.
    if (this.#stallDetector.strikes <= before) return;
    this.health.recordFault(
      'stalled',
      `${this.device.info.id} has not answered for ${(longestMs / 1000).toFixed(1)} s`,
    );
  }

  /** Warns, once per job, that a device's first chunk does not end. */
  #warnIfEndless(oldest: Chunk | undefined, silentMs: number): void {
    if (oldest === undefined || oldest.lane.perMs !== undefined || oldest.lane.hasWarned) return;
    if (silentMs < this.options.patience * ENDLESS_MS) return;
    const { lane, piece, isCancelled } = oldest;
    if (isCancelled) return;
    lane.hasWarned = true;
    const indices = `indices ${piece.start} to ${piece.start + BigInt(piece.count)}`;
    const hangsAfter = (this.options.patience * strikeLimit(FAULT_LIMITS.stalled, stallLimit(undefined))) / 1000;
    this.options.onWarning(
      `${lane.run.job.name}: ${indices} have run on ${lane.device} for ${(silentMs / 1000).toFixed(1)} s: ` +
        `is there a loop without end? After ${hangsAfter.toFixed(0)} s the device counts as hanging`,
    );
  }

  /** Expected time of all chunks on the device. Undefined while the speed of one of them is unknown. */
  get #dueMs(): number | undefined {
    let dueMs = 0;
    for (const { piece, lane } of this.#inFlight.flat()) {
      if (lane.perMs === undefined) return undefined;
      dueMs += piece.count / lane.perMs;
    }
    return dueMs;
  }

  /** Returns the milliseconds until each chunk in flight should end. */
  expectedEnds(): ReadonlyMap<number, number> {
    const inOrder = this.#inFlight.flat().sort((a, b) => a.id - b.id);
    const silent = this.#inFlight.flatMap((chunks, at) => (chunks.length > 0 ? this.#stallDetector.silentMs(at) : []));
    const chunks = inOrder.map(({ id, piece, lane: { perMs } }) => ({ id, dueMs: perMs && piece.count / perMs }));
    return expectedEnds({ chunks, runningMs: Math.min(...silent) });
  }

  /** Chunks on the device, and the streams that have at least one. */
  get inFlight(): { readonly chunks: number; readonly streams: number } {
    return { chunks: this.#inFlight.reduce((sum, queue) => sum + queue.length, 0), streams: this.#busyStreams };
  }

  /** Share of the device's threads that the job which joined last can keep resident, 0 to 1. */
  get occupancy(): number | undefined {
    return [...this.#lanes.values()].at(-1)?.occupancy;
  }

  /** Records that the chunk's results have been checked. */
  recordVerified({ record }: Chunk): void {
    if (record) record.verifiedNs = clockNs();
  }

  /** Records the chunk's outcome. `counted` of its indices are being stored; `recordCommitted` follows if there are any. */
  recordOutcome({ record }: Chunk, outcome: ChunkOutcome, counted = 0): void {
    if (record) this.options.recorder.setOutcome(record, outcome, counted);
  }

  /** Records that the chunk's results are stored. */
  recordCommitted({ record }: Chunk): void {
    if (!record) return;
    record.committedNs = clockNs();
    this.options.recorder.finalize(record);
  }

  /** Closes the streams once no chunk is on them. Waits at most `MAX_CLOSE_MS` for a device that hangs. */
  async close(): Promise<void> {
    if (this.#busyStreams > 0) {
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, MAX_CLOSE_MS);
        this.#onIdle = () => {
          clearTimeout(late);
          resolve();
        };
      });
    }
    for (const stream of this.streams) ignoreErrors(() => stream.close());
  }

  get #busyStreams(): number {
    return this.#inFlight.filter((chunks) => chunks.length > 0).length;
  }

  #open(streams: number): Stream[] {
    try {
      return openStreams(this.device, streams);
    } catch (error) {
      if (!isDeviceError(error)) throw error;
      this.health.fault = error as MillraceError;
      return [];
    }
  }

  /** Fills every free slot. Jobs take turns. */
  #fill(): void {
    const full = new Set<number>();
    while (this.#hasWork && this.health.fault === undefined && !this.isStalled && !this.utilization.isPaused) {
      const { streams, perStream, chunksPlaced, free: all } = this.#slots;
      const free = full.size === 0 ? all : all.filter(({ stream }) => !full.has(stream));
      const taken = takeSlot({ streams, perStream, chunksPlaced, free });
      if (taken === undefined) return;
      const { stream, index } = taken.slot;
      const served = serve(
        this.#rotation,
        (id) => this.#lanes.get(id)?.wantsWork === true && this.#lanes.get(id)?.hasSlot() === true,
        (id) => this.#lanes.get(id)?.hasSlot(stream) === true,
      );
      const lane = served.job === undefined ? undefined : this.#lanes.get(served.job);
      if (lane === undefined) {
        full.add(stream);
        if (this.options.recorder.isOn) this.#markStarved(stream);
        continue;
      }
      const work = lane.run.next(lane);
      if (work === undefined) {
        lane.wantsWork = false;
        continue;
      }
      const rounds = roundsOf(this.#rotation, lane.run.id);
      this.#rotation = served.rotation;
      const others = all.filter((slot) => slot.stream !== stream || slot.index !== index);
      this.#slots = { streams, perStream, chunksPlaced: taken.slots.chunksPlaced, free: others };
      if (served.mustHalveOthers) for (const other of this.#lanes.values()) if (other !== lane) other.halveChunkSize();
      this.#submit(lane, work, taken.slot, rounds);
    }
  }

  /** True if any job may have work. Checked first because most calls come after the last chunk was taken. */
  get #hasWork(): boolean {
    for (const lane of this.#lanes.values()) if (lane.wantsWork) return true;
    return false;
  }

  /** Marks jobs that have work but no free slot on a stream that has one: their results are still being read. */
  #markStarved(stream: number): void {
    for (const lane of this.#lanes.values()) {
      if (lane.wantsWork && !lane.hasSlot(stream)) lane.starvedSinceNs ??= clockNs();
    }
  }

  #record(lane: Lane, { piece }: PlannedChunk, streamSlot: StreamSlot, waitRounds: number): ChunkRecord | undefined {
    const { streams, slotsPerStream, recorder } = this.options;
    const { size, policy } = lane.next;
    const enqueuedNs = clockNs();
    const starvedNs = lane.starvedSinceNs === undefined ? 0n : enqueuedNs - lane.starvedSinceNs;
    lane.starvedSinceNs = undefined;
    return recorder.add({
      start: piece.start,
      count: piece.count,
      job: lane.run.job.name,
      device: this.device.info.id,
      stream: streamSlot.stream,
      slot: streamSlot.index,
      policy,
      meant: size,
      waitRounds,
      active: this.#rotation.length,
      busy: streams * slotsPerStream - this.#slots.free.length,
      streams: this.#inFlight.filter((chunks, at) => chunks.length > 0 || at === streamSlot.stream).length,
      free: starvedNs > 0n ? 0 : lane.freeSlots,
      starvedNs,
      occupancy: lane.occupancy,
      enqueuedNs,
    });
  }

  #submit(lane: Lane, work: PlannedChunk, streamSlot: StreamSlot, waitRounds: number): void {
    const record = this.options.recorder.isOn ? this.#record(lane, work, streamSlot, waitRounds) : undefined;
    const slot = lane.takeSlot(streamSlot.stream);
    if (slot === undefined) throw new TypeError('the lane that was served has no free slot');
    const { id, piece, canary } = work;
    const chunk: Chunk = { id, piece, canary, lane, slot, streamSlot, record, isCancelled: false, isLost: false };
    this.utilization.start();
    lane.issued(piece.count);
    lane.run.submitted(chunk);
    this.#inFlight[streamSlot.stream]?.push(chunk);
    const failed = (error: unknown): void => {
      const { isLost } = chunk;
      this.#leftDevice(chunk);
      lane.freeSlot(slot);
      if (isLost) this.recordOutcome(chunk, 'dropped');
      else this.#chunkFailed(chunk, error);
    };
    let completion: Completion;
    try {
      completion = slot.slot.submit(piece, canary?.valueSet);
    } catch (error) {
      failed(error);
      return;
    }
    if (record) {
      record.submittedNs = clockNs();
      const { copiedBytes } = slot.slot;
      record.bytesToDevice = copiedBytes?.toDevice ?? 0;
      record.bytesToHost = copiedBytes?.toHost ?? 0;
    }
    completion.done.then((report) => this.#chunkEnded(chunk, report), failed).catch((error) => lane.run.fail(error));
  }

  #chunkEnded(chunk: Chunk, report: Report): void {
    const { lane, slot, isLost } = chunk;
    const isResult = report.complete && !isLost;
    this.#leftDevice(chunk, isResult && this.options.isSync);
    if (isResult) {
      this.#measure(chunk, report);
      this.#reap(chunk);
      return;
    }
    lane.freeSlot(slot);
    if (chunk.record) copyReport(chunk.record, report);
    this.recordOutcome(chunk, isLost ? 'dropped' : 'cancelled');
    if (isLost) return;
    if (chunk.isCancelled) this.health.counts.cancelled++;
    else this.health.recordFault('failed', `${this.device.info.id} stopped a chunk before its end`);
    lane.run.returned(chunk);
    this.wake();
  }

  #reap(chunk: Chunk): void {
    const { lane, slot, piece } = chunk;
    let result: unknown;
    try {
      result = slot.slot.reap(piece);
    } catch (error) {
      lane.freeSlot(slot);
      lane.run.resultInvalid(chunk, error);
      this.#freeStreamSlot(chunk);
      return;
    }
    if (chunk.record) chunk.record.reapedNs = clockNs();
    let isKept = lane.run.job.keepsSlot && !(result instanceof Overflow);
    if (!isKept) lane.freeSlot(slot);
    const release = (): void => {
      if (!isKept) return;
      isKept = false;
      lane.freeSlot(slot);
      this.wake();
    };
    const handled = lane.run.completed(chunk, result, release);
    if (this.options.isSync) void handled.then(() => this.#freeStreamSlot(chunk));
    else this.wake();
  }

  /** Records that the chunk has left the device. Frees its slot for the next chunk, unless `keepsStreamSlot`. */
  #leftDevice(chunk: Chunk, keepsStreamSlot = false): void {
    const queue = this.#inFlight[chunk.streamSlot.stream] ?? [];
    queue.splice(queue.indexOf(chunk), 1);
    this.#stallDetector.reset(chunk.streamSlot.stream);
    chunk.lane.leftDevice(chunk.piece.count);
    chunk.lane.run.leftDevice(chunk);
    if (!keepsStreamSlot) this.#slots = freeSlot(this.#slots, chunk.streamSlot);
    if (this.#busyStreams === 0) this.#onIdle?.();
    this.cancelUnneeded();
  }

  #freeStreamSlot({ streamSlot }: Chunk): void {
    this.#slots = freeSlot(this.#slots, streamSlot);
    this.wake();
  }

  #measure({ lane, piece, record, canary }: Chunk, report: Report): void {
    const { startedNs, endedNs } = report;
    const { counts } = this.health;
    counts.chunks++;
    if (canary) counts.canaries++;
    else counts.items += BigInt(piece.count);
    if (record) copyReport(record, report);
    this.utilization.addChunk(startedNs, endedNs);
    const aloneNs = endedNs - (startedNs > this.#lastEndedNs ? startedNs : this.#lastEndedNs);
    if (endedNs > this.#lastEndedNs) this.#lastEndedNs = endedNs;
    const ms = Number(endedNs - startedNs) / 1e6;
    lane.completed(piece.count, ms, Math.max(0, Number(aloneNs) / 1e6), this.#rotation.length);
  }

  #chunkFailed(chunk: Chunk, error: unknown): void {
    const { run } = chunk.lane;
    this.recordOutcome(chunk, 'failed');
    if (!isDeviceError(error)) {
      run.fail(error);
      return;
    }
    this.health.recordError(error);
    run.returned(chunk);
    this.wake();
  }
}

/** Runs callbacks after the present turn. `queueMicrotask` allocates an object for each call, which takes 1 µs. */
const RESOLVED = Promise.resolve();

/** A first chunk is planned to take some milliseconds. After this time a warning says that it has not ended. */
const ENDLESS_MS = 5000;

/** How long `close` waits for a silent device. */
const MAX_CLOSE_MS = 500;

/** Copies a device's report into a chunk record. */
function copyReport(record: ChunkRecord, { startedNs, endedNs, noticedNs, detail }: Report): void {
  record.startedNs = startedNs;
  record.endedNs = endedNs;
  record.noticedNs = noticedNs ?? clockNs();
  // A device on other threads may start before the last commands are queued.
  record.launchedNs = detail?.sentNs ?? (record.submittedNs < startedNs ? record.submittedNs : startedNs);
  record.computeStartedNs = detail?.launches?.startedNs ?? 0n;
  record.computeEndedNs = detail?.launches?.endedNs ?? 0n;
  record.blockingWaits = detail?.blockingWaits ?? 0;
  record.blockedNs = detail?.blockedNs ?? 0;
}
