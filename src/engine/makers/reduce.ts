import type { Buffers, Fields, Kernel } from '../../kernel/index.js';
import type { DeviceSelection } from '../devices.js';
import type { Aim } from '../feed/chunk-size.js';
import { type ArrayOf, arrayView, elementBytes, type WrittenBuffers } from '../flow/arrays.js';
import { type Checked, checkedFlow, checkReach, endsOf } from '../flow/checked.js';
import { type Flow, flow } from '../flow/flow.js';
import type { Hit } from '../flow/ring.js';
import type { InputValues, RequiredIfDeclared } from '../flow/values.js';
import type { Backlog, Job } from '../job.js';
import type { JobProgress } from '../run/run.js';
import { MemorySource, toRange } from '../work/source.js';
import { launchBase, type Piece, type Range, rangeOf } from '../work/space.js';
import { dataSizes, outputOf } from './buffer-choice.js';
import { JobIterator } from './job-iterator.js';
import { Outbox } from './outbox.js';
import { addHits, type Indexed, type ReorderBuffer, startReorderBuffer, takeReady } from './reorder-buffer.js';
import { search } from './search.js';

/**
 * Combines the results of all indices into one value:
 *
 *   const inside = items('inside', { buffers: { count: atomic() } }, ({ index, buffers }) => {
 *     when(isInside(index), () => void buffers.count.add(0, 1));
 *   });
 *   const total = await reduce(inside, { space: 10n ** 9n, initial: 0, combine: (sum, [count]) => sum + count });
 *
 * The kernel writes a buffer of `length` elements (default 1), which is zero at the start of each chunk. After the chunk
 * its contents are a part of the result, and `combine` adds the parts in ascending order of index. How the space is cut
 * into chunks depends on speed, so the result is exact if it does not depend on that: sums of integers, minima, maxima,
 * bit sets, histograms. A part must not exceed its type; `max` limits the indices of a chunk.
 *
 * A kernel that emits hits writes no buffer: its hits are the parts. Their order and their values depend on nothing, so
 * that sums of floats, for example of one hit per tile, are the same everywhere.
 *
 * Without `initial` the first part is the initial value. Then the result of a kernel without any hits is undefined.
 */
export function reduce<J extends Fields, C extends Fields, B extends Buffers, H extends Fields, T>(
  kernel: Kernel<J, C, B, H>,
  options: ReduceOptions<J, C> & { readonly initial: T; readonly combine: (total: T, part: ReducePart<B, H>) => T },
): Promise<T>;
export function reduce<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: ReduceOptions<J, C> & {
    readonly combine: (total: ReducePart<B, H>, part: ReducePart<B, H>) => ReducePart<B, H>;
  },
): Promise<ReducePart<B, H> | undefined>;
export async function reduce(kernel: Kernel, anyOptions: object): Promise<unknown> {
  const options = anyOptions as ReduceOptions<Fields, Fields> & Combining;
  const { combine, initial, ...rest } = options;
  const isEmitting = Object.keys(kernel.signature.hit ?? {}).length > 0;
  const parts: AsyncIterable<unknown> = isEmitting ? search(kernel, rest) : new Parts(kernel, rest);
  let isEmpty = !('initial' in options);
  let total = initial;
  for await (const part of parts) {
    total = isEmpty ? part : combine(total, part);
    isEmpty = false;
  }
  return total;
}

interface Combining {
  readonly initial?: unknown;
  readonly combine: (total: unknown, part: unknown) => unknown;
}

/** What `combine` gets: a hit, or the contents of the buffer that the kernel writes. */
export type ReducePart<B extends Buffers, H extends Fields> = keyof H extends never
  ? ArrayOf<B[WrittenBuffers<B>]['type']>
  : Hit<H>;

export type ReduceOptions<J extends Fields, C extends Fields> = DeviceSelection &
  RequiredIfDeclared<'job', J, InputValues<J>> &
  RequiredIfDeclared<'chunk', C, (piece: Piece) => InputValues<C>> & {
    /** A number of indices from 0, or a range; up to 2^128. */
    readonly space: bigint | number | Range;
    /** The buffer that holds a part. Default: the only one the kernel writes. */
    readonly output?: string;
    /** Elements of that buffer. Default 1. */
    readonly length?: number;
    /** Data for the kernel's other buffers, written once to each device. */
    readonly buffers?: Readonly<Record<string, ArrayBufferView>>;
    /** Maximum indices of a chunk. Default 2^24: a u32 is exact if no index adds more than 255 to it. */
    readonly max?: number;
    /** Which chunks run in a checked build. Default `first`: each device's first chunk. */
    readonly checked?: Checked;
    readonly signal?: AbortSignal;
    /** Name in telemetry and messages. Default: the name of the kernel. */
    readonly name?: string;
    readonly aim?: Aim;
    /** Called each time more indices count. */
    readonly onProgress?: (progress: JobProgress) => void;
  };

