import { MillraceError } from '../../kernel/error.js';
import { type Driver, type DriverLaunch, FatalError, type HostBytes } from './driver.js';

/** A line that carries out its commands itself; see `Driver` for what they do. */
export interface DriverLine<Memory, Program, Mark> {
  /** When it wants to be called again, in ms; undefined: not by itself. */
  readonly again: number | undefined;
  begin(): void;
  write(to: Memory, offset: number, from: HostBytes): boolean;
  read(from: Memory, offset: number, into: HostBytes): boolean;
  copy(from: Memory, fromOffset: number, to: Memory, toOffset: number, bytes: number): boolean;
  fill(memory: Memory, offset: number, word: number, bytes: number): boolean;
  launch(launch: DriverLaunch<Memory, Program>): boolean;
  wait(mark: Mark): boolean;
  mark(): Mark;
  /** All of its marks have passed, or the device is at its end. */
  destroy(): void;
}

type LineMethods = 'begin' | 'write' | 'read' | 'copy' | 'fill' | 'launch' | 'wait' | 'mark' | 'next';

/** What drivers have in common whose streams are streams or queues of the runtime's own. */
export abstract class LineDriver<Memory, Program, Line extends DriverLine<Memory, Program, Mark>, Mark>
  implements Pick<Driver<Memory, Program, Line, Mark>, LineMethods>
{
  protected readonly lines = new Set<Line>();
  /** What was made, to be unmade in the opposite order. */
  protected readonly undo: (() => void)[] = [];

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

  next(): number | undefined {
    let soon: number | undefined;
    for (const { again } of this.lines) if (again !== undefined) soon = Math.min(again, soon ?? again);
    return soon;
  }

  /** Unmakes everything. */
  protected releaseAll(): void {
    for (const line of this.lines) tolerate(() => line.destroy());
    this.lines.clear();
    for (const undo of this.undo.splice(0).reverse()) tolerate(undo);
  }
}

/** At the end, of a lost device above all, each step is tried whatever became of the others. */
export function tolerate(step: () => void): void {
  try {
    step();
  } catch (error) {
    if (!(error instanceof FatalError || error instanceof MillraceError)) throw error;
  }
}
