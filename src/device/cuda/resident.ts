import { GridOrder, QUEUE_STATE_WORDS, QueueHeader, QueueState } from '../../kernel/abi/resident-abi.js';
import { type ResidentMemory, STATE_AT } from '../gpu/resident/memory.js';
import type { GridDriver, GridHandle, GridLaunch, GridSetup } from '../gpu/worker/driver.js';
import { addressOf } from '../native/libc.js';
import type { DeviceResources } from './line.js';
import type { Memory } from './memory.js';
import type { PinnedRegion } from './pinned.js';
import type { CudaProgram } from './program.js';
import type { ResidentGuard } from './resident-guard.js';
import { Cuda } from './runtime/api.js';
import { CudaStream } from './stream.js';

/** Two jobs use half of the multiprocessors each; a third is run by launches. */
const MAX_GRIDS = 2;
/**
 * Multiprocessors that no grid uses. Fills, canaries and all other launches run there, whatever memory and registers
 * they need; workgroups of a grid that start on another grid's multiprocessors also pass through here. A launch whose
 * workgroups cannot all start delays every launch after it. One of an H200's 132 is 0.8 % of its rate.
 */
const SPARE_PROCESSORS = 1;
/** Parts of an entry for each workgroup: a grid that must leave does so after a quarter of an entry's time. */
const PARTS_PER_GROUP = 4;
/** The launch limit in ms: systems with a display end a launch that takes some seconds. */
const MAX_LAUNCH_MS = 500;

/** Words of the launch block that differ from launch to launch. */
const perLaunchWords = [QueueHeader.epoch, QueueHeader.firstProcessor, QueueHeader.ownProcessors];

/** A resident grid: its stream, its memory on both sides, and its launch arguments. */
export interface CudaGrid extends GridHandle {
  readonly program: CudaProgram;
  readonly stream: CudaStream;
  readonly shared: ResidentMemory;
  readonly pinned: PinnedRegion;
  /** On the device: `state`, `done`, `queue`, `found`. */
  readonly own: Memory;
  /** Memory of the launch block, if it is not passed by value. */
  readonly blockMemory: Memory | undefined;
  readonly block: Uint32Array;
  /** The arguments and the pointers to them; neither moves. */
  readonly values: BigUint64Array;
  readonly pointers: BigUint64Array;
  /** The event after its launch; undefined if none is in flight. */
  event: number | undefined;
}

/** Resident grids on CUDA: `kernel/abi/resident-abi.ts` defines what is shared with them. */
export class CudaGrids implements GridDriver<Memory, CudaProgram, CudaGrid> {
  readonly maxGrids: number;
  readonly maxLaunchMs: number | undefined;
  readonly #resources: DeviceResources;
  readonly #guard: ResidentGuard;
  readonly #upload: (words: Uint32Array) => Memory;
  readonly #grids = new Set<CudaGrid>();

  /** `upload` copies words to device memory. */
  constructor(resources: DeviceResources, guard: ResidentGuard, upload: (words: Uint32Array) => Memory) {
    this.#resources = resources;
    this.#guard = guard;
    this.#upload = upload;
    this.maxGrids = Math.min(MAX_GRIDS, resources.context.gpu.multiprocessors - SPARE_PROCESSORS);
    this.maxLaunchMs = resources.context.gpu.limitsRunTime ? MAX_LAUNCH_MS : undefined;
  }

