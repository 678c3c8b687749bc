/**
 * The words that the `queue` harness (`render/gpu/cuda-queue.ts`) and the host share. A resident grid belongs to one job and
 * takes ranges, called entries, while it runs. `parts` workgroups share an entry; a part is the work that one of them does
 * without reading the queue. Entry n is in slot n mod capacity.
 *
 * One workgroup, the watch, polls the host's memory and copies new entries to the device; all others poll the device's
 * memory. An H200 makes 0.9 million reads of the host's memory per second: a thousand workgroups would wait for them all the
 * time.
 *
 * Each word has one writer at a time. In mapped memory, the host writes `control` and `entries` (per slot the number of the
 * last item, then the chunk's parameter words; those that are the same for all entries are in the launch block). The grid
 * writes `rings` (copies of `found`), `times` (per slot `QUEUE_TIMES` of them, on the device's clock in ns) and `flags` (per
 * slot, 64 bits, the entry's number plus 1). A flag is written after everything that it announces.
 * In device memory, the grid writes `state` (below), `done` (per slot, the number of finished parts), `queue` (a copy of
 * `entries`) and `found` (per slot a ring).
 */

export const QUEUE_ENTRY_POINT = 'millrace_queue';

/** Words of the launch block's header; they replace those of `LaunchHeader`. */
export const QueueHeader = {
  /** Parts and capacity are powers of two, given by their exponents: a division of 64 bits costs a kernel 9 registers. */
  partsLog: 0,
  /** Entries that the queue holds. */
  capacityLog: 1,
  /** Words of one ring. */
  ringWords: 2,
  /** The value of `control`'s epoch as long as nothing is cancelled. */
  epoch: 3,
  /** Processors of the GPU, and the range that this grid may use. Workgroups on other processors leave at once. */
  processors: 4,
  firstProcessor: 5,
  ownProcessors: 6,
} as const;

/** Words of `control` (u32). `epoch` and `order` are read at once. */
export const QueueControl = {
  /** 64 bits, written by the main thread: the number of entries written so far. Stored after the entries themselves. */
  tail: 0,
  /** Written by the main thread. When it changes, the grid stops where it is. */
  epoch: 2,
  /** Written by the worker. */
  order: 3,
} as const;

/**
 * The worker's orders to a grid. A grid that leaves takes no more parts, and nothing is lost. A grid that stops drops its
 * parts.
 */
export const GridOrder = { run: 0, leave: 1, stop: 2 } as const;

/** Words of `state` (u64). */
export const QueueState = {
  /** The next part, over all entries. */
  head: 0,
  /** Written by the watch: the number of entries in `queue`. */
  entriesSeen: 1,
  /** 1 once a workgroup is the watch. */
  hasWatch: 2,
  /** Written by the watch: an order. Workgroups leave or stop, and `entriesSeen` no longer rises. */
  order: 3,
  /** When an entry was last finished, on the device's clock. */
  lastFinished: 4,
  /** Workgroups that are running. */
  runningGroups: 5,
} as const;
export const QUEUE_STATE_WORDS = 8;

/** Times of an entry: when the first part began, when the last one ended, when the watch saw the entry. */
export const QUEUE_TIMES = 3;

/**
 * A grid that neither gets nor finishes an entry for this long leaves. A caller that waits for an idle device, without being
 * able to announce it, therefore waits no longer than this. It is longer than any entry should take.
 */
export const IDLE_TIMEOUT_NS = 1_500_000_000;
