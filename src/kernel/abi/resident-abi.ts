/**
 * What a resident grid is: the words that the `queue` harness (`render/cuda-queue.ts`) and the host share. A grid belongs
 * to one job and takes ranges, called entries, while it runs. An entry is shared by `parts` workgroups: a part is what one
 * of them does of it without looking at the queue. Entry n lies in slot n mod capacity.
 *
 * One workgroup, the watch, looks at the host's memory and passes on what it finds; all others look at the device's. An
 * H200 makes 0.9 million looks at the host's memory in a second: a thousand workgroups would wait for them all the time.
 *
 * Each word has one writer at a time. In mapped memory, the host's: `control` and `entries` (per slot the number of the
 * last item, then the chunk's parameter words, of which those that are the same for all stand in the launch block); the
 * grid's: `rings` (copies of `found`), `times` (per slot, when the first part began and the last ended, on the device's
 * clock in ns) and `flags` (per slot, 64 bits, the entry's number plus 1), after everything that it announces. In device
 * memory, the grid's: `state` (below), `done` (per slot, parts that are finished), `queue` (a copy of `entries`), `found`
 * (per slot a ring).
 */

export const QUEUE_ENTRY = 'millrace_queue';

/** Words of the launch block's header, in the place of `Header`. */
export const QueueHeader = {
  /** Both are powers of two, given by their exponents: a division of 64 bits costs a kernel 9 registers. */
  partsLog: 0,
  /** Entries that the queue holds. */
  capacityLog: 1,
  /** Words of one ring. */
  ringWords: 2,
  /** What `control` says while nothing was cancelled. */
  epoch: 3,
  /** Processors of the GPU, and which of them are this grid's: workgroups that find themselves on others leave at once. */
  processors: 4,
  firstProcessor: 5,
  ownProcessors: 6,
} as const;

/** Words of `control` (u32). `epoch` and `order` are read at once. */
export const QueueControl = {
  /** 64 bits, the main thread's: entries written so far. Stored after the entries themselves. */
  tail: 0,
  /** The main thread's: when it moves on, the grid stops where it is. */
  epoch: 2,
  /** The worker's. */
  order: 3,
} as const;

/** What the worker tells a grid. To leave is to take no more parts: then nothing is lost. To stop is to drop them. */
export const Order = { run: 0, leave: 1, stop: 2 } as const;

/** Words of `state` (u64). */
export const QueueState = {
  /** The next part, over all entries. */
  head: 0,
  /** The watch's: entries that are in `queue`. */
  seen: 1,
  /** 1 from when a workgroup is the watch. */
  watched: 2,
  /** The watch's, an order: workgroups leave, or stop. `seen` rises no more. */
  order: 3,
  /** When an entry was last finished, on the device's clock. */
  active: 4,
  /** Workgroups at work. */
  present: 5,
} as const;
export const STATE_WORDS = 8;

/**
 * A grid that neither gets nor finishes anything for so long leaves: whoever waits for the device to be idle, and cannot
 * say so, waits no longer than that. Longer than any entry should take.
 */
export const LINGER_NS = 1_500_000_000;
