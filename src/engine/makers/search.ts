import { MillraceError } from '../../kernel/error.js';
import type { Buffers, Fields, Kernel } from '../../kernel/index.js';
import type { DeviceSelection } from '../devices.js';
import type { Aim } from '../feed/chunk-size.js';
import { type Checked, checkedFlow, checkReach, endsOf } from '../flow/checked.js';
import { type Flow, flow, Overflow } from '../flow/flow.js';
import { type Hit, hitsIn } from '../flow/ring.js';
import type { InputValues, RequiredIfDeclared } from '../flow/values.js';
import type { Backlog, Canary, CheckResult, DeliveredResult, Job } from '../job.js';
import type { PartitionMode } from '../run/partition.js';
import type { JobProgress } from '../run/run.js';
import { disagreement, formatHit, isSameHit, recompute } from '../verify/recompute.js';
import { checkAll, type Verifier, type Verify } from '../verify/verify.js';
import type { WorkCoverage } from '../work/bins.js';
import type { Intervals } from '../work/intervals.js';
import { type ChunkSource, MemorySource, toRange } from '../work/source.js';
import { launchBase, type Piece, type Range, rangeOf } from '../work/space.js';
import { dataSizes } from './buffer-choice.js';
import { JobIterator } from './job-iterator.js';
import { Outbox } from './outbox.js';
import {
  addHits,
  type Indexed,
  type ReorderBuffer,
  type SearchMode,
  startReorderBuffer,
  takeReady,
} from './reorder-buffer.js';

/**
 * Tries every index of a space and delivers the hits:
 *
 *   for await (const hit of search(kernel, { space: 2n ** 40n, job: { … } })) …
 *
 * Hits come in ascending order, each when everything below it is done, independent of devices and timing. With a flow
 * of hits instead of a kernel, a chunk is a chain of launches.
 */
export function search<W extends Kernel | Flow<readonly Indexed[]>>(
  work: W & MustDeclareHits<W>,
  options: SearchOptions<FoundBy<W>> & OptionsFor<W>,
): Search<FoundBy<W>>;
export function search(work: Kernel | Flow<readonly Indexed[]>, anyOptions: object): Search<Indexed> {
  const options = anyOptions as SearchOptions<Indexed> & KernelOptions<Fields, Fields>;
  const { canaries = [] } = options;
  if ('open' in work) return new KernelSearch(work, options, canaries);
  if (Object.keys(work.signature.hit ?? {}).length === 0) {
    throw new MillraceError({
      code: 'launch-arguments',
      message: `kernel ${work.name} declares no hits: a search would find nothing`,
      asked: `search(${work.name})`,
      advice: 'declare `hit` in its signature and call emit(), or use generate() for its buffers',
    });
  }
  const numbered = canaries.map((canary, at): FlowCanary => ({ ...canary, valueSet: at + 1 }));
  const hitFlow = searchFlow(work, options);
  return new KernelSearch(hitFlow, options, numbered, {
    check: () => checkReach(work, endsOf(options.job, toRange(options.space)), dataSizes(work, options.buffers)),
    recheck: async (hit, reason) => {
      const hits = await recompute(hitFlow, hit.index);
      const isRight = !(hits instanceof Overflow) && hits.some((computed) => isSameHit(computed, hit));
      if (isRight) throw disagreement(work.name, hit.index, formatHit(hit), reason);
    },
  });
}

/** What a search with a kernel or flow delivers. */
type FoundBy<W> =
  W extends Kernel<Fields, Fields, Buffers, infer H>
    ? Hit<H>
    : W extends Flow<readonly (infer T extends Indexed)[]>
      ? T
      : never;

/** The options that depend on the kernel. */
type OptionsFor<W> =
  W extends Kernel<infer J, infer C, Buffers, Fields>
    ? KernelOptions<J, C>
    : { readonly canaries?: readonly FlowCanary[] };

/** A type that no kernel has, and that says why, if the kernel declares no hits. */
type MustDeclareHits<W> =
  W extends Kernel<Fields, Fields, Buffers, infer H>
    ? keyof H extends never
      ? 'search() needs a kernel that declares `hit` in its signature'
      : unknown
    : unknown;

/**
 * A search. Can be iterated once. It starts when the first hit is requested and stops when the consumer leaves the
 * loop.
 */
export interface Search<T extends Indexed> extends AsyncIterable<T> {
  /** Returns the first hit delivered and ends the search. Undefined if there is none. */
  first(): Promise<T | undefined>;
  /** The search's progress. Undefined until iteration begins. */
  readonly progress: JobProgress | undefined;
  /** Where the search's indices are. Undefined until iteration begins. */
  readonly coverage: WorkCoverage | undefined;
}

