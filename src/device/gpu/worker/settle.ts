import type { MillraceError } from '../../../kernel/error.js';
import type { Report, ReportDetail } from '../../device.js';
import type { Driver, MarkDetail, MarkResult } from './driver.js';
import { type MarkInFlight, nothingCarried, type WorkerLine } from './line.js';
import { backOffUs, besides, Expectations, easedUs, idleLimit, idleUs, restUs, stepUs, UNKNOWN_US } from './poll.js';

/** Receives the ends of the marks that the main thread knows. */
export interface Ends {
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
export class Settler {
  readonly #driver: Driver;
  readonly #lines: readonly WorkerLine[];
  readonly #ends: Ends;
  readonly #options: SettleOptions;
  readonly #expected = new Expectations();
  /** The line polled first in this round. */
  #turn = 0;
  #idleRounds = 0;
  #idleSinceUs = 0;
  #lastKernelUs = 0;
  /** Polls for late callbacks since a mark last passed. */
  #late = 0;
  polls = 0;
  blockingWaits = 0;
  blockedNs = 0;
  lostCallbacks = 0;
  /** The part of these already reported. */
  #toldWaits = 0;
  #toldNs = 0;

  /** `lines` holds all lines ever opened; more may be added. */
  constructor(driver: Driver, lines: readonly WorkerLine[], ends: Ends, options: SettleOptions) {
    this.#driver = driver;
    this.#lines = lines;
    this.#ends = ends;
    this.#options = options;
  }

  /** Polls what is due. True if any mark has passed. */
  look(nowUs: number): boolean {
    let any = false;
    let looked = false;
    for (let passed = true; passed; ) {
      passed = false;
      for (let i = 0; i < this.#lines.length; i++) {
        const line = this.#lines[(this.#turn + i) % this.#lines.length];
        const mark = line?.marks.first;
        if (!line || !mark || !this.#due(line, mark, nowUs)) continue;
        looked = true;
        if (this.#try(line, mark, nowUs)) passed = true;
      }
      this.#turn = (this.#turn + 1) % Math.max(1, this.#lines.length);
      any ||= passed;
    }
    if (any) this.#idleRounds = 0;
    else if (looked) this.#idleRound(nowUs);
    return any;
  }

  /** Returns how long nothing has to be polled, in microseconds. */
  rest(nowUs: number): number {
    let rest = Number.POSITIVE_INFINITY;
    for (const line of this.#driver.tells ? [] : this.#lines) {
      const mark = line.marks.first;
      if (mark) rest = Math.min(rest, mark.sinceUs === undefined ? 0 : mark.lookUs - nowUs);
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
      marks.first.sinceUs ??= marks.first.issuedUs;
      marks.first.lookUs = began;
    }
    return true;
  }

  #due(line: WorkerLine, mark: MarkInFlight, nowUs: number): boolean {
    if (this.#driver.tells) {
      mark.sinceUs ??= nowUs;
      return true;
    }
    if (mark.sinceUs !== undefined) return mark.lookUs <= nowUs + SLACK_US;
    // The first check of a mark that has just become the oldest. If another passed before it, it may have passed too.
    mark.sinceUs = nowUs;
    mark.busy = this.#busy;
    if (mark.issuedUs < line.settledUs || mark.mark === undefined) return true;
    const expected = this.#expectedOf(mark);
    mark.lookUs = nowUs + restUs(0, expected, 0);
    mark.lateUs = nowUs + (expected ?? 0) + backOffUs(0);
    return mark.lookUs <= nowUs + SLACK_US;
  }

  /** True if the mark has passed. */
  #try(line: WorkerLine, mark: MarkInFlight, nowUs: number): boolean {
    const result = this.#result(mark, nowUs);
    const elapsed = nowUs - (mark.sinceUs ?? nowUs);
    const expected = this.#expectedOf(mark);
    if (result) {
      const whole = mark.failure === undefined && !mark.cut && result.kind === 'passed' && result.complete;
      if (whole && elapsed > 0 && !mark.isHurried) this.#learn(mark, elapsed);
      this.#settle(line, mark, result, nowUs);
      return true;
    }
    if (elapsed > 0) mark.looks++;
    else mark.lateUs = nowUs + (expected ?? 0) + backOffUs(0);
    const rest = restUs(elapsed, expected, mark.looks);
    mark.lookUs = nowUs + (mark.isEased ? Math.min(rest, easedUs(elapsed, expected)) : rest);
    return false;
  }

