import type { Buffers, Fields, Kernel } from '../../kernel/index.js';
import type { Where } from '../devices.js';
import type { Aim } from '../feed/chunk-size.js';
import { type Flow, flow } from '../flow/flow.js';
import { type Hit, hitsIn } from '../flow/ring.js';
import type { Given, Needed } from '../flow/values.js';
import type { Backlog, Canary, Credit, Finding, Job } from '../job.js';
import type { Share } from '../run/partition.js';
import type { Progress } from '../run/run.js';
import { checkAll, type Verifier, type Verify } from '../verify/verify.js';
import type { Intervals } from '../work/intervals.js';
import { type ChunkSource, MemorySource, rangeGiven } from '../work/source.js';
import { launchBase, type Piece, type Range, rangeOf } from '../work/space.js';
import { deliver, gather, type Harvest, type Indexed, type Mode, startHarvest } from './harvest.js';
import { Iteration } from './job-iterator.js';
import { Outbox } from './outbox.js';

/**
 * Tries every index of a space and delivers the hits:
 *
 *   for await (const hit of search(kernel, { space: 2n ** 40n, job: { … } })) …
 *
 * Hits come in ascending order, each when everything below it is done, independent of devices and timing. With a flow
 * of hits instead of a kernel, a chunk is a chain of launches.
 */
export function search<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: SearchOptions<Hit<H>> & KernelOptions<J, C>,
): Search<Hit<H>>;
export function search<T extends Indexed>(
  hits: Flow<readonly T[]>,
  options: SearchOptions<T> & { readonly canaries?: readonly FlowCanary[] },
): Search<T>;
export function search(what: Kernel | Flow<readonly Indexed[]>, given: object): Search<Indexed> {
  const options = given as SearchOptions<Indexed> & KernelOptions<Fields, Fields>;
  const { canaries = [] } = options;
  if ('open' in what) return new KernelSearch(what, options, canaries);
  const numbered = canaries.map((canary, at): FlowCanary => ({ ...canary, values: at + 1 }));
  return new KernelSearch(searchFlow(what, options), options, numbered);
}

/**
 * A search. Can be iterated once. It starts when the first hit is requested and stops when the consumer leaves the
 * loop.
 */
export interface Search<T extends Indexed> extends AsyncIterable<T> {
  /** Returns the first hit delivered and ends the search. Undefined if there is none. */
  first(): Promise<T | undefined>;
  /** The search's progress. Undefined until iteration begins. */
  readonly progress: Progress | undefined;
}

export type SearchOptions<T extends Indexed> = Where & {
  /** A number of indices from 0, or a range; up to 2^128. */
  readonly space: bigint | number | Range;
  /**
   * `all` (default), `first` (the smallest index that hits), `any`, or `arrival` (all, in any order, without delay).
   */
  readonly mode?: Mode;
  /** Checks every hit before it is delivered. */
  readonly verify?: Verify<T>;
  readonly signal?: AbortSignal;
  /** Name in telemetry and messages. Default: the name of the kernel or flow. */
  readonly name?: string;
  /** Short chunks that answer soon (`interactive`), or long ones (`batch`, the default). */
  readonly aim?: Aim;
  /** How devices share the space. By default they pull. A partition is never needed for speed. */
  readonly share?: Share;
  /** True (default) if a device that is done with its part of a partition helps the others. */
  readonly steal?: boolean;
  /** Indices done before, which are not tried again. */
  readonly completed?: Intervals;
  /** Supplies the work and stores the results, instead of memory. */
  readonly source?: ChunkSource<readonly T[]>;
  /** Capacity of a ring in hits. A chunk with more hits is run again in smaller pieces. Default 4096. */
  readonly ring?: number;
  /** Called each time more indices count or wait for a canary. */
  readonly onProgress?: (progress: Progress) => void;
};

/**
 * Further options of a search over one kernel. Chunk values are computed from the piece: this is how a kernel gets
 * indices above 2^64.
 */
