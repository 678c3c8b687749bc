import { MillraceError } from '../../kernel/error.js';
import type { Kernel } from '../../kernel/index.js';
import { CheckedStream } from '../checks/checked-stream.js';
import { deviceClosed } from '../checks/launch.js';
import { TrapExplainer } from '../checks/traps.js';
import type { CompileOptions, Device, DeviceBuffer, DeviceInfo, DeviceProgram, HostMemory, Stream } from '../device.js';
import { sharedMemory } from '../host-memory.js';
import type { ProgramSource } from '../program.js';
import { MAX_STREAMS, PoolWord } from './board.js';
import { type PoolOptions, WorkerPool } from './pool.js';
import { PoolCode, PoolJob, PoolProgram } from './program.js';
import { PoolQueue } from './queue.js';
import { type HostTransfers, PoolStream } from './stream.js';

/**
 * The common part of devices on worker threads: streams over one board, errors of traps, and a shutdown that fails the
 * work in flight and waits for the workers.
 */
export abstract class PoolDevice implements Device {
  readonly info: DeviceInfo;
  readonly #pool: WorkerPool;
  readonly #boardAddress: number;
  readonly #queues: (PoolQueue | undefined)[] = new Array(MAX_STREAMS).fill(undefined);
  /** Queues whose stream was closed. Their number is free once they are empty. */
  readonly #closingQueues = new Set<PoolQueue>();
  readonly #traps = new TrapExplainer();
  /** The unload function of each loaded program. */
  readonly #programs = new Map<PoolCode, () => void>();
  #hasDelayedFrees = false;
  #shutdown: { readonly error: MillraceError; readonly done: Promise<void> } | undefined;

  constructor(info: DeviceInfo, boardAddress: number, options: PoolOptions) {
    this.info = info;
    this.#boardAddress = boardAddress;
    this.#pool = new WorkerPool(options, {
      boardChanged: () => this.#onBoardChange(),
      workerDied: (cause) => this.#onWorkerDeath(cause),
    });
  }

  protected abstract readonly transfers: HostTransfers;
  /** True if the host has done its share of this turn; it resumes in a later turn. */
  protected get isTurnSpent(): boolean {
    return false;
  }
  /** Called after the last worker has ended. */
  protected abstract freeAll(): void;

  abstract compile(kernel: Kernel, options?: CompileOptions): Promise<DeviceProgram>;
  abstract alloc(bytes: number): Promise<DeviceBuffer>;

  async start(): Promise<this> {
    await this.#pool.start();
    return this;
  }

  async host(bytes: number): Promise<HostMemory> {
    this.checkOpen();
    return sharedMemory(bytes);
  }

  stream(): Stream {
    this.checkOpen();
    this.#reclaimStreams();
    const index = this.#queues.indexOf(undefined);
    if (index < 0) {
      throw new MillraceError({
        code: 'launch-range',
        message: `all ${MAX_STREAMS} streams of device ${this.info.id} are open`,
        asked: 'another stream()',
        advice: 'close streams that are not needed, or share one',
      });
    }
    const queue = new PoolQueue(this.#pool, index);
    this.#queues[index] = queue;
    const { words } = this.#pool.board;
    if (index >= Atomics.load(words, PoolWord.streams)) Atomics.store(words, PoolWord.streams, index + 1);
    return new CheckedStream(this, PoolJob, new PoolStream(this, queue, this.transfers, this.#boardAddress));
  }

  close(): Promise<void> {
    return this.#beginShutdown(deviceClosed(this));
  }

  checkOpen(): void {
    if (this.#shutdown) throw this.#shutdown.error;
  }

  /** For streams: called when there is something to wait for. */
  watch(): void {
    this.#pool.keepAlive(true);
    this.#pool.watch();
  }

  /** For streams: queued commands still run, and no new ones are accepted. */
  closeStream(queue: PoolQueue): void {
    this.#closingQueues.add(queue);
    this.#reclaimStreams();
  }

  /** Makes a program of loaded code. `unload` is called once, when no worker is executing the code or will enter it. */
  protected newProgram(
    source: ProgramSource,
    entry: number,
    compiled: { readonly milliseconds: number; readonly cached: boolean },
    unload: (code: PoolCode) => void,
  ): PoolProgram {
    const owner = { reclaim: (): void => this.#unload(code), onDelayedFree: (): void => this.watchDelayedFrees() };
    const code: PoolCode = new PoolCode(this.#traps.add(source), entry, owner);
    this.#programs.set(code, () => unload(code));
    return new PoolProgram(this, code, source, compiled);
  }

  #unload(code: PoolCode): void {
    const unload = this.#programs.get(code);
    if (!this.#programs.delete(code)) return;
    this.#traps.remove(code.number);
    unload?.();
  }

  readonly explainTrap = (program: number, site: number, index: number, length: number): MillraceError =>
    this.#traps.explain(this.info.id, program, { site, index, length });

  /** A free that waits for commands must not keep the process alive, but must happen. */
  protected watchDelayedFrees(): void {
    this.#hasDelayedFrees = true;
    this.#pool.watch();
  }

  /** Called when the host can resume copying. */
  protected resumeTransfers(): void {
    if (!this.#shutdown) this.#pool.checkAgain();
  }

  /** Called when the board has changed: settles marks, moves spilled commands to the board, frees what was waiting. */
  #onBoardChange(): boolean {
    let busy = false;
    for (const queue of this.#queues) {
      if (queue === undefined) continue;
      // Marks notify by themselves; free slots for spilled commands do not. Repeats if slots are free already.
      while (queue.settle() && queue.isSpilling && !queue.requestNotify() && !this.isTurnSpent);
      busy ||= queue.isBusy;
    }
    this.#reclaimStreams();
    this.#pool.keepAlive(busy);
    return this.#settleDelayedFrees() || busy;
  }

  #settleDelayedFrees(): boolean {
    if (!this.#hasDelayedFrees) return false;
    let waiting = false;
    for (const queue of this.#queues) {
      if (queue?.requestNotify()) waiting = true;
      else queue?.settle();
    }
    this.#hasDelayedFrees = waiting;
    return waiting;
  }

  #reclaimStreams(): void {
    for (const queue of this.#closingQueues) {
      queue.settle();
      if (!queue.isEmpty) continue;
      this.#queues[queue.stream] = undefined;
      this.#closingQueues.delete(queue);
    }
  }

  #onWorkerDeath(cause: unknown): void {
    void this.#beginShutdown(
      new MillraceError({
        code: 'device-failed',
        message: `a worker thread of device ${this.info.id} died: ${cause instanceof Error ? cause.message : String(cause)}`,
        asked: 'work in flight',
        advice:
          'open the device again; if it happens again, compile the kernels with `checked` to find a faulty access',
        cause,
      }),
    );
  }

  /** Fails the work in flight, ends the workers, then frees the memory they used. A worker that hangs keeps it. */
  #beginShutdown(error: MillraceError): Promise<void> {
    this.#shutdown ??= { error, done: this.#shutDown(error) };
    return this.#shutdown.done;
  }

  async #shutDown(error: MillraceError): Promise<void> {
    for (const queue of this.#queues) {
      queue?.settle(); // work that finished in time counts
      queue?.fail(error);
    }
    if (!(await this.#pool.stop(error.code === 'device-failed'))) return;
    this.#queues.fill(undefined);
    for (const code of [...this.#programs.keys()]) this.#unload(code);
    this.freeAll();
  }
}