const MAX_CHUNK = 2 ** 24;
/** While parts of more bytes wait, no further chunks are started. */
const MAX_WAITING_BYTES = 64 * 2 ** 20;

type Part = ArrayOf<string>;

interface IndexedPart extends Indexed {
  readonly part: Part;
}

/** The parts of a kernel that writes a buffer, in ascending order of index. */
class Parts implements AsyncIterable<Part> {
  readonly #flow: Flow<Part>;
  readonly #options: ReduceOptions<Fields, Fields>;
  readonly #outbox = new Outbox<IndexedPart>(() => this.#iterator.run?.wake());
  readonly #maxWaiting: number;
  #buffer: ReorderBuffer<IndexedPart> = startReorderBuffer('all');
  readonly #iterator: JobIterator<IndexedPart, never, Part>;

  constructor(kernel: Kernel, options: ReduceOptions<Fields, Fields>) {
    const output = outputOf(kernel, options.output);
    const type = kernel.signature.buffers?.[output]?.type ?? 'u32';
    const bytes = elementBytes(type) * (options.length ?? 1);
    this.#flow = partFlow(kernel, options, { output, type, bytes });
    this.#options = options;
    this.#maxWaiting = Math.max(64, MAX_WAITING_BYTES / bytes);
    this.#iterator = new JobIterator({
      name: `the reduction ${kernel.name}`,
      selection: options,
      verify: undefined,
      signal: options.signal,
      outbox: this.#outbox,
      check: () => {
        const sizes = { ...dataSizes(kernel, options.buffers, [output]), [output]: bytes };
        checkReach(kernel, endsOf(options.job, toRange(options.space)), sizes);
      },
      job: () => this.#job(),
      onComplete: () => this.#deliverReady(undefined),
    });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Part, void, undefined> {
    for await (const { part } of this.#iterator) yield part;
  }

  #job(): Job<Part> {
    const { space, signal, aim, name = this.#flow.name } = this.#options;
    return {
      name,
      flow: this.#flow,
      source: new MemorySource(toRange(space)),
      isIndivisible: true,
      ...(signal && { signal }),
      ...(aim && { aim }),
      verify: () => ({ checked: 0 }),
      part: (_piece, part) => part,
      backlog: () => this.#backlog,
      deliver: ({ piece, result, release }) => {
        release();
        const { buffer } = addHits(this.#buffer, [{ index: piece.start, part: result }], [rangeOf(piece)]);
        this.#buffer = buffer;
        const { run } = this.#iterator;
        this.#deliverReady(run?.frontier);
        if (run) this.#options.onProgress?.(run.progress);
      },
    };
  }

  get #backlog(): Backlog {
    const unread = this.#outbox.length;
    if (unread > this.#maxWaiting) return 'unread';
    return unread + this.#buffer.pending.length > this.#maxWaiting ? 'held' : 'none';
  }

  #deliverReady(frontier: bigint | undefined): void {
    const { buffer, hits } = takeReady(this.#buffer, frontier);
    this.#buffer = buffer;
    for (const part of hits) this.#outbox.put(part);
  }
}

/** A chunk zeroes the buffer, launches the kernel and reads the buffer. */
function partFlow(
  kernel: Kernel,
  options: ReduceOptions<Fields, Fields>,
  { output, type, bytes }: { readonly output: string; readonly type: string; readonly bytes: number },
): Flow<Part> {
  const { job, chunk, buffers, checked, max = MAX_CHUNK } = options;
  const words = Math.ceil(bytes / 4) * 4;
  return flow<Part>({
    name: kernel.name,
    kernels: { [kernel.name]: kernel },
    job: { [kernel.name]: (job ?? {}) as InputValues<Fields> },
    buffers: { [output]: words },
    host: { part: words },
    steps: (piece, { part }) => [
      { do: 'fill', buffer: output, word: 0 },
      {
        do: 'launch',
        kernel: kernel.name,
        base: launchBase(piece).base,
        count: piece.count,
        ...(chunk && { chunk: chunk(piece) as InputValues<Fields> }),
      },
      { do: 'read', buffer: output, into: part as Uint8Array },
    ],
    reap: (_piece, { host }) => arrayView(type, (host.part as Uint8Array).slice(0, bytes)),
    max,
    ...checkedFlow(checked),
    ...(buffers && { shared: buffers }),
  });
}