export type KernelOptions<J extends Fields, C extends Fields> = Needed<'job', J, Given<J>> &
  Needed<'chunk', C, (piece: Piece) => Given<C>> & {
    /** Data for the kernel's buffers, written once to each device. */
    readonly buffers?: Readonly<Record<string, ArrayBufferView>>;
    /** Minimum and maximum items of a chunk, and the number its size is a multiple of. */
    readonly least?: number;
    readonly most?: number;
    readonly granularity?: number;
    /** Pieces with known hits, optionally with their own job values, used to test devices. */
    readonly canaries?: readonly (KnownHits & { readonly job?: Given<J> })[];
  };

export interface KnownHits extends Piece {
  /** All indices that hit, ascending. */
  readonly hits: readonly bigint[];
}

export interface FlowCanary extends KnownHits {
  /** The set of the flow's `others` it runs with. 0 (default) is the job's own set. */
  readonly values?: number;
}

const RING_HITS = 4096;

/** Makes the flow of a search over one kernel. */
export function searchFlow<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: KernelOptions<J, C> & { readonly ring?: number },
): Flow<readonly Hit<H>[]> {
  const { job, chunk, buffers, least, most, granularity, canaries = [], ring = RING_HITS } = options;
  const values = (given: unknown) => ({ [kernel.name]: (given ?? {}) as Given<Fields> });
  const launch = (piece: Piece) => ({
    base: launchBase(piece).base,
    count: piece.count,
    ...(chunk && { chunk: chunk(piece) as Given<Fields> }),
  });
  return flow<readonly Hit<H>[]>({
    name: kernel.name,
    kernels: { [kernel.name]: kernel },
    job: values(job),
    others: canaries.map((canary) => values(canary.job ?? job)),
    rings: { ring: { kernel: kernel.name, hits: ring } },
    steps: (piece) => [{ do: 'launch', kernel: kernel.name, ring: 'ring', ...launch(piece) }],
    resident: launch,
    reap: (piece, { ring: read }) => hitsIn<H>(piece, read('ring')),
    ...(buffers && { shared: buffers }),
    ...(least !== undefined && { least }),
    ...(most !== undefined && { most }),
    ...(granularity !== undefined && { granularity }),
  });
}

class KernelSearch<T extends Indexed> implements Search<T> {
  readonly #flow: Flow<readonly T[]>;
  readonly #options: SearchOptions<T>;
  readonly #canaries: readonly FlowCanary[];
  readonly #outbox = new Outbox<T>(() => this.#iteration.run?.wake());
  #harvest: Harvest<T>;
  readonly #iteration: Iteration<T, T, readonly T[]>;

