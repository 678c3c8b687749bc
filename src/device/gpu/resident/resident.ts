import { MillraceError } from '../../../kernel/error.js';
import { checkResidentRange } from '../../checks/launch.js';
import { MarkCompletion } from '../../completion.js';
import type { Completion, Device, Resident, ResidentRange } from '../../device.js';
import { atExit } from '../../pool/threads/threads.js';
import type { GpuBuffer } from '../host/buffer.js';
import type { Link } from '../host/link.js';
import type { GpuJob } from '../host/program.js';
import { wakeWorker } from '../wire/board.js';
import { ResidentClock } from './clock.js';
import { ControlWord, type ResidentMemory } from './memory.js';

/** The part of the link to the worker that a resident grid's queue needs. */
export type ResidentLink = Pick<Link, 'board' | 'call' | 'watch' | 'keepProcessAlive' | 'recheck'>;

export interface ResidentQueueOptions {
  readonly device: Device;
  readonly link: ResidentLink;
  readonly job: GpuJob;
  /** Identifies the grid to the worker. */
  readonly number: number;
  readonly memory: ResidentMemory;
  /** The capacity of a ring, in hits. */
  readonly hits: number;
  readonly buffers: readonly GpuBuffer[];
  /** Called when the grid was closed and has ended. */
  onClosed?(): void;
  now?(): bigint;
}

interface PendingRange {
  readonly completion: MarkCompletion;
  readonly ring: Uint32Array;
  /** The number of the last item, then the chunk's words. */
  readonly entry: Uint32Array;
  queuedNs: bigint;
}

/**
 * The main thread's side of a resident grid: writes entries where the grid finds them, and reads flags when the worker
 * reports new ones. Entries are numbered from 0 for the grid's lifetime, across launches.
 */
export class ResidentQueue implements Resident {
  readonly number: number;
  readonly #options: ResidentQueueOptions;
  /** The sizes of the buffers. */
  readonly #bytes: readonly number[];
  readonly #memory: ResidentMemory;
  readonly #clock = new ResidentClock();
  readonly #now: () => bigint;
  /** Entries in the queue by number, oldest first. */
  readonly #queued = new Map<number, PendingRange>();
  /** Entries not in the queue yet: it is full, or a cancelled grid has not ended. */
  #waiting: PendingRange[] = [];
  #isCancelling = false;
  #fault: MillraceError | undefined;
  #closing: Promise<void> | undefined;

