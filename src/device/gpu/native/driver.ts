import type { GridShape } from '../../../kernel/abi/grid.js';
import { MillraceError } from '../../../kernel/error.js';
import type { ReportDetail } from '../../device.js';
import {
  type DriverHost,
  type DriverLaunch,
  FatalError,
  type GpuSource,
  type HostBytes,
  type MarkDetail,
  type MarkResult,
} from '../worker/driver.js';
import type { NativeLine, NativeMark, NativeMemory, NativeResources } from './line.js';
import type { LockedRegion } from './locked-memory.js';
import { statusOf, workOf } from './status.js';

/** A program that the runtime has loaded. */
export interface NativeProgram<Memory> {
  readonly number: number;
  readonly name: string;
  readonly shape: GridShape;
  readonly tables: Memory | undefined;
  unload(): void;
}

/** Times of a mark on the host's clock, as the runtime reports them: of all its commands, and of its launches. */
export interface MarkTimes {
  readonly startedNs: bigint;
  readonly endedNs: bigint;
  readonly launches?: ReportDetail['launches'];
}

/** The common part of the CUDA and OpenCL drivers. Each line is a stream or a queue of the runtime. */
export abstract class NativeDriver<
  Memory extends NativeMemory,
  Program extends NativeProgram<Memory>,
  Line extends NativeLine<Memory, Program, Mark, unknown>,
  Mark extends NativeMark<Line, Program>,