  constructor(what: Flow<readonly T[]>, options: SearchOptions<T>, canaries: readonly FlowCanary[]) {
    this.#flow = what;
    this.#options = options;
    this.#canaries = canaries;
    this.#harvest = startHarvest<T>(options.mode ?? 'all');
    this.#iteration = new Iteration({
      name: `the search ${what.name}`,
      where: options,
      verify: options.verify,
      signal: options.signal,
      outbox: this.#outbox,
      job: (verifier) => this.#job(verifier),
      begin: ({ frontier }) => this.#begin(frontier),
      complete: () => this.#tell(undefined),
    });
  }

  get progress(): Progress | undefined {
    return this.#iteration.run?.progress;
  }

  async first(): Promise<T | undefined> {
    for await (const hit of this) return hit;
    return undefined;
  }

  [Symbol.asyncIterator](): AsyncIterator<T, void, undefined> {
    return this.#iteration[Symbol.asyncIterator]();
  }

  #job(verifier: Verifier<T>): Job<readonly T[]> {
    const { space, signal, aim, completed, share = 'pull', steal = true, ring = RING_HITS } = this.#options;
    const { mode } = this.#harvest;
    return {
      name: this.#options.name ?? this.#flow.name,
      flow: this.#flow,
      source: this.#options.source ?? new MemorySource(rangeGiven(space), completed),
      ...(signal && { signal }),
      ...(aim && { aim }),
      ...(share !== 'pull' && { partition: { by: share, steal } }),
      canaries: this.#canaries.map(canaryOf),
      hits: { room: ring, count: (hits) => hits.length },
      verify: (_piece, hits) => verifyHits(verifier, hits),
      part: (_piece, hits, { start, count }) =>
        hits.filter(({ index }) => index >= start && index < start + BigInt(count)),
      backlog: () => this.#backlog,
      // A recomputed hit is right even if its device turns out to miss others.
      verified: (piece, hits) => {
        if (mode === 'first' || mode === 'any') return this.#answer(hits, rangeOf(piece));
      },
      credit: (credit) => this.#credit(credit),
      held: () => this.#tellProgress(),
    };
  }

  get #backlog(): Backlog {
    const unread = this.#outbox.length;
    if (unread > MAX_WAITING_HITS) return 'unread';
    return unread + this.#harvest.held.length > MAX_WAITING_HITS ? 'held' : 'none';
  }

  #credit({ piece, result, release }: Credit<readonly T[]>): void {
    release();
    if (this.#harvest.mode === 'all' || this.#harvest.mode === 'arrival') this.#gather(result, rangeOf(piece));
    this.#tell(this.#iteration.run?.frontier);
    this.#tellProgress();
  }

  #tellProgress(): void {
    const { run } = this.#iteration;
    if (run) this.#options.onProgress?.(run.progress);
  }

  /** Delivers the hits of an earlier run. */
  #begin(frontier: bigint | undefined): void {
    const { found = [], completed } = this.#options.source ?? {};
    // A hit stored before its piece counted answers `first` and `any`. In other modes it comes again with its piece.
    const isAhead = ({ index }: T): boolean => completed?.has({ start: index, length: 1n }) === false;
    const { mode } = this.#harvest;
    const told = mode === 'first' || mode === 'any' ? found : found.filter((hit) => !isAhead(hit));
    this.#gather(told, rangeGiven(this.#options.space));
    this.#tell(frontier);
  }

  /** Stores hits before they are delivered, because their piece may never count. */
  #answer(hits: readonly T[], range: Range): void | Promise<void> {
    const kept = hits.length === 0 ? undefined : this.#options.source?.keep?.(hits);
    if (kept) return kept.then(() => this.#gather(hits, range));
    this.#gather(hits, range);
  }

  #gather(hits: readonly T[], range: Range): void {
    const { harvest, end } = gather(this.#harvest, hits, [range]);
    this.#harvest = harvest;
    if (end !== undefined) this.#iteration.run?.lower(end);
    if (harvest.mode === 'any') this.#tell(0n);
  }

  #tell(frontier: bigint | undefined): void {
    const { harvest, hits } = deliver(this.#harvest, frontier);
    this.#harvest = harvest;
    for (const hit of hits) this.#outbox.put(hit);
    if (harvest.isOver && harvest.mode !== 'all') this.#iteration.run?.stop();
  }
}

/** While more hits wait for the reader, or for an earlier chunk, no further chunks are started. */
const MAX_WAITING_HITS = 65_536;

async function verifyHits<T extends Indexed>(verifier: Verifier<T>, hits: readonly T[]): Promise<Finding> {
  const refused = await checkAll(verifier, hits);
  if (refused === undefined) return { checked: verifier.isNone ? 0 : hits.length };
  const { given, why = 'which the check refuses' } = refused;
  return { checked: hits.length, wrong: `it reported index ${given.index}, ${why}` };
}

function canaryOf<T extends Indexed>({ start, count, hits, values = 0 }: FlowCanary): Canary<readonly T[]> {
  const isFound = (found: readonly T[]): boolean =>
    found.length === hits.length && found.every(({ index }, at) => index === hits[at]);
  return { piece: { start, count }, values, isFound };
}
