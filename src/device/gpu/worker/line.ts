import { MillraceError } from '../../../kernel/error.js';
import { epochWord } from '../wire/board.js';
import { Fifo } from '../wire/fifo.js';
import type { Driver, MarkDetail, MarkResult } from './driver.js';
import { kindWith } from './poll.js';

/** A command of a stream, as the worker keeps it until it is the driver's. */
export type Step =
  | {
      readonly kind: 'work';
      /** True when the driver has all of it. */
      send(): boolean;
      /** What it is and how large, for `kindWith`. */
      readonly what: number;
      readonly size: number;
      /** Of a launch: not sent when the stream has moved on before it began. */
      readonly epoch?: number;
    }
  | { readonly kind: 'wait'; readonly line: WorkerLine; readonly mark: number }
  | { readonly kind: 'mark'; readonly role: MarkRole };

/** Somebody waits for `asked`; by `noted` the main thread learns how far things are; `own` is the worker's. */
export type MarkRole = 'asked' | 'noted' | 'own';

/** A mark that the driver has. */
export interface MarkInFlight extends Looking {
  /** The driver's own; undefined where it could not make one. */
  readonly mark: unknown;
  readonly role: MarkRole;
  /** Which of the line's marks in this role, modulo 2^32. */
  readonly number: number;
  /** Of the last command that it covers. */
  readonly sequence: number;
  readonly failure: MillraceError | undefined;
  /** A launch was left out because it was cancelled. */
  readonly cut: boolean;
  /** What kind of work it ends. */
  readonly work: number;
  readonly issuedUs: number;
}

/** What is known of the oldest mark of a line; `settle.ts` keeps it. */
export interface Looking {
  looks: number;
  /** Since when it is the oldest, when to look next, from when on its callback is late. */
  sinceUs: number | undefined;
  lookUs: number;
  lateUs: number;
  /** It was cancelled: it ends soon, whatever such work takes. */
  isHurried: boolean;
  /** Lines that were busy when it became the oldest of its own. */
  busy: number;
  /** One of them has nothing more since: it may end sooner than such work did. */
  isEased: boolean;
  /** It has passed, though its callback has not come. */
  found: { readonly result: MarkResult; readonly atUs: number } | undefined;
}

/** What marks that nobody asked for leave to the next that somebody did. */
export interface Carried {
  readonly startedNs: bigint | undefined;
  readonly complete: boolean;
  readonly failed: Exclude<MarkResult, { kind: 'passed' }> | undefined;
  readonly detail: MarkDetail | undefined;
}
export const nothingCarried: Carried = { startedNs: undefined, complete: true, failed: undefined, detail: undefined };

/**
 * The worker's side of a stream: commands in order, of which the first may have to wait for room or for another stream.
 * A group is what lies between two marks; an error in it drops the rest of the group.
 */
export class WorkerLine {
  readonly number: number;
  readonly #driver: Driver;
  readonly #epoch: () => number;
  readonly #steps = new Fifo<Step>();
  /** Marks that have not passed, in order. */
  readonly marks = new Fifo<MarkInFlight>();
  carried = nothingCarried;
  closing = false;
  /** The driver's own. */
  handle: unknown;
  #open = false;
  /** Every group fails where it could not be opened. */
  #broken: MillraceError | undefined;
  /** Commands taken, and of these how many marks have passed. */
  taken = 0;
  passed = 0;
  /** When a mark last passed. */
  settledUs = Number.NEGATIVE_INFINITY;
  /** Of the last mark among the commands taken. */
  #marked = 0;
  /** Marks that the driver has, by role, and the last asked one that has passed; modulo 2^32. */
  readonly #issued = { asked: 0, noted: 0, own: 0 };
  #settled = 0;
  #sequence = 0;
  // The group that is being sent.
  #begun = false;
  #failure: MillraceError | undefined;
  #cut = false;
  #work = 0;
  /** The step at the front has been partly sent. */
  #partly = false;

  /** `epoch` is the stream's just now. */
  constructor(number: number, driver: Driver, epoch: () => number) {
    this.number = number;
    this.#driver = driver;
    this.#epoch = epoch;
  }

  /** Something waits to be sent. */
  get stalled(): boolean {
    return this.#steps.length > 0;
  }