  #expectedOf({ work, isHurried, busy }: MarkInFlight): number | undefined {
    return isHurried ? undefined : (this.#expected.of(besides(work, busy)) ?? this.#expected.of(work));
  }

  /** The number of lines with work in flight: they share the device, and the work of each takes longer. */
  get #busy(): number {
    let busy = 0;
    for (const { marks } of this.#lines) if (marks.first) busy++;
    return busy;
  }

  /**
   * Called when a line becomes idle: the work of the others may end sooner than while they shared the device with it.
   * (Two streams took turns at copies, 1.2 ms for each; the last had the bus for itself and was polled 0.7 ms too
   * late.)
   */
  #ease(nowUs: number): void {
    for (const { marks } of this.#driver.tells ? [] : this.#lines) {
      const { first } = marks;
      if (first?.sinceUs === undefined || first.isEased) continue;
      first.isEased = true;
      first.lookUs = Math.min(first.lookUs, nowUs + easedUs(nowUs - first.sinceUs, this.#expectedOf(first)));
    }
  }

  /** Work that had ended at the first poll may have ended long before; how long the worker overslept says nothing. */
  #learn({ work, busy, isEased, looks, sinceUs = 0, lookUs }: MarkInFlight, elapsedUs: number): void {
    // Work that was polled early, as an exception, shows that it may take less, not that it does from now on.
    const early = looks === 0 && !isEased;
    const us = early ? Math.min(elapsedUs, lookUs - sinceUs) : elapsedUs;
    for (const kind of [work, besides(work, busy)]) this.#expected.learn(kind, us, early);
    this.#lastKernelUs = elapsedUs;
  }

  #result(mark: MarkInFlight, nowUs: number): MarkResult | undefined {
    const { mark: own, failure } = mark;
    if (own === undefined) {
      if (!failure) throw new TypeError('the driver gave no mark');
      return { kind: 'failed', error: failure };
    }
    if (!this.#driver.signalled || this.#options.completion !== 'callback') return this.#poll(own);
    if (this.#driver.signalled(own)) return mark.found?.result ?? this.#poll(own);
    if (mark.found) {
      if (nowUs - mark.found.atUs < GRACE_US) return undefined;
      this.lostCallbacks++;
      return mark.found.result;
    }
    if (nowUs < mark.lateUs) return undefined;
    const result = this.#poll(own);
    if (result) mark.found = { result, atUs: nowUs };
    else mark.lateUs = nowUs + backOffUs(this.#late++);
    return undefined;
  }

  #poll(mark: unknown): MarkResult | undefined {
    this.polls++;
    return this.#driver.poll(mark);
  }

  #settle(line: WorkerLine, mark: MarkInFlight, result: MarkResult, nowUs: number): void {
    this.#late = 0;
    line.settle(nowUs);
    if (!line.marks.first) this.#ease(nowUs);
    const { carried } = line;
    const failed = mark.failure ? ({ kind: 'failed', error: mark.failure } as const) : result;
    const bad = carried.failed ?? (failed.kind === 'passed' ? undefined : failed);
    const times: Passed = result.kind === 'passed' ? result : { startedNs: 0n, endedNs: 0n, complete: true };
    const startedNs = carried.startedNs ?? times.startedNs;
    const complete = carried.complete && times.complete && !mark.cut;
    const detail = joined(carried.detail, times.detail);
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
      const report = { startedNs, endedNs, complete, ...(detail && { detail: this.#told(detail) }) };
      this.#ends.passed(line.number, mark.number, report);
    }
  }

  /** Blocking waits are reported with the first mark that passes after them. */
  #told(detail: MarkDetail): ReportDetail {
    const blockingWaits = this.blockingWaits - this.#toldWaits;
    const blockedNs = this.blockedNs - this.#toldNs;
    this.#toldWaits = this.blockingWaits;
    this.#toldNs = this.blockedNs;
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
    if (this.#idleRounds <= idleLimit(longest, stepUs(longest), busy)) return;
    if (nowUs - this.#idleSinceUs < idleUs(longest, busy)) return;
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

type Passed = Omit<Extract<MarkResult, { kind: 'passed' }>, 'kind'>;

/** Joins the details of a group that the worker's own marks have split. */
function joined(first: MarkDetail | undefined, last: MarkDetail | undefined): MarkDetail | undefined {
  if (!first || !last) return first ?? last;
  const [from, to] = [first.launches ?? last.launches, last.launches ?? first.launches];
  return { sentNs: first.sentNs, launches: from && to && { startedNs: from.startedNs, endedNs: to.endedNs } };
}
