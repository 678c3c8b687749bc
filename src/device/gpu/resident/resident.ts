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
import { type ResidentMemory, Shared } from './memory.js';

/** The part of the link to the worker that a resident grid's queue needs. */
export type ResidentLink = Pick<Link, 'board' | 'call' | 'watch' | 'need' | 'look'>;

export interface ResidentOpening {
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
  closed?(): void;
  now?(): bigint;
}

interface Pending {
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
  readonly #opening: ResidentOpening;
  readonly #memory: ResidentMemory;
  readonly #clock = new ResidentClock();
  readonly #now: () => bigint;
  /** Entries in the queue by number, oldest first. */
  readonly #queued = new Map<number, Pending>();
  /** Entries not in the queue yet: it is full, or a cancelled grid has not ended. */
  #waiting: Pending[] = [];
  #cancelling = false;
  #fault: MillraceError | undefined;
  #closing: Promise<void> | undefined;

  constructor(opening: ResidentOpening) {
    this.#opening = opening;
    this.number = opening.number;
    this.#memory = opening.memory;
    this.#now = opening.now ?? (() => process.hrtime.bigint());
    open.add(this.#memory);
  }

  get fault(): MillraceError | undefined {
    return this.#fault;
  }

  get launches(): number {
    return this.#memory.load('launches');
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  uses(buffer: number): boolean {
    return this.#opening.buffers.some(({ number }) => number === buffer);
  }

  submit(range: ResidentRange, ring: Uint32Array): Completion {
    const { device, job, hits, link } = this.#opening;
    if (this.#closing) throw closed(job.program.name);
    const { base, count, chunk } = checkResidentRange(job.program, range);
    const words = job.parameters.words(base, hits, chunk);
    const entry = new Uint32Array(this.#memory.sizes.entryWords);
    entry[0] = count - 1;
    entry.set(words.subarray(job.program.params.jobWords), 1);
    const completion = new MarkCompletion(device, []);
    this.#waiting.push({ completion, ring, entry, queuedNs: 0n });
    if (this.#fault) this.#giveBack();
    this.#flush();
    link.watch(true);
    return completion;
  }

  cancel(): void {
    this.#drop(this.#waiting.splice(0));
    if (this.#cancelling || this.#queued.size === 0) return;
    this.#cancelling = true;
    this.#memory.store('epoch', (this.#memory.load('epoch') + 1) | 0);
    this.#wake();
    this.#opening.link.watch(true);
  }

  close(): void {
    void this.closed();
  }

  /** Resolves when the grid has ended and its buffers may be freed. */
  closed(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Called when something may have changed. Returns true if there is more to wait for. */
  news(): boolean {
    // The order matters: an entry without a flag after this load never gets one.
    const isOver = this.#cancelling && this.#memory.load('ended') === this.#memory.load('epoch');
    for (const [number, pending] of this.#queued) if (this.#memory.isDone(number)) this.#settle(number, pending);
    if (isOver) {
      this.#drop(this.#queued.values());
      this.#queued.clear();
      this.#cancelling = false;
      this.#memory.first = this.#memory.tail;
      this.#memory.store('resumed', this.#memory.load('epoch'));
    }
    this.#flush();
    return this.#queued.size > 0;
  }

  /** Called when the grid has ended for good: completes its unfinished ranges as incomplete. */
  over(fault: MillraceError): void {
    this.news();
    this.#fault ??= fault;
    this.#giveBack();
  }

  /** Called when the device has ended. */
  fail(error: Error): void {
    this.news();
    open.delete(this.#memory);
    const left = [...this.#queued.values(), ...this.#waiting.splice(0)];
    this.#queued.clear();
    for (const { completion } of left) completion.fail(error);
  }

  /** Called if the grid was never opened. */
  forget(): void {
    open.delete(this.#memory);
  }

  async #close(): Promise<void> {
    this.cancel();
    this.#drop(this.#queued.values());
    this.#queued.clear();
    const { link, number } = this.#opening;
    await link.call('dismiss', { number }).catch(() => undefined); // if the device has ended, the grid is gone already
    open.delete(this.#memory);
    this.#opening.closed?.();
  }

  #flush(): void {
    if (this.#cancelling || this.#fault) return;
    const memory = this.#memory;
    const { capacity, sizes, entries } = memory;
    let isNew = false;
    while (this.#waiting.length > 0) {
      const number = memory.tail;
      const [oldest = number] = this.#queued.keys();
      if (number - oldest >= capacity) break; // its slot is still in use
      const pending = this.#waiting.shift() as Pending;
      entries.set(pending.entry, memory.slot(number) * sizes.entryWords);
      pending.queuedNs = this.#now();
      this.#queued.set(number, pending);
      memory.tail = number + 1;
      isNew = true;
    }
    if (isNew) this.#wake();
  }

  #wake(): void {
    wakeWorker(this.#opening.link.board.words);
  }

  #settle(number: number, { completion, ring, queuedNs }: Pending): void {
    const { sizes, rings, seenAt, bigs } = this.#memory;
    const slot = this.#memory.slot(number);
    this.#queued.delete(number);
    if (sizes.ringWords > 0) {
      const { headerWords, recordWords } = this.#opening.job.program.ring;
      const at = slot * sizes.ringWords;
      const used = headerWords + (rings[at] ?? 0) * recordWords;
      ring.set(rings.subarray(at, at + Math.min(used, sizes.ringWords, ring.length)));
    }
    const seen = Atomics.load(bigs, seenAt + slot);
    const { began, ended } = this.#memory.times(number);
    const times = this.#clock.convert(began, ended, queuedNs, seen > queuedNs ? seen : this.#now());
    completion.pass({ ...times, complete: true });
  }

  #giveBack(): void {
    this.#drop([...this.#queued.values(), ...this.#waiting.splice(0)]);
    this.#queued.clear();
    this.#cancelling = false;
  }

  #drop(pending: Iterable<Pending>): void {
    const now = this.#now();
    for (const { completion } of pending) completion.pass({ startedNs: now, endedNs: now, complete: false });
  }
}

/** A process that exits must not leave a grid running, for which the driver would wait. */
const open = new Set<ResidentMemory>();
atExit(() => {
  for (const { words } of open) Atomics.add(words, Shared.epoch, 1);
});

function closed(kernel: string): MillraceError {
  return new MillraceError({
    code: 'device-closed',
    message: `the resident grid of kernel ${kernel} has been closed`,
    asked: 'a range on it',
    advice: 'ask the device for another',
  });
}
