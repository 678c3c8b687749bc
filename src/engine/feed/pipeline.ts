import { clockNs } from '../../device/clock.js';
import type { Completion, Device, Report, Stream } from '../../device/device.js';
import { openStreams } from '../../device/streams.js';
import type { MillraceError } from '../../kernel/error.js';
import { Overflow } from '../flow/flow.js';
import { expectedEnds } from '../run/balance.js';
import { Fed } from '../telemetry/busy.js';
import type { ChunkRecord, Outcome, Recorder } from '../telemetry/record.js';
import type { Chunk, Work } from './chunk.js';
import { attempt, Conduct, isOfDevice } from './device-health.js';
import { join, leave, type Rotation, roundsOf, serve } from './fairness.js';
import type { Lane } from './lane.js';
import { freeSlot, openSlots, type Slot, type Slots, takeSlot } from './slots.js';
import { Silence } from './stall.js';

export interface PipelineOptions {
  readonly streams: number;
  readonly slotsPerStream: number;
  /** One chunk at a time; the next starts after the last was checked. */
  readonly isSync: boolean;
  readonly isPersistent: boolean;
  /** Scales the times after which a device counts as stalled. */
  readonly patience: number;
  readonly recorder: Recorder;
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Called when the device is no longer used. */
  lost(pipeline: Pipeline, error: MillraceError): void;
}

/** Settings of a job on a device. */
export interface Tuning {
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
  readonly conduct: Conduct;
  readonly fed = new Fed();
  readonly streams: readonly Stream[];
  readonly #lanes = new Map<string, Lane>();
  /** Chunks in flight by stream, in the order they were queued. */
  readonly #flying: Chunk[][];
  readonly #silence: Silence;
  #slots: Slots;
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
    const { streams, slotsPerStream, patience, lost } = options;
    this.device = device;
    this.options = options;
    this.conduct = new Conduct(device.info, (fault) => {
      for (const chunk of this.#flying.flat()) chunk.isLost = true;
      for (const stream of this.streams) attempt(() => stream.cancel());
      lost(this, fault);
    });
    this.streams = this.#open(streams);
    this.#flying = Array.from({ length: streams }, () => []);
    this.#silence = new Silence(streams, patience);
    this.#slots = openSlots(streams, slotsPerStream);
  }

  /** True if the oldest chunk of a stream is overdue. The device gets no more chunks until it responds. */
  get isStalled(): boolean {
    return this.#silence.isLong;
  }

  /** Jobs that take turns on the device. */
  get jobs(): number {
    return this.#rotation.length;
  }

  /** Threads of a workgroup or lanes of a gang, and items of the next chunk, of the job that joined last. */
  get tuning(): Tuning | undefined {
    const lane = [...this.#lanes.values()].at(-1);
    return lane && { lanes: lane.lanes, items: lane.next.size };
  }

  /** Warns, once per device, that a job cannot use the resident grid that was requested. */
  warnOfQueue(job: string): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const { id } = this.device.info;
    const what = this.device.resident ? `${job} cannot run as a resident grid on ${id}` : `${id} has no resident grids`;
    this.options.onWarning?.(`${what}: the pipeline persistent is the same as poll there`);
  }

  /** Starts no chunk until `resume`. Chunks in flight end. */
  pause(): void {
    this.fed.pause();
  }

  resume(): void {
    this.fed.resume();
    this.wake();
  }

