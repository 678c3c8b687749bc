import { MillraceError } from '../../kernel/error.js';
import type { FlowSlot, OpenFlow } from '../flow/flow.js';
import { hasEnoughWork } from '../run/balance.js';
import { type CanaryState, NO_CANARY_STATE } from '../run/canary.js';
import {
  afterCompletion,
  afterIssue,
  type ChunkPolicy,
  type ChunkRules,
  type ChunkState,
  chunkRules,
  firstChunk,
  halved,
  sizeForBatch,
} from './chunk-size.js';
import { ignoreErrors } from './device-health.js';
import type { ChunkOwner } from './owner.js';
import type { Pipeline } from './pipeline.js';
import { measure, NO_THROUGHPUT, type Throughput } from './throughput.js';

/** A job on a device: its flow, its slots, its chunk size and its speed. */
export class Lane {
  readonly run: ChunkOwner;
  readonly pipeline: Pipeline;
  /** False after `next` found no work, until the run reports that there may be some. */
  wantsWork = true;
  /** True after the warning that the first chunk does not end. */
  hasWarned = false;
  throughput: Throughput = NO_THROUGHPUT;
  canaryState: CanaryState = NO_CANARY_STATE;
  /** Items in flight on the device. */
  items = 0;
  /** When it began to wait for one of its own slots while the device had a free one; for telemetry. */
  starvedSinceNs: bigint | undefined;
  readonly #freeSlots: LaneSlot[] = [];
  #flow: OpenFlow<unknown> | undefined;
  #rules: ChunkRules | undefined;
  #chunk: ChunkState | undefined;
  #usedSlots = 0;
  /** Chunks in flight on the device. */
  #inFlight = 0;
  #hasCompleted = false;
  #isClosed = false;

  constructor(run: ChunkOwner, pipeline: Pipeline) {
    this.run = run;
    this.pipeline = pipeline;
  }

  get device(): string {
    return this.pipeline.device.info.id;
  }

  /** Items per millisecond. Undefined until measured. */
  get perMs(): number | undefined {
    return this.throughput.perMs.value;
  }

  get minItems(): number {
    return this.#rules?.min ?? 1;
  }

  /** Threads of a workgroup or lanes of a gang. Undefined if the flow does not report it. */
  get lanes(): number | undefined {
    return this.#flow?.lanes;
  }

  /** Share of the device's threads that a launch keeps resident. Undefined if the flow does not report it. */
  get occupancy(): number | undefined {
    return this.#flow?.occupancy;
  }

  get freeSlots(): number {
    return this.#freeSlots.length;
  }

  /** True if it has slots and all of them are in use. */
  get isOutOfSlots(): boolean {
    return this.#usedSlots > 0 && this.#freeSlots.length === 0;
  }

  /** True while the device has enough work of this job. */
  get hasEnoughWork(): boolean {
    const { perMs, items } = this;
    return hasEnoughWork({
      perMs,
      items,
      chunks: this.#inFlight,
      hasCompleted: this.#hasCompleted,
      jobs: this.pipeline.jobs,
    });
  }

  /** Size of the next chunk, and the rule it follows. */
  get next(): { readonly size: number; readonly policy: ChunkPolicy } {
    const { size, policy } = this.#chunk ?? { size: 1, policy: 'init' as const };
    if (this.#rules?.batch === undefined) return { size, policy };
    const [queued, capacity] = [this.#usedSlots, this.#usedSlots + this.#freeSlots.length];
    return { size: sizeForBatch(this.#rules, size, { perMs: this.perMs, queued, capacity }), policy };
  }

  /** Rounds `items` down to a size that suits the kernel, at least 1. */
  round(items: number): number {
    const { granularity = 1 } = this.#rules ?? {};
    return Math.max(1, items < granularity ? Math.floor(items) : Math.floor(items / granularity) * granularity);
  }

  /**
   * Compiles the flow and allocates the slots of all streams. If memory is short there are fewer slots, but at least
   * one.
   */
  async open(): Promise<void> {
    const { device, streams, options } = this.pipeline;
    const { flow: maker, aim = 'batch' } = this.run.job;
    const { isPersistent: persistent, slotsPerStream, onPrint } = options;
    const opening = maker.open(device, { persistent, slots: streams.length * slotsPerStream, onPrint });
    // An `await` here would leave the device idle for some turns of the event loop before the first chunk.
    const flow = opening instanceof Promise ? await opening : opening;
    this.#flow = flow;
    if (persistent && !flow.isResident) this.pipeline.warnNotResident(this.run.job.name);
    this.#rules = chunkRules(flow.shape, aim, device.info.limits);
    try {
      for (let index = 0; index < slotsPerStream && !this.#isClosed; index++) {
        for (const [stream, queue] of streams.entries()) {
          const made = flow.slot(queue);
          this.#freeSlots.push({ slot: made instanceof Promise ? await made : made, stream, index });
        }
      }
    } catch (error) {
      const isShort = error instanceof MillraceError && error.code === 'device-memory' && this.#freeSlots.length > 0;
      if (!isShort) throw error;
    } finally {
      if (this.#isClosed) this.#freeAll();
    }
  }

  /** Sets the first chunk's size, which depends on the number of active jobs. */
  startSizing(active: number): void {
    if (this.#rules) this.#chunk = firstChunk(this.#rules, active);
  }

  /** True if a slot is free on the stream, or on any stream if none is given. */
  hasSlot(stream?: number): boolean {
    return this.#freeSlots.some((slot) => stream === undefined || slot.stream === stream);
  }

  takeSlot(stream: number): LaneSlot | undefined {
    const at = this.#freeSlots.findIndex((slot) => slot.stream === stream);
    const [slot] = at < 0 ? [] : this.#freeSlots.splice(at, 1);
    if (slot) this.#usedSlots++;
    return slot;
  }

  freeSlot(slot: LaneSlot): void {
    this.#usedSlots--;
    this.#freeSlots.push(slot);
    if (this.#isClosed) this.#freeAll();
    else this.wantsWork = true;
  }

  issued(count: number): void {
    this.#inFlight++;
    this.items += count;
    if (this.#chunk) this.#chunk = afterIssue(this.#chunk);
  }

  /** Records that a chunk has left the device. */
  leftDevice(count: number): void {
    this.#inFlight--;
    this.items -= count;
    this.wantsWork = true;
  }

  /** Records a completed chunk that took `ms`, and held the device alone for `heldMs` of that. */
  completed(count: number, ms: number, heldMs: number, active: number): void {
    this.#hasCompleted = true;
    this.throughput = measure(this.throughput, count, heldMs);
    if (this.#rules && this.#chunk) this.#chunk = afterCompletion(this.#rules, this.#chunk, count, ms, active);
  }

  halveChunkSize(): void {
    if (this.#rules && this.#chunk) this.#chunk = halved(this.#rules, this.#chunk);
  }

  /** Frees every unused slot now, and each of the others when its use ends. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#freeAll();
  }

  #freeAll(): void {
    for (const { slot } of this.#freeSlots) ignoreErrors(() => slot.close());
    this.#freeSlots.length = 0;
    if (this.#usedSlots > 0) return;
    ignoreErrors(() => this.#flow?.close());
    this.#flow = undefined;
  }
}

/** A flow's slot and its position on the device. */
export interface LaneSlot {
  readonly slot: FlowSlot<unknown>;
  readonly stream: number;
  readonly index: number;
}
