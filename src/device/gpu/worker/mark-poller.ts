import type { MillraceError } from '../../../kernel/error.js';
import type { Report, ReportDetail } from '../../device.js';
import type { Driver, MarkDetail, MarkResult } from './driver.js';
import { type MarkInFlight, nothingCarried, type WorkerLine } from './line.js';
import {
  backOffUs,
  ExpectedTimes,
  kindWhenBusy,
  maxIdleRounds,
  minIdleUs,
  nextPollDelayUs,
  pollDelayAfterRelief,
  pollIntervalUs,
  UNKNOWN_US,
} from './poll.js';

/** Receives the ends of marks that are reported to the main thread. */
export interface MarkListener {
  noted(line: number, mark: number): void;
  passed(line: number, mark: number, report: Omit<Report, 'noticedNs'>): void;
  trapped(line: number, mark: number, trap: Extract<MarkResult, { kind: 'trapped' }>): void;
  failed(line: number, mark: number, error: MillraceError): void;
}

export interface SettleOptions {
  readonly completion: 'poll' | 'callback' | 'sync';
  /** Microseconds on any monotonic clock. */
  now(): number;
}

/** A poll due within this time is due now: sleeps are not that precise. */
const SLACK_US = 1;
/** A callback arrives some microseconds after the end it reports; one later than this is lost. */
const GRACE_US = 1000;

/**
 * Polls marks in flight, in the order of each line and round robin over the lines, when `poll.ts` says so. It does not
 * block, except past the limit of idle rounds: then it blocks once, on the mark that was issued first.
 */
export class MarkPoller {
  readonly #driver: Driver;
  readonly #lines: readonly WorkerLine[];
  readonly #ends: MarkListener;
  readonly #options: SettleOptions;
  readonly #expected = new ExpectedTimes();
  /** The line polled first in this round. */
  #firstLine = 0;
  #idleRounds = 0;
  #idleSinceUs = 0;
  #lastKernelUs = 0;
  /** Polls for late callbacks since a mark last completed. */
  #latePolls = 0;
  polls = 0;
  blockingWaits = 0;
  blockedNs = 0;
  lostCallbacks = 0;
  /** The part of these already reported. */
  #reportedWaits = 0;
  #reportedNs = 0;

  /** `lines` holds all lines ever opened; more may be added. */
  constructor(driver: Driver, lines: readonly WorkerLine[], ends: MarkListener, options: SettleOptions) {
    this.#driver = driver;
    this.#lines = lines;
    this.#ends = ends;
    this.#options = options;
  }