> {
  protected readonly host: DriverHost;
  protected readonly lines = new Set<Line>();
  /** Cleanup actions, run in reverse order. */
  protected readonly cleanups: (() => void)[] = [];
  readonly #programs = new Set<Program>();

  constructor(host: DriverHost) {
    this.host = host;
  }

  protected abstract readonly resources: NativeResources<Memory>;
  /** Allocates memory for a program's tables. */
  protected abstract tables(words: Uint32Array): Memory;
  protected abstract program(source: GpuSource, tables: Memory | undefined): Program;
  /** Called before the tables of a program are freed: the program may never have been launched. */
  protected finishTableWrites(): void {}
  protected abstract line(number: number, epochWord: number): Line;
  /** The result code of a mark's work: 0 if it has completed, undefined while it is running. */
  protected abstract codeOf(mark: Mark): number | undefined;
  protected abstract errorOf(code: number, work: string): MillraceError | FatalError;
  /** Called when the mark has completed. */
  protected abstract markPassed(mark: Mark): void;
  /** Called once, after the mark has completed. */
  protected abstract timesOf(mark: Mark): MarkTimes;

  alloc(bytes: number): Memory {
    return this.resources.memory.alloc(bytes);
  }

  free(memory: Memory): void {
    this.resources.memory.free(memory);
  }

  unlock({ address }: LockedRegion): void {
    this.resources.pinned.release(address);
  }

  load(source: GpuSource): Program {
    const { tables: words } = source.shape;
    const tables = words.length > 0 ? this.tables(words) : undefined;
    try {
      const program = this.program(source, tables);
      this.#programs.add(program);
      return program;
    } catch (error) {
      if (tables) this.free(tables);
      throw error;
    }
  }

  unload(program: Program): void {
    this.#programs.delete(program);
    program.unload();
    if (program.tables === undefined) return;
    this.finishTableWrites();
    this.free(program.tables);
  }

  protected unloadAll(): void {
    for (const program of this.#programs) program.unload();
    this.#programs.clear();
  }

  openLine(number: number, epochWord: number): Line {
    const line = this.line(number, epochWord);
    this.lines.add(line);
    this.host.log(`stream ${number} is ${hex(line.queue.handle)}, its epoch at ${hex(line.epoch.device)}`);
    return line;
  }

  closeLine(line: Line): void {
    this.lines.delete(line);
    line.destroy();
    this.host.log(`stream ${line.number} (${hex(line.queue.handle)}) closed`);
  }

  handles(): number[] {
    return Array.from(this.lines, ({ queue }) => queue.handle);
  }

  begin(line: Line): void {
    line.begin();
  }

  write(line: Line, to: Memory, offset: number, from: HostBytes): boolean {
    return line.write(to, offset, from);
  }

  read(line: Line, from: Memory, offset: number, into: HostBytes): boolean {
    return line.read(from, offset, into);
  }

  copy(line: Line, from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean {
    return line.copy(from, fromOffset, to, toOffset, bytes);
  }

  fill(line: Line, memory: Memory, offset: number, word: number, bytes: number): boolean {
    return line.fill(memory, offset, word, bytes);
  }

  launch(line: Line, launch: DriverLaunch<Memory, Program>): boolean {
    return line.launch(launch);
  }

  wait(line: Line, mark: Mark): boolean {
    return line.wait(mark);
  }

  mark(line: Line): Mark {
    return line.mark();
  }

  poll(mark: Mark): MarkResult | undefined {
    const code = this.codeOf(mark);
    if (code === undefined) return undefined;
    if (code !== 0) {
      const error = this.errorOf(code, `${workOf(mark.statuses)} on stream ${mark.line.number}`);
      if (error instanceof FatalError) throw error;
      return { kind: 'failed', error };
    }
    mark.line.staging.settle();
    mark.isPassed = true;
    this.markPassed(mark);
    const status = statusOf(mark.statuses);
    if (status.kind === 'trapped') return status;
    return { kind: 'passed', complete: status.complete && !mark.isCut, ...this.#times(mark) };
  }

  cancel({ epoch: sent }: Line, epoch: number): void {
    sent.setEpoch(epoch);
  }

  nextCallMs(): number | undefined {
    let soon: number | undefined;
    for (const { resumeMs } of this.lines) if (resumeMs !== undefined) soon = Math.min(resumeMs, soon ?? resumeMs);
    return soon;
  }

  /** Releases everything. */
  protected releaseAll(): void {
    for (const line of this.lines) ignoreDeviceErrors(() => line.destroy());
    this.lines.clear();
    for (const undo of this.cleanups.splice(0).reverse()) ignoreDeviceErrors(undo);
  }

  /**
   * Clocks are corrected and rounded. Here order is kept: nothing begins before it was sent or before the stream's last
   * end.
   */
  #times(mark: Mark): { startedNs: bigint; endedNs: bigint; detail?: MarkDetail } {
    const { line, sentNs } = mark;
    const { startedNs: started, endedNs: ended, launches } = this.timesOf(mark);
    const startedNs = laterOf(started, laterOf(sentNs, line.endedNs));
    const endedNs = laterOf(ended, startedNs);
    line.endedNs = endedNs;
    mark.endedNs = endedNs;
    if (!this.resources.isDetailed) return { startedNs, endedNs };
    const within = (ns: bigint): bigint => (ns < startedNs ? startedNs : ns > endedNs ? endedNs : ns);
    const inside = launches && { startedNs: within(launches.startedNs), endedNs: within(launches.endedNs) };
    return { startedNs, endedNs, detail: { sentNs, launches: inside } };
  }
}

/**
 * Runs a cleanup step and ignores device errors: at shutdown, above all of a lost device, each step is tried whether or
 * not others failed.
 */
export function ignoreDeviceErrors(step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!(error instanceof FatalError || error instanceof MillraceError)) throw error;
  }
}

const sleepWord = new Int32Array(new SharedArrayBuffer(4));
/** Blocks this thread. */
export const sleep = (milliseconds: number): void => void Atomics.wait(sleepWord, 0, 0, milliseconds);

/** How long `close` waits for launches to notice that they are cancelled. */
export const CLOSE_MS = 5000;

/** Waits until all work has ended; false if it has not within CLOSE_MS. */
export function endsInTime(hasEnded: () => boolean): boolean {
  for (let waited = 0; !hasEnded(); waited++) {
    if (waited >= CLOSE_MS) return false;
    sleep(1);
  }
  return true;
}

export const laterOf = (a: bigint, b: bigint): bigint => (a > b ? a : b);

export const hex = (handle: number): string => `0x${handle.toString(16)}`;