  get streams(): CudaStream[] {
    return [...this.#grids].map(({ stream }) => stream);
  }

  beforeWaiting(pause: () => void): void {
    this.#guard.pause = pause;
  }

  open({ program, memory: shared, block, buffers }: GridSetup<Memory, CudaProgram>): CudaGrid | undefined {
    const { pinned: locks, memory, context } = this.#resources;
    const pinned = locks.register(shared.memory);
    if (pinned === undefined) return undefined;
    const undo = [(): void => locks.release(pinned.address)];
    try {
      const { capacity, sizes, offsets } = shared;
      const partsLog = Math.ceil(Math.log2(PARTS_PER_GROUP * program.residentGroups));
      const own = memory.alloc(8 * QUEUE_STATE_WORDS + 4 * capacity * (1 + sizes.entryWords + sizes.ringWords));
      undo.push(() => memory.free(own));
      block[QueueHeader.partsLog] = partsLog;
      block[QueueHeader.capacityLog] = sizes.capacityLog;
      block[QueueHeader.ringWords] = sizes.ringWords;
      block[QueueHeader.processors] = context.gpu.multiprocessors;
      const { byValue } = program.shape.launch;
      const blockMemory = byValue ? undefined : this.#upload(block);
      if (blockMemory) undo.push(() => memory.free(blockMemory));
      const stream = new CudaStream(this.#resources);
      const emits = sizes.ringWords > 0;
      const done = own.device + 8 * QUEUE_STATE_WORDS;
      const addresses = [
        blockMemory?.device ?? 0,
        own.device,
        done,
        done + 4 * capacity,
        ...(emits ? [done + 4 * capacity * (1 + sizes.entryWords)] : []),
        pinned.device,
        pinned.device + offsets.entries,
        pinned.device + offsets.times,
        pinned.device + offsets.flags,
        ...(emits ? [pinned.device + offsets.rings] : []),
        ...(program.tables ? [program.tables.device] : []),
        ...buffers.map(({ device }) => device),
      ];
      const values = BigUint64Array.from(addresses, BigInt);
      const valuesAt = addressOf(values);
      const pointers = BigUint64Array.from(addresses, (_, i) => BigInt(valuesAt + 8 * i));
      if (byValue) pointers[0] = BigInt(addressOf(block));
      const grid = { partsLog, program, stream, shared, pinned, own, blockMemory, block, values, pointers };
      const made: CudaGrid = { ...grid, event: undefined };
      this.#grids.add(made);
      return made;
    } catch (error) {
      for (const step of undo.reverse()) step();
      throw error;
    }
  }

  launch(grid: CudaGrid, { epoch, head, isFresh, share }: GridLaunch): void {
    const { service, context, untimedEvents } = this.#resources;
    const { api, errors, gpu } = context;
    const { program, stream, own, block, blockMemory } = grid;
    const used = gpu.multiprocessors - SPARE_PROCESSORS;
    const [from, to] = [share.at, share.at + 1].map((k) => Math.floor((used * k) / share.of)) as [number, number];
    block[QueueHeader.epoch] = epoch;
    block[QueueHeader.firstProcessor] = from;
    block[QueueHeader.ownProcessors] = to - from;
    stream.follow(service.handle); // memory just allocated must have been zeroed
    const fill = (at: number, word: number, words: number): void => {
      // SAFETY: inside the grid's own memory, which nothing else uses; no earlier launch is running on it.
      errors.check('cuMemsetD32Async', api.cuMemsetD32Async(at, word, words, stream.handle), 'a resident grid');
    };
    fill(own.device, 0, isFresh ? own.bytes / 4 : 2 * QUEUE_STATE_WORDS);
    fill(own.device + 8 * QueueState.head, head % 2 ** 32, 1);
    fill(own.device + 8 * QueueState.head + 4, Math.floor(head / 2 ** 32), 1);
    if (blockMemory) for (const word of perLaunchWords) fill(blockMemory.device + 4 * word, block[word] ?? 0, 1);
    // SAFETY: as for other launches: values and pointers are the grid's and do not move, their order is that of the text;
    // the host's memory is registered and the buffers are held until `close`.
    const code = api.cuLaunchKernel(
      program.handle,
      program.residentGroups,
      1,
      1,
      program.shape.workgroup,
      1,
      1,
      program.shape.dynamicBytes,
      stream.handle,
      addressOf(grid.pointers),
      0,
    );
    errors.check('cuLaunchKernel', code, `a resident grid of kernel ${program.name}`);
    // SAFETY: copies the state's words to their place in the page-locked memory, after the launch.
    const copied = api.cuMemcpyDtoHAsync(
      grid.pinned.address + STATE_AT,
      own.device,
      8 * QUEUE_STATE_WORDS,
      stream.handle,
    );
    errors.check('cuMemcpyDtoHAsync', copied, 'a resident grid');
    grid.event = untimedEvents.record(stream.handle);
  }

  hasEnded(grid: CudaGrid): boolean {
    if (grid.event === undefined) return true;
    const { context, untimedEvents } = this.#resources;
    const code = context.api.cuEventQuery(grid.event);
    if (code === Cuda.notReady) return false;
    untimedEvents.release(grid.event);
    grid.event = undefined;
    context.errors.check('cuEventQuery', code, `a resident grid of kernel ${grid.program.name}`);
    return true;
  }

  close(grid: CudaGrid): void {
    const { memory, pinned } = this.#resources;
    if (!this.#grids.delete(grid)) return;
    // A refused launch leaves the commands before it: some microseconds of filling the memory that is freed here.
    while (grid.event === undefined && !grid.stream.isIdle());
    grid.stream.destroy();
    memory.free(grid.own);
    if (grid.blockMemory) memory.free(grid.blockMemory);
    pinned.release(grid.pinned.address);
  }

  /** Called at shutdown: stops everything that runs. */
  stop(): void {
    this.#guard.pause = () => undefined;
    for (const { shared } of this.#grids) shared.store('order', GridOrder.stop);
  }

  closeAll(): void {
    for (const grid of [...this.#grids]) this.close(grid);
  }
}