export type SearchOptions<T extends Indexed> = DeviceSelection & {
  /** A number of indices from 0, or a range; up to 2^128. */
  readonly space: bigint | number | Range;
  /**
   * `all` (default), `first` (the smallest index that hits), `any`, or `arrival` (all, in any order, without delay).
   */
  readonly mode?: SearchMode;
  /** Checks every hit before it is delivered. */
  readonly verify?: Verify<T>;
  readonly signal?: AbortSignal;
  /** Name in telemetry and messages. Default: the name of the kernel or flow. */
  readonly name?: string;
  /** Short chunks that answer soon (`interactive`), or long ones (`batch`, the default). */
  readonly aim?: Aim;
  /** How devices share the space. By default they pull. A partition is never needed for speed. */
  readonly partition?: PartitionMode;
  /** True (default) if a device that is done with its part of a partition helps the others. */
  readonly steal?: boolean;
  /** Indices done before, which are not tried again. */
  readonly completed?: Intervals;
  /** Supplies the work and stores the results, instead of memory. */
  readonly source?: ChunkSource<readonly T[]>;
  /** Capacity of a ring in hits. A chunk with more hits is run again in smaller pieces. Default 4096. */
  readonly ring?: number;
  /** Called each time more indices count or wait for a canary. */
  readonly onProgress?: (progress: JobProgress) => void;
};

/**
 * Further options of a search over one kernel. Chunk values are computed from the piece: this is how a kernel gets
 * indices above 2^64.
 */
export type KernelOptions<J extends Fields, C extends Fields> = RequiredIfDeclared<'job', J, InputValues<J>> &
  RequiredIfDeclared<'chunk', C, (piece: Piece) => InputValues<C>> & {
    /** Data for the kernel's buffers, written once to each device. */
    readonly buffers?: Readonly<Record<string, ArrayBufferView>>;
    /** Minimum and maximum items of a chunk, and the number its size is a multiple of. */
    readonly min?: number;
    readonly max?: number;
    readonly granularity?: number;
    /** Which chunks run in a checked build. Default `first`: each device's first chunk. */
    readonly checked?: Checked;
    /** Pieces with known hits, optionally with their own job values, used to test devices. */
    readonly canaries?: readonly (KnownHits & { readonly job?: InputValues<J> })[];
  };

export interface KnownHits extends Piece {
  /** All indices that hit, ascending. */
  readonly hits: readonly bigint[];
}

export interface FlowCanary extends KnownHits {
  /** The set of the flow's job values it runs with (`FlowSpec.extraJobs`). 0 (default) is the job's own set. */
  readonly valueSet?: number;
}

const RING_CAPACITY = 4096;