  /** Polls the marks that are due. True if any mark has completed. */
  pollDue(nowUs: number): boolean {
    let any = false;
    let hasPolled = false;
    for (let passed = true; passed; ) {
      passed = false;
      for (let i = 0; i < this.#lines.length; i++) {
        const line = this.#lines[(this.#firstLine + i) % this.#lines.length];
        const mark = line?.marks.first;
        if (!line || !mark || !this.#isDue(line, mark, nowUs)) continue;
        hasPolled = true;
        if (this.#pollMark(line, mark, nowUs)) passed = true;
      }
      this.#firstLine = (this.#firstLine + 1) % Math.max(1, this.#lines.length);
      any ||= passed;
    }
    if (any) this.#idleRounds = 0;
    else if (hasPolled) this.#idleRound(nowUs);
    return any;
  }

  /** Returns how long nothing has to be polled, in microseconds. */
  untilNextPollUs(nowUs: number): number {
    let rest = Number.POSITIVE_INFINITY;
    for (const line of this.#driver.notifies ? [] : this.#lines) {
      const mark = line.marks.first;
      if (mark) rest = Math.min(rest, mark.oldestSinceUs === undefined ? 0 : mark.nextPollUs - nowUs);
    }
    return rest <= SLACK_US ? 0 : rest;
  }

  /** Blocks in the driver on the mark that was issued first, and counts it. False if that is not possible. */
  block(): boolean {
    const { mark } = this.#earliest() ?? {};
    if (mark === undefined || !this.#driver.block) return false;
    const began = this.#options.now();
    this.#driver.block(mark);
    this.blockingWaits++;
    this.blockedNs += Math.round((this.#options.now() - began) * 1000);
    for (const { marks } of this.#lines) {
      if (!marks.first) continue;
      marks.first.oldestSinceUs ??= marks.first.issuedUs;
      marks.first.nextPollUs = began;
    }
    return true;
  }

  #isDue(line: WorkerLine, mark: MarkInFlight, nowUs: number): boolean {
    if (this.#driver.notifies) {
      mark.oldestSinceUs ??= nowUs;
      return true;
    }
    if (mark.oldestSinceUs !== undefined) return mark.nextPollUs <= nowUs + SLACK_US;
    // The first check of a mark that has just become the oldest. If another completed before it, it may have completed too.
    mark.oldestSinceUs = nowUs;
    mark.busyLines = this.#busyLines;
    if (mark.issuedUs < line.settledUs || mark.mark === undefined) return true;
    const expected = this.#expectedOf(mark);
    mark.nextPollUs = nowUs + nextPollDelayUs(0, expected, 0);
    mark.callbackDueUs = nowUs + (expected ?? 0) + backOffUs(0);
    return mark.nextPollUs <= nowUs + SLACK_US;
  }

  /** True if the mark has completed. */
  #pollMark(line: WorkerLine, mark: MarkInFlight, nowUs: number): boolean {
    const result = this.#result(mark, nowUs);
    const elapsed = nowUs - (mark.oldestSinceUs ?? nowUs);
    const expected = this.#expectedOf(mark);
    if (result) {
      const isComplete = mark.failure === undefined && !mark.isCut && result.kind === 'passed' && result.complete;
      if (isComplete && elapsed > 0 && !mark.isCancelled) this.#learn(mark, elapsed);
      this.#settle(line, mark, result, nowUs);
      return true;
    }
    if (elapsed > 0) mark.polls++;
    else mark.callbackDueUs = nowUs + (expected ?? 0) + backOffUs(0);
    const rest = nextPollDelayUs(elapsed, expected, mark.polls);
    mark.nextPollUs = nowUs + (mark.hasLessContention ? Math.min(rest, pollDelayAfterRelief(elapsed, expected)) : rest);
    return false;
  }

  #expectedOf({ workKind, isCancelled, busyLines }: MarkInFlight): number | undefined {
    return isCancelled
      ? undefined
      : (this.#expected.of(kindWhenBusy(workKind, busyLines)) ?? this.#expected.of(workKind));
  }

  /** The number of lines with work in flight: they share the device, and the work of each takes longer. */
  get #busyLines(): number {
    let busy = 0;
    for (const { marks } of this.#lines) if (marks.first) busy++;
    return busy;
  }

  /**
   * Called when a line becomes idle: the work of the others may end sooner than while they shared the device with it.
   * (Two streams took turns at copies, 1.2 ms for each; the last had the bus for itself and was polled 0.7 ms too
   * late.)
   */
  #pollOthersSooner(nowUs: number): void {
    for (const { marks } of this.#driver.notifies ? [] : this.#lines) {
      const { first } = marks;
      if (first?.oldestSinceUs === undefined || first.hasLessContention) continue;
      first.hasLessContention = true;
      first.nextPollUs = Math.min(
        first.nextPollUs,
        nowUs + pollDelayAfterRelief(nowUs - first.oldestSinceUs, this.#expectedOf(first)),
      );
    }
  }

  /** Work that had ended at the first poll may have ended long before: the time that the worker overslept is left out. */
  #learn(
    { workKind, busyLines, hasLessContention, polls, oldestSinceUs = 0, nextPollUs }: MarkInFlight,
    elapsedUs: number,
  ): void {
    // A short time after another line became idle may be an exception: it is averaged with the earlier ones.
    const early = polls === 0 && !hasLessContention;
    const us = early ? Math.min(elapsedUs, nextPollUs - oldestSinceUs) : elapsedUs;
    for (const kind of [workKind, kindWhenBusy(workKind, busyLines)]) this.#expected.learn(kind, us, early);
    this.#lastKernelUs = elapsedUs;
  }

  #result(mark: MarkInFlight, nowUs: number): MarkResult | undefined {
    const { mark: own, failure } = mark;
    if (own === undefined) {
      if (!failure) throw new TypeError('the driver returned no mark');
      return { kind: 'failed', error: failure };
    }
    if (!this.#driver.signalled || this.#options.completion !== 'callback') return this.#poll(own);
    if (this.#driver.signalled(own)) return mark.unsignalled?.result ?? this.#poll(own);
    if (mark.unsignalled) {
      if (nowUs - mark.unsignalled.atUs < GRACE_US) return undefined;
      this.lostCallbacks++;
      return mark.unsignalled.result;
    }
    if (nowUs < mark.callbackDueUs) return undefined;
    const result = this.#poll(own);
    if (result) mark.unsignalled = { result, atUs: nowUs };
    else mark.callbackDueUs = nowUs + backOffUs(this.#latePolls++);
    return undefined;
  }

  #poll(mark: unknown): MarkResult | undefined {
    this.polls++;
    return this.#driver.poll(mark);
  }

  #settle(line: WorkerLine, mark: MarkInFlight, result: MarkResult, nowUs: number): void {
    this.#latePolls = 0;
    line.settle(nowUs);
    if (!line.marks.first) this.#pollOthersSooner(nowUs);
    const { carried } = line;
    const failed = mark.failure ? ({ kind: 'failed', error: mark.failure } as const) : result;
    const bad = carried.failed ?? (failed.kind === 'passed' ? undefined : failed);
    const times: PassedTimes = result.kind === 'passed' ? result : { startedNs: 0n, endedNs: 0n, complete: true };
    const startedNs = carried.startedNs ?? times.startedNs;
    const complete = carried.complete && times.complete && !mark.isCut;
    const detail = joinDetails(carried.detail, times.detail);
    if (mark.role !== 'asked') {
      line.carried = { startedNs, complete, failed: bad, detail };
      if (mark.role === 'noted') this.#ends.noted(line.number, mark.number);
      return;
    }
    line.carried = nothingCarried;
    if (bad?.kind === 'failed') this.#ends.failed(line.number, mark.number, bad.error);
    else if (bad) this.#ends.trapped(line.number, mark.number, bad);
    else {
      const { endedNs } = times;
      const report = { startedNs, endedNs, complete, ...(detail && { detail: this.#withBlockingWaits(detail) }) };
      this.#ends.passed(line.number, mark.number, report);
    }
  }

  /** Blocking waits are reported with the first mark that completes after them. */
  #withBlockingWaits(detail: MarkDetail): ReportDetail {
    const blockingWaits = this.blockingWaits - this.#reportedWaits;
    const blockedNs = this.blockedNs - this.#reportedNs;
    this.#reportedWaits = this.blockingWaits;
    this.#reportedNs = this.blockedNs;
    return { ...detail, blockingWaits, blockedNs };
  }

  /** Counts a round that found nothing. After too many, for too long, the worker blocks in the driver. */
  #idleRound(nowUs: number): void {
    if (this.#idleRounds++ === 0) this.#idleSinceUs = nowUs;
    let busy = 0;
    let longest = this.#lastKernelUs;
    for (const { marks } of this.#lines) {
      if (!marks.first) continue;
      busy++;
      longest = Math.max(longest, this.#expectedOf(marks.first) ?? UNKNOWN_US);
    }
    if (this.#idleRounds <= maxIdleRounds(longest, pollIntervalUs(longest), busy)) return;
    if (nowUs - this.#idleSinceUs < minIdleUs(longest, busy)) return;
    this.#idleRounds = 0;
    this.block();
  }

  #earliest(): MarkInFlight | undefined {
    let earliest: MarkInFlight | undefined;
    for (const line of this.#lines) {
      const mark = line.marks.first;
      if (mark && (!earliest || mark.issuedUs < earliest.issuedUs)) earliest = mark;
    }
    return earliest;
  }
}

type PassedTimes = Omit<Extract<MarkResult, { kind: 'passed' }>, 'kind'>;

/** Joins the details of a group that the worker's own marks have split. */
function joinDetails(first: MarkDetail | undefined, last: MarkDetail | undefined): MarkDetail | undefined {
  if (!first || !last) return first ?? last;
  const [from, to] = [first.launches ?? last.launches, last.launches ?? first.launches];
  return { sentNs: first.sentNs, launches: from && to && { startedNs: from.startedNs, endedNs: to.endedNs } };
}
