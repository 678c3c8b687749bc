import { type ResidentMemory, STATE_AT } from '../../src/device/gpu/resident/memory.js';
import type { GridDriver, GridHandle, GridLaunch, GridSetup } from '../../src/device/gpu/worker/driver.js';
import { GridOrder, QueueState } from '../../src/kernel/abi/resident-abi.js';

/** True if the model's kernel emits a hit for the index. */
export const isHit = (index: number): boolean => index % 7 === 3;

export interface ModelGrid extends GridHandle {
  readonly shared: ResidentMemory;
  readonly done: number[];
  readonly found: number[][];
  head: number;
  seen: number;
  isWatched: boolean;
  order: number;
  present: number;
  /** The device's copy of the entries. */
  readonly queue: Uint32Array;
  groups: Generator<void, void>[];
  isCopied: boolean;
}

/**
 * A model of the grid's side of `kernel/abi/resident-abi.ts`: workgroups take the steps of the harness, one memory access at
 * a time, in an order that the test chooses. An entry's words are the number of its last item and its base.
 */
export class ModelGrids implements GridDriver {
  readonly maxGrids = 2;
  readonly maxLaunchMs: number | undefined;
  readonly grids = new Set<ModelGrid>();
  readonly #workgroups: number;
  /** If set, launches fail with it. */
  refusal: Error | undefined;
  /** If true, workgroups make no steps. */
  isStill = false;
  pause: () => void = () => undefined;
  launches = 0;

  constructor(workgroups: number, boundMs?: number) {
    this.#workgroups = workgroups;
    this.maxLaunchMs = boundMs;
  }

  open({ memory: shared }: GridSetup): ModelGrid {
    const { capacity } = shared;
    const grid: ModelGrid = {
      partsLog: 2,
      shared,
      done: new Array(capacity).fill(0),
      found: Array.from({ length: capacity }, () => []),
      head: 0,
      seen: 0,
      isWatched: false,
      order: GridOrder.run,
      present: 0,
      queue: new Uint32Array(shared.entries.length),
      groups: [],
      isCopied: true,
    };
    this.grids.add(grid);
    return grid;
  }

  launch(handle: GridHandle, { epoch, head, isFresh }: GridLaunch): void {
    if (this.refusal) throw this.refusal;
    const grid = handle as ModelGrid;
    if (grid.groups.length > 0) throw new Error('the grid is already running');
    this.launches++;
    Object.assign(grid, { head, seen: 0, isWatched: false, order: GridOrder.run, present: 0, isCopied: false });
    if (isFresh) {
      grid.done.fill(0);
      for (const ring of grid.found) ring.length = 0;
    }
    grid.groups = Array.from({ length: this.#workgroups }, () => workgroup(grid, epoch));
  }

  hasEnded(handle: GridHandle): boolean {
    const grid = handle as ModelGrid;
    if (grid.groups.length > 0) return false;
    if (grid.isCopied) return true;
    grid.isCopied = true;
    const at = STATE_AT / 8;
    grid.shared.bigints[at + QueueState.head] = BigInt(grid.head);
    grid.shared.bigints[at + QueueState.entriesSeen] = BigInt(grid.seen);
    return true;
  }

  close(handle: GridHandle): void {
    if ((handle as ModelGrid).groups.length > 0) throw new Error('the grid is still running');
    this.grids.delete(handle as ModelGrid);
  }

  beforeWaiting(pause: () => void): void {
    this.pause = pause;
  }

  /** Makes one step of one workgroup. `pick` returns a number below its argument. */
  step(pick: (below: number) => number): void {
    const running = [...this.grids].filter(({ groups }) => groups.length > 0);
    const grid = running[pick(Math.max(1, running.length))];
    if (grid === undefined || this.isStill) return;
    const at = pick(grid.groups.length);
    if (grid.groups[at]?.next().done) grid.groups.splice(at, 1);
  }
}

function* workgroup(grid: ModelGrid, epoch: number): Generator<void, void> {
  yield;
  if (grid.isWatched) yield* worker(grid);
  else {
    grid.isWatched = true;
    yield* watch(grid, epoch);
  }
}

/** Copies entries and passes on orders. */
function* watch(grid: ModelGrid, epoch: number): Generator<void, void> {
  const { shared, queue } = grid;
  const { entryWords } = shared.sizes;
  for (let known = 0; ; ) {
    yield;
    const there = shared.tail;
    yield;
    const order = shared.load('epoch') === epoch ? shared.load('order') : GridOrder.stop;
    yield;
    if (order !== GridOrder.run) grid.order = order;
    if (order === GridOrder.stop || (order === GridOrder.leave && grid.present === 0)) return;
    if (order !== GridOrder.run || there === known) continue;
    if (there < known) throw new Error('the tail decreased');
    for (let number = Math.max(known, there - shared.capacity); number < there; number++) {
      const at = shared.slot(number) * entryWords;
      for (let word = 0; word < entryWords; word++) {
        yield;
        queue[at + word] = shared.entries[at + word] ?? 0;
      }
    }
    yield;
    grid.seen = there;
    known = there;
  }
}

function* worker(grid: ModelGrid): Generator<void, void> {
  const { shared, partsLog, done, found, queue } = grid;
  const parts = 2 ** partsLog;
  const isStopped = (): boolean => grid.order === GridOrder.stop;
  grid.present++;
  for (;;) {
    yield;
    if (grid.order !== GridOrder.run) {
      grid.present--;
      return;
    }
    yield; // between reading the order and taking the part
    const part = grid.head++;
    const wanted = Math.floor(part / parts);
    for (;;) {
      yield;
      if (wanted < grid.seen) break;
      yield;
      if (grid.order === GridOrder.run) continue;
      yield;
      if (wanted < grid.seen) break;
      grid.present--;
      return;
    }
    const slot = wanted % shared.capacity;
    const [last = 0, base = 0] = queue.subarray(slot * shared.sizes.entryWords);
    for (let item = part % parts; item <= last; item += parts) {
      yield;
      if (isStopped()) return;
      if (isHit(base + item)) found[slot]?.push(item);
    }
    yield;
    done[slot] = (done[slot] ?? 0) + 1;
    if (done[slot] !== parts) continue;
    const ring = found[slot] ?? [];
    const { ringWords } = shared.sizes;
    yield;
    shared.rings[slot * ringWords] = ring.length;
    for (const [k, item] of ring.entries()) {
      if (4 + k < ringWords) shared.rings[slot * ringWords + 4 + k] = item;
    }
    yield;
    ring.length = 0;
    done[slot] = 0;
    yield;
    Atomics.store(shared.bigints, shared.offsets.flags / 8 + slot, BigInt(wanted + 1));
  }
}