/** Makes the flow of a search over one kernel. */
export function searchFlow<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: KernelOptions<J, C> & { readonly ring?: number },
): Flow<readonly Hit<H>[]> {
  const { job, chunk, buffers, min, max, granularity, checked, canaries = [], ring = RING_CAPACITY } = options;
  const values = (jobValues: unknown) => ({ [kernel.name]: (jobValues ?? {}) as InputValues<Fields> });
  const launch = (piece: Piece) => ({
    base: launchBase(piece).base,
    count: piece.count,
    ...(chunk && { chunk: chunk(piece) as InputValues<Fields> }),
  });
  return flow<readonly Hit<H>[]>({
    name: kernel.name,
    kernels: { [kernel.name]: kernel },
    job: values(job),
    extraJobs: canaries.map((canary) => values(canary.job ?? job)),
    rings: { ring: { kernel: kernel.name, hits: ring } },
    steps: (piece) => [{ do: 'launch', kernel: kernel.name, ring: 'ring', ...launch(piece) }],
    resident: launch,
    reap: (piece, { ring: read }) => hitsIn<H>(piece, read('ring')),
    ...checkedFlow(checked),
    ...(buffers && { shared: buffers }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(granularity !== undefined && { granularity }),
  });
}

/** What a search over one kernel can check without its devices. */
interface HostChecks<T> {
  /** Throws if the job cannot run. */
  check?(): void;
  /** Called with a hit that the check has refused. Throws if the kernel itself is the reason, on any device. */
  recheck?(hit: T, reason: string | undefined): Promise<void>;
}

class KernelSearch<T extends Indexed> implements Search<T> {
  readonly #flow: Flow<readonly T[]>;
  readonly #options: SearchOptions<T>;
  readonly #canaries: readonly FlowCanary[];
  readonly #checks: HostChecks<T>;
  readonly #outbox = new Outbox<T>(() => this.#iterator.run?.wake());
  #buffer: ReorderBuffer<T>;
  readonly #iterator: JobIterator<T, T, readonly T[]>;

  constructor(
    hitFlow: Flow<readonly T[]>,
    options: SearchOptions<T>,
    canaries: readonly FlowCanary[],
    checks: HostChecks<T> = {},
  ) {
    this.#flow = hitFlow;
    this.#options = options;
    this.#canaries = canaries;
    this.#checks = checks;
    this.#buffer = startReorderBuffer<T>(options.mode ?? 'all');
    this.#iterator = new JobIterator({
      name: `the search ${hitFlow.name}`,
      selection: options,
      verify: options.verify,
      signal: options.signal,
      outbox: this.#outbox,
      check: () => checks.check?.(),
      job: (verifier) => this.#job(verifier),
      onStart: ({ frontier }) => this.#deliverStored(frontier),
      onComplete: () => this.#deliverReady(undefined),
    });
  }

  get progress(): JobProgress | undefined {
    return this.#iterator.run?.progress;
  }

  get coverage(): WorkCoverage | undefined {
    return this.#iterator.run?.coverage;
  }

  async first(): Promise<T | undefined> {
    for await (const hit of this) return hit;
    return undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<T, void, undefined> {
    return this.#iterator[Symbol.asyncIterator]();
  }

  #job(verifier: Verifier<T>): Job<readonly T[]> {
    const { space, signal, aim, completed, partition = 'pull', steal = true, ring = RING_CAPACITY } = this.#options;
    const { mode } = this.#buffer;
    return {
      name: this.#options.name ?? this.#flow.name,
      flow: this.#flow,
      source: this.#options.source ?? new MemorySource(toRange(space), completed),
      ...(signal && { signal }),
      ...(aim && { aim }),
      ...(partition !== 'pull' && { partition: { by: partition, steal } }),
      canaries: this.#canaries.map(canaryOf),
      hits: { capacity: ring, count: (hits) => hits.length },
      verify: (_piece, hits) => verifyHits(verifier, hits, this.#checks.recheck),
      part: (_piece, hits, { start, count }) =>
        hits.filter(({ index }) => index >= start && index < start + BigInt(count)),
      backlog: () => this.#backlog,
      // A recomputed hit is right even if its device turns out to miss others.
      onVerified: (piece, hits) => {
        if (mode === 'first' || mode === 'any') return this.#storeAnswer(hits, rangeOf(piece));
      },
      deliver: (delivered) => this.#deliver(delivered),
      onHeldChange: () => this.#reportProgress(),
    };
  }

  get #backlog(): Backlog {
    const unread = this.#outbox.length;
    if (unread > MAX_WAITING_HITS) return 'unread';
    return unread + this.#buffer.pending.length > MAX_WAITING_HITS ? 'held' : 'none';
  }

  #deliver({ piece, result, release }: DeliveredResult<readonly T[]>): void {
    release();
    if (this.#buffer.mode === 'all' || this.#buffer.mode === 'arrival') this.#addHits(result, rangeOf(piece));
    this.#deliverReady(this.#iterator.run?.frontier);
    this.#reportProgress();
  }

  #reportProgress(): void {
    const { run } = this.#iterator;
    if (run) this.#options.onProgress?.(run.progress);
  }

  /** Delivers the hits of an earlier run. */
  #deliverStored(frontier: bigint | undefined): void {
    const { storedResults = [], completed } = this.#options.source ?? {};
    // A hit stored before its piece counted answers `first` and `any`. In other modes it comes again with its piece.
    const isAhead = ({ index }: T): boolean => completed?.has({ start: index, length: 1n }) === false;
    const { mode } = this.#buffer;
    const delivered = mode === 'first' || mode === 'any' ? storedResults : storedResults.filter((hit) => !isAhead(hit));
    this.#addHits(delivered, toRange(this.#options.space));
    this.#deliverReady(frontier);
  }

  /** Stores hits before they are delivered, because their piece may never count. */
  #storeAnswer(hits: readonly T[], range: Range): void | Promise<void> {
    const stored = hits.length === 0 ? undefined : this.#options.source?.commitEarly?.(hits);
    if (stored) return stored.then(() => this.#addHits(hits, range));
    this.#addHits(hits, range);
  }

  #addHits(hits: readonly T[], range: Range): void {
    const { buffer, end } = addHits(this.#buffer, hits, [range]);
    this.#buffer = buffer;
    if (end !== undefined) this.#iterator.run?.dropFrom(end);
    if (buffer.mode === 'any') this.#deliverReady(0n);
  }

  #deliverReady(frontier: bigint | undefined): void {
    const { buffer, hits } = takeReady(this.#buffer, frontier);
    this.#buffer = buffer;
    for (const hit of hits) this.#outbox.put(hit);
    if (buffer.isOver && buffer.mode !== 'all') this.#iterator.run?.stop();
  }
}

/** While more hits wait for the reader, or for an earlier chunk, no further chunks are started. */
const MAX_WAITING_HITS = 65_536;

async function verifyHits<T extends Indexed>(
  verifier: Verifier<T>,
  hits: readonly T[],
  recheck: HostChecks<T>['recheck'],
): Promise<CheckResult> {
  const refused = await checkAll(verifier, hits);
  if (refused === undefined) return { checked: verifier.isNone ? 0 : hits.length };
  await recheck?.(refused.value, refused.reason);
  const { value, reason = 'which the check refuses' } = refused;
  return { checked: hits.length, wrong: `it reported index ${value.index}, ${reason}` };
}

function canaryOf<T extends Indexed>({ start, count, hits, valueSet = 0 }: FlowCanary): Canary<readonly T[]> {
  const isFound = (found: readonly T[]): boolean =>
    found.length === hits.length && found.every(({ index }, at) => index === hits[at]);
  return { piece: { start, count }, valueSet, isFound };
}