  constructor(opening: ResidentQueueOptions) {
    this.#options = opening;
    this.number = opening.number;
    this.#bytes = opening.buffers.map((buffer) => buffer.bytes);
    this.#memory = opening.memory;
    this.#now = opening.now ?? (() => process.hrtime.bigint());
    openMemories.add(this.#memory);
  }

  get fault(): MillraceError | undefined {
    return this.#fault;
  }

  get launches(): number {
    return this.#memory.load('launches');
  }

  uses(buffer: number): boolean {
    return this.#options.buffers.some(({ number }) => number === buffer);
  }

  submit(range: ResidentRange, ring: Uint32Array): Completion {
    const { device, job, hits, link } = this.#options;
    if (this.#closing) throw closedError(job.program.name);
    const { base, count, chunk } = checkResidentRange(job.program, range);
    const words = job.parameters.words(base, hits, chunk, this.#bytes);
    const entry = new Uint32Array(this.#memory.sizes.entryWords);
    entry[0] = count - 1;
    entry.set(words.subarray(job.program.params.jobWords), 1);
    const completion = new MarkCompletion(device, []);
    this.#waiting.push({ completion, ring, entry, queuedNs: 0n });
    if (this.#fault) this.#returnUnfinished();
    this.#flush();
    link.watch(true);
    return completion;
  }

  cancel(): void {
    this.#completeUnfinished(this.#waiting.splice(0));
    if (this.#isCancelling || this.#queued.size === 0) return;
    this.#isCancelling = true;
    this.#memory.store('epoch', (this.#memory.load('epoch') + 1) | 0);
    this.#wake();
    this.#options.link.watch(true);
  }

  close(): void {
    void this.closeAndWait();
  }

  /** Resolves when the grid has ended and its buffers may be freed. */
  closeAndWait(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Called when something may have changed. Returns true if there is more to wait for. */
  processFlags(): boolean {
    // The order matters: an entry without a flag after this load never gets one.
    const isOver = this.#isCancelling && this.#memory.load('ended') === this.#memory.load('epoch');
    for (const [number, pending] of this.#queued) if (this.#memory.isDone(number)) this.#settle(number, pending);
    if (isOver) {
      this.#completeUnfinished(this.#queued.values());
      this.#queued.clear();
      this.#isCancelling = false;
      this.#memory.first = this.#memory.tail;
      this.#memory.store('resumed', this.#memory.load('epoch'));
    }
    this.#flush();
    return this.#queued.size > 0;
  }

  /** Called when the grid has ended for good: completes its unfinished ranges as incomplete. */
  end(fault: MillraceError): void {
    this.processFlags();
    this.#fault ??= fault;
    this.#returnUnfinished();
  }

  /** Called when the device has ended. */
  fail(error: Error): void {
    this.processFlags();
    openMemories.delete(this.#memory);
    const left = [...this.#queued.values(), ...this.#waiting.splice(0)];
    this.#queued.clear();
    for (const { completion } of left) completion.reject(error);
  }

  /** Called if the grid was never opened. */
  discard(): void {
    openMemories.delete(this.#memory);
  }

  async #close(): Promise<void> {
    this.cancel();
    this.#completeUnfinished(this.#queued.values());
    this.#queued.clear();
    const { link, number } = this.#options;
    await link.call('dismiss', { number }).catch(() => undefined); // if the device has ended, the grid is gone already
    openMemories.delete(this.#memory);
    this.#options.onClosed?.();
  }

  #flush(): void {
    if (this.#isCancelling || this.#fault) return;
    const memory = this.#memory;
    const { capacity, sizes, entries } = memory;
    let isNew = false;
    while (this.#waiting.length > 0) {
      const number = memory.tail;
      const [oldest = number] = this.#queued.keys();
      if (number - oldest >= capacity) break; // its slot is still in use
      const pending = this.#waiting.shift() as PendingRange;
      entries.set(pending.entry, memory.slot(number) * sizes.entryWords);
      pending.queuedNs = this.#now();
      this.#queued.set(number, pending);
      memory.tail = number + 1;
      isNew = true;
    }
    if (isNew) this.#wake();
  }

  #wake(): void {
    wakeWorker(this.#options.link.board.words);
  }

  #settle(number: number, { completion, ring, queuedNs }: PendingRange): void {
    const { sizes, rings, seenIndex, bigints } = this.#memory;
    const slot = this.#memory.slot(number);
    this.#queued.delete(number);
    if (sizes.ringWords > 0) {
      const { headerWords, recordWords } = this.#options.job.program.ring;
      const at = slot * sizes.ringWords;
      const used = headerWords + (rings[at] ?? 0) * recordWords;
      ring.set(rings.subarray(at, at + Math.min(used, sizes.ringWords, ring.length)));
    }
    const seen = Atomics.load(bigints, seenIndex + slot);
    const times = this.#clock.convert(this.#memory.times(number), queuedNs, seen > queuedNs ? seen : this.#now());
    completion.resolve({ ...times, complete: true });
  }

  #returnUnfinished(): void {
    this.#completeUnfinished([...this.#queued.values(), ...this.#waiting.splice(0)]);
    this.#queued.clear();
    this.#isCancelling = false;
  }

  #completeUnfinished(pending: Iterable<PendingRange>): void {
    const now = this.#now();
    for (const { completion } of pending) completion.resolve({ startedNs: now, endedNs: now, complete: false });
  }
}

/** A process that exits must not leave a grid running, for which the driver would wait. */
const openMemories = new Set<ResidentMemory>();
atExit(() => {
  for (const { words } of openMemories) Atomics.add(words, ControlWord.epoch, 1);
});

function closedError(kernel: string): MillraceError {
  return new MillraceError({
    code: 'device-closed',
    message: `the resident grid of kernel ${kernel} has been closed`,
    asked: 'a range on it',
    advice: 'open another with resident()',
  });
}
