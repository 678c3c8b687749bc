import { MillraceError } from '../../../kernel/error.js';
import { epochWord } from '../wire/board.js';
import { Fifo } from '../wire/fifo.js';
import type { Driver, MarkDetail, MarkResult } from './driver.js';
import { combineKind } from './poll.js';

/** A command of a stream, as the worker keeps it until the driver has it. */
export type WorkerCommand =
  | {
      readonly kind: 'work';
      /** Returns true when the driver has the whole command. */
      send(): boolean;
      /** The kind and size of the command, for `combineKind`. */
      readonly workKind: number;
      readonly size: number;
      /** The epoch of a launch: it is not sent if the stream's epoch has changed before it began. */
      readonly epoch?: number;
    }
  | { readonly kind: 'wait'; readonly line: WorkerLine; readonly mark: number }
  | { readonly kind: 'mark'; readonly role: MarkRole };

/** A caller waits for `asked`; `noted` reports progress to the main thread; `own` is internal to the worker. */
export type MarkRole = 'asked' | 'noted' | 'own';

/** A mark that has been sent to the driver. */
export interface MarkInFlight extends PollState {
  /** The driver's object; undefined if it could not create one. */
  readonly mark: unknown;
  readonly role: MarkRole;
  /** The mark's number on its line among marks of the same role, modulo 2^32. */
  readonly number: number;
  /** The sequence number of the last command that it covers. */
  readonly sequence: number;
  readonly failure: MillraceError | undefined;
  /** True if a launch was left out because it was cancelled. */
  readonly isCut: boolean;
  /** The kind of work that it ends. */
  readonly workKind: number;
  readonly issuedUs: number;
}

/** Polling state of the oldest mark of a line, maintained by `mark-poller.ts`. */
export interface PollState {
  polls: number;
  /** Since when it is the oldest, when to poll next, and from when on its callback is late. */
  oldestSinceUs: number | undefined;
  nextPollUs: number;
  callbackDueUs: number;
  /** True if it was cancelled: it ends soon, whatever work of its kind usually takes. */
  isCancelled: boolean;
  /** The number of busy lines when it became the oldest of its line. */
  busyLines: number;
  /** True if one of them has become idle since: the mark may complete sooner than earlier work of its kind. */
  hasLessContention: boolean;
  /** Set if the mark has completed although its callback has not arrived. */
  unsignalled: { readonly result: MarkResult; readonly atUs: number } | undefined;
}

/** State that notes and own marks carry over to the next asked mark. */
export interface CarriedState {
  readonly startedNs: bigint | undefined;
  readonly complete: boolean;
  readonly failed: Exclude<MarkResult, { kind: 'passed' }> | undefined;
  readonly detail: MarkDetail | undefined;
}
export const nothingCarried: CarriedState = {
  startedNs: undefined,
  complete: true,
  failed: undefined,
  detail: undefined,
};

/**
 * The worker's side of a stream: commands in order, of which the first may have to wait for space or for another
 * stream. A group is the commands between two marks; an error in it drops the rest of the group.
 */
export class WorkerLine {
  readonly number: number;
  readonly #driver: Driver;
  readonly #epoch: () => number;
  readonly #commands = new Fifo<WorkerCommand>();
  /** Marks that have not completed, in order. */
  readonly marks = new Fifo<MarkInFlight>();
  carried = nothingCarried;
  isClosing = false;
  /** The driver's object. */
  handle: unknown;
  #isOpen = false;
  /** Every group fails with this error if the line could not be opened. */
  #openError: MillraceError | undefined;
  /** Commands taken, and how many of them have completed. */
  takenCount = 0;
  passedCount = 0;
  /** When the last mark completed. */
  settledUs = Number.NEGATIVE_INFINITY;
  /** The sequence number of the last mark among the commands taken. */
  #lastMarkSequence = 0;
  /** Marks sent to the driver, by role, and the last asked one that has completed; modulo 2^32. */
  readonly #issued = { asked: 0, noted: 0, own: 0 };
  #settled = 0;
  #sequence = 0;
  // The group that is being sent.
  #hasBegun = false;
  #failure: MillraceError | undefined;
  #isCut = false;
  #workKind = 0;
  /** True if the first command has been partly sent. */
  #isPartlySent = false;

  /** `epoch` returns the stream's current epoch. */
  constructor(number: number, driver: Driver, epoch: () => number) {
    this.number = number;
    this.#driver = driver;
    this.#epoch = epoch;
  }

  /** True if commands wait to be sent. */
  get hasUnsent(): boolean {
    return this.#commands.length > 0;
  }

  /** True if nothing is queued or in flight, marked or not. */
  get isIdle(): boolean {
    return this.passedCount === this.takenCount;
  }