  join(lane: Lane): void {
    this.#lanes.set(lane.run.id, lane);
    this.#rotation = join(this.#rotation, lane.run.id);
    lane.begin(this.#rotation.length);
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
    void SOON.then(this.#refill);
  }

  /** Cancels a stream if its oldest chunk is no longer needed. Chunks queued behind it are run again. */
  sweep(): void {
    for (const [at, flying] of this.#flying.entries()) {
      const [oldest] = flying;
      if (oldest === undefined || oldest.isCancelled || oldest.lane.run.needs(oldest)) continue;
      const { lane, slot } = oldest;
      // A resident grid is cancelled with all of its chunks, so not while any of them is needed.
      const sharing = slot.slot.cancel ? this.#flying.flat().filter((chunk) => chunk.lane === lane) : [];
      if (sharing.some((chunk) => !chunk.isCancelled && lane.run.needs(chunk))) continue;
      try {
        this.streams[at]?.cancel();
        slot.slot.cancel?.();
      } catch (error) {
        this.conduct.fail(error);
        return;
      }
      for (const chunk of [...flying, ...sharing]) chunk.isCancelled = true;
    }
  }

  /** Adds `ms` of silence to every stream with chunks in flight. Streams past their limit are overdue. */
  tick(ms: number): void {
    const before = this.#silence.strikes;
    const dueMs = this.#dueMs;
    let longestMs = 0;
    for (const [stream, flying] of this.#flying.entries()) {
      if (flying.length === 0 || !this.#silence.add(stream, ms, dueMs)) continue;
      longestMs = Math.max(longestMs, this.#silence.msOf(stream));
      for (const chunk of flying) chunk.lane.run.overdue(chunk);
    }
    // When a device hangs, all of its streams do. That is one fault, not several.
    if (this.#silence.strikes <= before) return;
    this.conduct.blame('stalled', `${this.device.info.id} has not answered for ${(longestMs / 1000).toFixed(1)} s`);
  }

  /** Expected time of all chunks on the device. Undefined while the speed of one of them is unknown. */
  get #dueMs(): number | undefined {
    let dueMs = 0;
    for (const { piece, lane } of this.#flying.flat()) {
      if (lane.perMs === undefined) return undefined;
      dueMs += piece.count / lane.perMs;
    }
    return dueMs;
  }

  /** Returns the milliseconds until each chunk in flight should end. */
  expectedEnds(): ReadonlyMap<number, number> {
    const flying = this.#flying.flat().sort((a, b) => a.id - b.id);
    const silent = this.#flying.flatMap((chunks, at) => (chunks.length > 0 ? this.#silence.msOf(at) : []));
    const chunks = flying.map(({ id, piece, lane: { perMs } }) => ({ id, dueMs: perMs && piece.count / perMs }));
    return expectedEnds({ chunks, heldMs: Math.min(...silent) });
  }

  /** Chunks on the device, and the streams that have at least one. */
  get inFlight(): { readonly chunks: number; readonly streams: number } {
    return { chunks: this.#flying.reduce((sum, flying) => sum + flying.length, 0), streams: this.#busyStreams };
  }

  /** Share of the device's threads that the job which joined last can keep resident, 0 to 1. */
  get occupancy(): number | undefined {
    return [...this.#lanes.values()].at(-1)?.occupancy;
  }

  /** Records that the chunk's results have been checked. */
  checked({ record }: Chunk): void {
    if (record) record.verifiedNs = clockNs();
  }

  /** Records the chunk's outcome. `counted` of its indices are being stored; `committed` follows if there are any. */
  note({ record }: Chunk, outcome: Outcome, counted = 0): void {
    if (record) this.options.recorder.note(record, outcome, counted);
  }

  /** Records that the chunk's results are stored. */
  committed({ record }: Chunk): void {
    if (!record) return;
    record.committedNs = clockNs();
    this.options.recorder.settle(record);
  }

  /** Closes the streams once no chunk is on them. Waits at most `GRACE_MS` for a device that hangs. */
  async close(): Promise<void> {
    if (this.#busyStreams > 0) {
      await new Promise<void>((resolve) => {
        const late = setTimeout(resolve, GRACE_MS);
        this.#onIdle = () => {
          clearTimeout(late);
          resolve();
        };
      });
    }
    for (const stream of this.streams) attempt(() => stream.close());
  }

  get #busyStreams(): number {
    return this.#flying.filter((flying) => flying.length > 0).length;
  }

  #open(streams: number): Stream[] {
    try {
      return openStreams(this.device, streams);
    } catch (error) {
      if (!isOfDevice(error)) throw error;
      this.conduct.fault = error as MillraceError;
      return [];
    }
  }

  /** Fills every free slot. Jobs take turns. */
  #fill(): void {
    const full = new Set<number>();
    while (this.#isWanted && this.conduct.fault === undefined && !this.isStalled && !this.fed.isPaused) {
      const { streams, perStream, turn, free: all } = this.#slots;
      const free = full.size === 0 ? all : all.filter(({ stream }) => !full.has(stream));
      const taken = takeSlot({ streams, perStream, turn, free });
      if (taken === undefined) return;
      const { stream, place } = taken.slot;
      const served = serve(
        this.#rotation,
        (id) => this.#lanes.get(id)?.wants === true && this.#lanes.get(id)?.hasSlot() === true,
        (id) => this.#lanes.get(id)?.hasSlot(stream) === true,
      );
      const lane = served.job === undefined ? undefined : this.#lanes.get(served.job);
      if (lane === undefined) {
        full.add(stream);
        if (this.options.recorder.isOn) this.#starve(stream);
        continue;
      }
      const work = lane.run.next(lane);
      if (work === undefined) {
        lane.wants = false;
        continue;
      }
      const rounds = roundsOf(this.#rotation, lane.run.id);
      this.#rotation = served.rotation;
      const others = all.filter((slot) => slot.stream !== stream || slot.place !== place);
      this.#slots = { streams, perStream, turn: taken.slots.turn, free: others };
      if (served.crowded) for (const other of this.#lanes.values()) if (other !== lane) other.crowd();
      this.#submit(lane, work, taken.slot, rounds);
    }
  }

  /** True if any job may have work. Checked first because most calls come after the last chunk was taken. */
  get #isWanted(): boolean {
    for (const lane of this.#lanes.values()) if (lane.wants) return true;
    return false;
  }

  /** Marks jobs that have work but no free slot on a stream with room: their results are still being read. */
  #starve(stream: number): void {
    for (const lane of this.#lanes.values()) {
      if (lane.wants && !lane.hasSlot(stream)) lane.starvingNs ??= clockNs();
    }
  }

  #record(lane: Lane, { piece }: Work, place: Slot, waitRounds: number): ChunkRecord | undefined {
    const { streams, slotsPerStream, recorder } = this.options;
    const { size, policy } = lane.next;
    const enqueuedNs = clockNs();
    const starvedNs = lane.starvingNs === undefined ? 0n : enqueuedNs - lane.starvingNs;
    lane.starvingNs = undefined;
    return recorder.add({
      start: piece.start,
      count: piece.count,
      job: lane.run.job.name,
      device: this.device.info.id,
      stream: place.stream,
      slot: place.place,
      policy,
      meant: size,
      waitRounds,
      active: this.#rotation.length,
      busy: streams * slotsPerStream - this.#slots.free.length,
      streams: this.#flying.filter((flying, at) => flying.length > 0 || at === place.stream).length,
      free: starvedNs > 0n ? 0 : lane.freeSlots,
      starvedNs,
      occupancy: lane.occupancy,
      enqueuedNs,
    });
  }

  #submit(lane: Lane, work: Work, place: Slot, waitRounds: number): void {
    const record = this.options.recorder.isOn ? this.#record(lane, work, place, waitRounds) : undefined;
    const slot = lane.takeSlot(place.stream);
    if (slot === undefined) throw new TypeError('a lane was served that has no slot');
    const { id, piece, canary } = work;
    const chunk: Chunk = { id, piece, canary, lane, slot, place, record, isCancelled: false, isLost: false };
    this.fed.begin();
    lane.issued(piece.count);
    lane.run.submitted(chunk);
    this.#flying[place.stream]?.push(chunk);
    const failed = (error: unknown): void => {
      const { isLost } = chunk;
      this.#landed(chunk);
      lane.freeSlot(slot);
      if (isLost) this.note(chunk, 'dropped');
      else this.#failed(chunk, error);
    };
    let completion: Completion;
    try {
      completion = slot.slot.submit(piece, canary?.values);
    } catch (error) {
      failed(error);
      return;
    }
    if (record) {
      record.submittedNs = clockNs();
      const { moved } = slot.slot;
      record.bytesToDevice = moved?.toDevice ?? 0;
      record.bytesToHost = moved?.toHost ?? 0;
    }
    completion.done.then((report) => this.#ended(chunk, report), failed).catch((error) => lane.run.fail(error));
  }

  #ended(chunk: Chunk, report: Report): void {
    const { lane, slot, isLost } = chunk;
    const isResult = report.complete && !isLost;
    this.#landed(chunk, isResult && this.options.isSync);
    if (isResult) {
      this.#measure(chunk, report);
      this.#reap(chunk);
      return;
    }
    lane.freeSlot(slot);
    if (chunk.record) describe(chunk.record, report);
    this.note(chunk, isLost ? 'dropped' : 'cancelled');
    if (isLost) return;
    if (chunk.isCancelled) this.conduct.counts.cancelled++;
    else this.conduct.blame('failed', `${this.device.info.id} stopped a chunk before its end`);
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
      lane.run.refuted(chunk, error);
      this.#vacate(chunk);
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
    if (this.options.isSync) void handled.then(() => this.#vacate(chunk));
    else this.wake();
  }

  /** Records that the chunk has left the device. Frees its place for the next chunk, unless `keepsPlace`. */
  #landed(chunk: Chunk, keepsPlace = false): void {
    const flying = this.#flying[chunk.place.stream] ?? [];
    flying.splice(flying.indexOf(chunk), 1);
    this.#silence.end(chunk.place.stream);
    chunk.lane.landed(chunk.piece.count);
    chunk.lane.run.landed(chunk);
    if (!keepsPlace) this.#slots = freeSlot(this.#slots, chunk.place);
    if (this.#busyStreams === 0) this.#onIdle?.();
    this.sweep();
  }

  #vacate({ place }: Chunk): void {
    this.#slots = freeSlot(this.#slots, place);
    this.wake();
  }

  #measure({ lane, piece, record, canary }: Chunk, report: Report): void {
    const { startedNs, endedNs } = report;
    const { counts } = this.conduct;
    counts.chunks++;
    if (canary) counts.canaries++;
    else counts.items += BigInt(piece.count);
    if (record) describe(record, report);
    this.fed.worked(startedNs, endedNs);
    const aloneNs = endedNs - (startedNs > this.#lastEndedNs ? startedNs : this.#lastEndedNs);
    if (endedNs > this.#lastEndedNs) this.#lastEndedNs = endedNs;
    const ms = Number(endedNs - startedNs) / 1e6;
    lane.completed(piece.count, ms, Math.max(0, Number(aloneNs) / 1e6), this.#rotation.length);
  }

  #failed(chunk: Chunk, error: unknown): void {
    const { run } = chunk.lane;
    this.note(chunk, 'failed');
    if (!isOfDevice(error)) {
      run.fail(error);
      return;
    }
    this.conduct.fail(error);
    run.returned(chunk);
    this.wake();
  }
}

/** Runs callbacks after the present turn. `queueMicrotask` allocates an object for each call, which takes 1 µs. */
const SOON = Promise.resolve();

/** How long `close` waits for a silent device. */
const GRACE_MS = 500;

/** Copies a device's report into a chunk record. */
function describe(record: ChunkRecord, { startedNs, endedNs, noticedNs, detail }: Report): void {
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
