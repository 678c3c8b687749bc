import { MillraceError } from '../../kernel/error.js';
import type { Kernel } from '../../kernel/index.js';
import { CheckedStream } from '../checks/checked-stream.js';
import { deviceClosed } from '../checks/launch.js';
import { Traps } from '../checks/traps.js';
import type { CompileOptions, Device, DeviceBuffer, DeviceInfo, DeviceProgram, HostMemory, Stream } from '../device.js';
import { sharedMemory } from '../host-memory.js';
import type { ProgramSource } from '../program.js';
import { Pool, STREAMS } from './board.js';
import { type PoolOptions, WorkerPool } from './pool.js';
import { PoolCode, PoolJob, PoolProgram } from './program.js';
import { Queue } from './queue.js';
import { type HostTransfers, PoolStream } from './stream.js';

/**
 * The common part of devices on worker threads: streams over one board, errors of traps, and a shutdown that fails the
 * work in flight and waits for the workers.
 */
export abstract class PoolDevice implements Device {
  readonly info: DeviceInfo;
  readonly #pool: WorkerPool;
  readonly #boardAddress: number;
  readonly #queues: (Queue | undefined)[] = new Array(STREAMS).fill(undefined);
  /** Queues whose stream was closed. Their line is free once they are empty. */
  readonly #closing = new Set<Queue>();
  readonly #traps = new Traps();
  /** The unload function of each loaded program. */
  readonly #programs = new Map<PoolCode, () => void>();
  #freesWaiting = false;
  #end: { readonly error: MillraceError; readonly done: Promise<void> } | undefined;

  constructor(info: DeviceInfo, boardAddress: number, options: PoolOptions) {
    this.info = info;
    this.#boardAddress = boardAddress;
    this.#pool = new WorkerPool(options, { news: () => this.#news(), failed: (cause) => this.#failed(cause) });
  }

  protected abstract readonly transfers: HostTransfers;
  /** True if the host has done its share of this turn; it resumes in a later turn. */
  protected get tired(): boolean {
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
    this.#reclaim();
    const line = this.#queues.indexOf(undefined);
    if (line < 0) {
      throw new MillraceError({
        code: 'launch-range',
        message: `device ${this.info.id} has all of its ${STREAMS} streams open`,
        asked: 'another stream()',
        advice: 'close streams that are not needed, or share one',
      });
    }
    const queue = new Queue(this.#pool, line);
    this.#queues[line] = queue;
    const { words } = this.#pool.board;
    if (line >= Atomics.load(words, Pool.lines)) Atomics.store(words, Pool.lines, line + 1);
    return new CheckedStream(this, PoolJob, new PoolStream(this, queue, this.transfers, this.#boardAddress));
  }

  close(): Promise<void> {
    return this.#finish(deviceClosed(this));
  }

  checkOpen(): void {
    if (this.#end) throw this.#end.error;
  }

  /** For streams: called when there is something to wait for. */
  watch(): void {
    this.#pool.keepAlive(true);
    this.#pool.watch();
  }

  /** For streams: queued commands still run, and no new ones are accepted. */
  closeStream(queue: Queue): void {
    this.#closing.add(queue);
    this.#reclaim();
  }

  /** Makes a program of loaded code. `unload` is called once, when no worker is executing the code or will enter it. */
  protected program(
    source: ProgramSource,
    entry: number,
    compiled: { readonly milliseconds: number; readonly cached: boolean },
    unload: (code: PoolCode) => void,
  ): PoolProgram {
    const owner = { give: (): void => this.#unload(code), onDelayedFree: (): void => this.delayFree() };
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
  protected delayFree(): void {
    this.#freesWaiting = true;
    this.#pool.watch();
  }

  /** Called when the host can resume copying. */
  protected lookAgain(): void {
    if (!this.#end) this.#pool.look();
  }

  /** Called when the board has changed: settles marks, moves spilled commands to the board, frees what was waiting. */
  #news(): boolean {
    let busy = false;
    for (const queue of this.#queues) {
      if (queue === undefined) continue;
      // Marks notify by themselves; free slots for spilled commands do not. Repeats if slots are free already.
      while (queue.settle() && queue.spilling && !queue.wantNews() && !this.tired);
      busy ||= queue.busy;
    }
    this.#reclaim();
    this.#pool.keepAlive(busy);
    return this.#watchFrees() || busy;
  }

  #watchFrees(): boolean {
    if (!this.#freesWaiting) return false;
    let waiting = false;
    for (const queue of this.#queues) {
      if (queue?.wantNews()) waiting = true;
      else queue?.settle();
    }
    this.#freesWaiting = waiting;
    return waiting;
  }

  #reclaim(): void {
    for (const queue of this.#closing) {
      queue.settle();
      if (!queue.empty) continue;
      this.#queues[queue.line] = undefined;
      this.#closing.delete(queue);
    }
  }

  #failed(cause: unknown): void {
    void this.#finish(
      new MillraceError({
        code: 'device-failed',
        message: `a worker thread of device ${this.info.id} died: ${cause instanceof Error ? cause.message : String(cause)}`,
        asked: 'work in flight',
        advice: 'open the device again; if it happens again, run with a checked build to find the access that does it',
        cause,
      }),
    );
  }

  /** Fails the work in flight, ends the workers, then frees the memory they used. */
  #finish(error: MillraceError): Promise<void> {
    this.#end ??= { error, done: this.#shutDown(error) };
    return this.#end.done;
  }

  async #shutDown(error: MillraceError): Promise<void> {
    for (const queue of this.#queues) {
      queue?.settle(); // work that finished in time counts
      queue?.fail(error);
    }
    await this.#pool.stop(error.code === 'device-failed');
    this.#queues.fill(undefined);
    for (const code of [...this.#programs.keys()]) this.#unload(code);
    this.freeAll();
  }
}