  push(command: WorkerCommand): void {
    this.takenCount++;
    if (command.kind === 'mark') this.#lastMarkSequence = this.takenCount;
    this.#commands.push(command);
  }

  /** Makes sure that a mark reports when command number `sequence` has completed. */
  ensureMark(sequence: number): void {
    if (this.#lastMarkSequence < sequence) this.push({ kind: 'mark', role: 'own' });
  }

  open(): void {
    this.isClosing = false;
    this.#openError = undefined;
    this.#catchFailure(() => {
      this.handle = this.#driver.openLine(this.number, epochWord(this.number));
      return true;
    });
    this.#openError = this.#failure;
    this.#isOpen = !this.#openError;
  }

  close(): void {
    this.isClosing = false;
    if (this.#isOpen) this.#driver.closeLine(this.handle);
    this.#isOpen = false;
    this.#failure = undefined;
    this.carried = nothingCarried;
  }

  /** Called when the stream's epoch has changed. */
  cancel(epoch: number): void {
    if (this.#isOpen) this.#driver.cancel(this.handle, epoch);
    for (const mark of this.marks) {
      mark.isCancelled = true;
      mark.polls = 0;
      mark.nextPollUs = 0;
    }
  }

  /** Sends the commands that can be sent. True if there was one. */
  advance(nowUs: number): boolean {
    const before = this.#sequence;
    for (let command = this.#commands.first; command; command = this.#commands.first) {
      this.#isPartlySent = !this.#send(command, nowUs);
      if (this.#isPartlySent) break;
      this.#commands.shift();
      this.#sequence++;
    }
    return this.#sequence !== before;
  }

  /** Called when the oldest mark has completed. */
  settle(nowUs: number): void {
    const mark = this.marks.shift();
    if (!mark) return;
    this.settledUs = nowUs;
    this.passedCount = mark.sequence;
    if (mark.role === 'asked') this.#settled = mark.number;
    if (mark.mark !== undefined) this.#driver.release(mark.mark);
  }

  /** The state of a mark of this line, for another line that waits for it. */
  #find(number: number): MarkInFlight | 'passed' | 'queued' {
    if (((number - this.#settled) | 0) <= 0) return 'passed';
    if (((number - this.#issued.asked) | 0) > 0) return 'queued';
    for (const mark of this.marks) if (mark.role === 'asked' && mark.number === number) return mark;
    return 'passed';
  }

  #send(command: WorkerCommand, nowUs: number): boolean {
    if (command.kind === 'mark') {
      this.#mark(command.role, nowUs);
      return true;
    }
    if (this.#failure) return true;
    return this.#catchFailure(() => (command.kind === 'work' ? this.#sendWork(command) : this.#sendWait(command)));
  }

  #sendWork(command: Extract<WorkerCommand, { kind: 'work' }>): boolean {
    // A launch that is partly sent must be ended by the driver, which sees the epoch too.
    if (!this.#isPartlySent && command.epoch !== undefined && command.epoch !== this.#epoch()) {
      this.#isCut = true;
      return true;
    }
    this.#begin();
    if (!this.#isPartlySent) this.#workKind = combineKind(this.#workKind, command.workKind, command.size);
    return command.send();
  }

  #sendWait({ line, mark }: Extract<WorkerCommand, { kind: 'wait' }>): boolean {
    const found = line.#find(mark);
    if (found === 'queued') return false;
    if (found === 'passed' || found.mark === undefined) return true;
    return this.#driver.wait(this.handle, found.mark);
  }

  #mark(role: MarkRole, issuedUs: number): void {
    let mark: unknown;
    if (this.#isOpen) {
      this.#catchFailure(() => {
        this.#begin();
        mark = this.#driver.mark(this.handle);
        return true;
      });
    }
    this.#issued[role] = (this.#issued[role] + 1) | 0;
    this.marks.push({
      mark,
      role,
      number: this.#issued[role],
      sequence: this.#sequence + 1,
      failure: this.#failure,
      isCut: this.#isCut,
      workKind: this.#workKind,
      issuedUs,
      polls: 0,
      oldestSinceUs: undefined,
      nextPollUs: issuedUs,
      callbackDueUs: issuedUs,
      isCancelled: false,
      busyLines: 1,
      hasLessContention: false,
      unsignalled: undefined,
    });
    this.#hasBegun = false;
    this.#isCut = false;
    this.#workKind = 0;
    // A failure lasts until the next asked mark.
    if (role === 'asked') this.#failure = this.#openError;
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#driver.begin(this.handle);
    this.#hasBegun = true;
  }

  /** A MillraceError ends the command; other errors end the device. */
  #catchFailure(action: () => boolean): boolean {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      this.#failure ??= error;
      return true;
    }
  }
}