  /** Nothing is queued or in flight, marked or not. */
  get idle(): boolean {
    return this.passed === this.taken;
  }

  push(step: Step): void {
    this.taken++;
    if (step.kind === 'mark') this.#marked = this.taken;
    this.#steps.push(step);
  }

  /** Sees to it that a mark tells when command number `sequence` has passed. */
  ensureMark(sequence: number): void {
    if (this.#marked < sequence) this.push({ kind: 'mark', role: 'own' });
  }

  open(): void {
    this.closing = false;
    this.#broken = undefined;
    this.#guarded(() => {
      this.handle = this.#driver.openLine(this.number, epochWord(this.number));
      return true;
    });
    this.#broken = this.#failure;
    this.#open = !this.#broken;
  }

  close(): void {
    this.closing = false;
    if (this.#open) this.#driver.closeLine(this.handle);
    this.#open = false;
    this.#failure = undefined;
    this.carried = nothingCarried;
  }

  /** The stream's epoch has moved on. */
  cancel(epoch: number): void {
    if (this.#open) this.#driver.cancel(this.handle, epoch);
    for (const mark of this.marks) {
      mark.isHurried = true;
      mark.looks = 0;
      mark.lookUs = 0;
    }
  }

  /** Sends what can be sent. True when anything was. */
  advance(nowUs: number): boolean {
    const before = this.#sequence;
    for (let step = this.#steps.first; step; step = this.#steps.first) {
      this.#partly = !this.#send(step, nowUs);
      if (this.#partly) break;
      this.#steps.shift();
      this.#sequence++;
    }
    return this.#sequence !== before;
  }

  /** The oldest mark has passed. */
  settle(nowUs: number): void {
    const mark = this.marks.shift();
    if (!mark) return;
    this.settledUs = nowUs;
    this.passed = mark.sequence;
    if (mark.role === 'asked') this.#settled = mark.number;
    if (mark.mark !== undefined) this.#driver.release(mark.mark);
  }

  /** What another line finds that waits for a mark of this one. */
  #find(number: number): MarkInFlight | 'passed' | 'queued' {
    if (((number - this.#settled) | 0) <= 0) return 'passed';
    if (((number - this.#issued.asked) | 0) > 0) return 'queued';
    for (const mark of this.marks) if (mark.role === 'asked' && mark.number === number) return mark;
    return 'passed';
  }

  #send(step: Step, nowUs: number): boolean {
    if (step.kind === 'mark') {
      this.#mark(step.role, nowUs);
      return true;
    }
    if (this.#failure) return true;
    return this.#guarded(() => (step.kind === 'work' ? this.#sendWork(step) : this.#sendWait(step)));
  }

  #sendWork(step: Extract<Step, { kind: 'work' }>): boolean {
    // A launch that is partly under way must be ended by the driver, which sees the epoch too.
    if (!this.#partly && step.epoch !== undefined && step.epoch !== this.#epoch()) {
      this.#cut = true;
      return true;
    }
    this.#begin();
    if (!this.#partly) this.#work = kindWith(this.#work, step.what, step.size);
    return step.send();
  }

  #sendWait({ line, mark }: Extract<Step, { kind: 'wait' }>): boolean {
    const found = line.#find(mark);
    if (found === 'queued') return false;
    if (found === 'passed' || found.mark === undefined) return true;
    return this.#driver.wait(this.handle, found.mark);
  }

  #mark(role: MarkRole, issuedUs: number): void {
    let mark: unknown;
    if (this.#open) {
      this.#guarded(() => {
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
      cut: this.#cut,
      work: this.#work,
      issuedUs,
      looks: 0,
      sinceUs: undefined,
      lookUs: issuedUs,
      lateUs: issuedUs,
      isHurried: false,
      busy: 1,
      isEased: false,
      found: undefined,
    });
    this.#begun = false;
    this.#cut = false;
    this.#work = 0;
    // What failed fails up to the next mark that somebody asked for.
    if (role === 'asked') this.#failure = this.#broken;
  }

  #begin(): void {
    if (this.#begun) return;
    this.#driver.begin(this.handle);
    this.#begun = true;
  }

  /** An error of the command's own ends the command; others end the device. */
  #guarded(action: () => boolean): boolean {
    try {
      return action();
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
      this.#failure ??= error;
      return true;
    }
  }
}
