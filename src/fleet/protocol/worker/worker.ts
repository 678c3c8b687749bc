import { Intervals } from '../../../engine/work/intervals.js';
import { between, MAX_INDICES, type Range } from '../../../engine/work/space.js';
import { beatMs } from '../../lease/index.js';
import type { JobRun, WorkerEffect, WorkerEvent } from '../events.js';
import type {
  BeatMessage,
  CoordinatorMessage,
  FoundHit,
  GrantMessage,
  JobId,
  JobState,
  ResultMessage,
  WorkerId,
  WorkerMessage,
} from '../messages.js';
import { HeldLease } from './held-lease.js';
import { HeldWork, runOf, type WorkerRun } from './held-work.js';
import { LeaseRequests } from './lease-requests.js';
import { type Contribution, Outbox } from './outbox.js';

/**
 * A worker's decisions: when to ask for a lease, what its devices do, what it reports. Like `Coordinator` it takes events
 * with the time, on its own clock, and returns effects. It asks before its work ends, so that devices never wait for
 * the network, and keeps each result until it is committed.
 */
export class Worker {
  readonly #id: WorkerId;
  readonly #only: readonly string[] | undefined;
  /** From 0 to 1: spreads what all workers would do at the same moment. */
  readonly #spread: number;
  readonly #work = new HeldWork();
  readonly #outbox = new Outbox();
  readonly #requests = new LeaseRequests();
  #effects: WorkerEffect[] = [];
  #now = 0;
  #term = 0;
  #beatMs = beatMs(1);
  #beatAt = 0;
  /** When what is left of the leases last changed. */
  #progressAt = 0;
  #phase: 'working' | 'draining' | 'leaving' | 'left' = 'working';
  #leaveReason = '';

  constructor({ id, only, spread }: WorkerOptions) {
    this.#id = id;
    this.#only = only;
    this.#spread = spread;
  }

  /** Results that are not committed. */
  get unconfirmed(): number {
    return this.#outbox.size;
  }

  /** What was done and is confirmed. */
  get contribution(): Contribution {
    return this.#outbox.contribution;
  }

  /** True if devices should be busy: they have work, or wait for more because the last lease was too short. */
  get wantsDevices(): boolean {
    return this.#requests.isAwaited || this.#work.isUnderWay;
  }

  /** When the next `tick` is due. */
  get nextTick(): number {
    let next = this.#phase === 'left' ? Infinity : this.#beatAt;
    const { askedAt } = this.#requests;
    if (askedAt !== undefined) next = Math.min(next, askedAt + this.#resendMs);
    else if (this.#phase === 'working') next = Math.min(next, this.#askAt());
    for (const lease of this.#work.leases.values()) next = Math.min(next, lease.reportAt(this.#beatMs));
    const { oldestAt } = this.#outbox;
    return oldestAt === undefined ? next : Math.min(next, oldestAt + this.#resendMs);
  }

  handle(event: WorkerEvent, now: number): WorkerEffect[] {
    this.#now = Math.max(this.#now, now);
    this.#effects = [];
    this.#dispatch(event);
    if (this.#phase !== 'left') this.#act();
    return this.#effects;
  }

  #dispatch(event: WorkerEvent): void {
    switch (event.kind) {
      case 'tick':
        return;
      case 'message':
        this.#receive(event.message);
        break;
      case 'opened':
        this.#opened(event);
        break;
      case 'failed':
        if (this.#closeJob(event.job))
          this.#send({ kind: 'refuse', worker: this.#id, job: event.job, reason: event.reason });
        break;
      case 'done':
        this.#done(event, event.range, event.hits, event.witnesses);
        break;
      case 'drain':
        if (this.#phase === 'working') this.#phase = 'draining';
        return;
      case 'leave':
        this.#leave(event.reason);
        break;
      default:
        event satisfies never;
        break;
    }
  }

  #receive(message: CoordinatorMessage): void {
    // What is committed stays committed. All else is void if it is from a coordinator that was replaced.
    if (message.kind === 'committed') this.#committed(message.numbers, message.refused);
    if (message.kind === 'committed' || message.term < this.#term) return;
    if (message.term > this.#term) {
      this.#term = message.term;
      this.#beatAt = Math.min(this.#beatAt, this.#soon());
      this.#requests.retryBy(this.#soon());
    }
    switch (message.kind) {
      case 'grant':
        this.#granted(message);
        break;
      case 'none':
        if (!this.#requests.answer(message.request, false)) return;
        this.#beatMs = message.beatMs;
        this.#requests.retryAt(this.#now + message.retryMs * (0.5 + this.#spread));
        return;
      case 'state':
        this.#beatMs = message.beatMs;
        if (message.isDraining && this.#phase === 'working') this.#phase = 'draining';
        for (const state of message.jobs) this.#setState(state);
        for (const id of message.lost) this.#drop(this.#work.leases.get(id), Intervals.of([EVERYTHING]));
        return;
      case 'drop':
        for (const lease of this.#work.leasesOf(message.job)) this.#drop(lease, Intervals.of([message.range]));
        return;
      case 'job':
        if (message.state.state === 'running') this.#requests.retryBy(this.#soon());
        this.#setState(message.state);
        break;
      case 'announce':
        this.#beatAt = Math.min(this.#beatAt, this.#soon());
        return;
      default:
        message satisfies never;
        break;
    }
  }

  #granted({ request, claim, token, ms, beatMs: beat }: GrantMessage): void {
    if (!this.#requests.answer(request, true)) return;
    this.#beatMs = beat;
    if (this.#phase === 'leaving') return;
    const fresh = this.#work.unheld(claim, Intervals.of([claim.range]));
    this.#work.add(new HeldLease(claim, token, ms, this.#now));
    const run = this.#work.run(claim);
    if (run === undefined) {
      this.#work.addRun(claim);
      this.#effects.push({ kind: 'open', ...runOf(claim) });
    } else if (run.isOpen) this.#feed(run, fresh);
  }

  #opened(opened: JobRun): void {
    const run = this.#work.run(opened);
    if (run === undefined || run.isOpen) return;
    run.isOpen = true;
    let left = Intervals.none;
    for (const lease of this.#work.leasesIn(opened)) for (const range of lease.left) left = left.add(range);
    if (run.isPaused) this.#effects.push({ kind: 'pause', job: run.job, isPaused: true });
    this.#feed(run, left);
  }

  #feed(run: WorkerRun, ranges: Intervals): void {
    this.#progressAt = this.#now;
    if (!run.isPaused) run.meter.start(this.#now);
    for (const range of ranges) this.#effects.push({ kind: 'feed', ...runOf(run), range });
  }

  #done(of: JobRun, range: Range, hits: readonly FoundHit[], witnesses: readonly FoundHit[] = []): void {
    this.#progressAt = this.#now;
    const meter = this.#work.run(of)?.meter;
    meter?.add(range.length, this.#now);
    const leases = this.#work.leasesIn(of);
    for (const lease of leases) lease.finish(range, hits, witnesses);
    if (leases.every(({ left }) => left.isEmpty)) meter?.stop(this.#now);
  }

  #setState({ job: id, state, end }: JobState): void {
    if (state === 'ended') {
      this.#closeJob(id);
      return;
    }
    if (end < MAX_INDICES) {
      const beyond = Intervals.of([between(end, MAX_INDICES)]);
      for (const lease of this.#work.leasesOf(id)) this.#drop(lease, beyond);
    }
    const isPaused = state === 'paused';
    const changed = this.#work.runsOf(id).filter((run) => run.isPaused !== isPaused);
    for (const run of changed) {
      run.isPaused = isPaused;
      if (isPaused) run.meter.stop(this.#now);
      else run.meter.start(this.#now);
    }
    if (changed.length > 0) this.#effects.push({ kind: 'pause', job: id, isPaused });
  }

  /** Removes all of a job. Returns whether it was open. */
  #closeJob(job: JobId): boolean {
    const wasOpen = this.#work.removeJob(job);
    if (wasOpen) this.#effects.push({ kind: 'close', job });
    return wasOpen;
  }

  #committed(numbers: readonly number[], refused: readonly { readonly number: number }[]): void {
    for (const number of numbers) this.#confirm(this.#outbox.commit(number));
    for (const { number } of refused) {
      const lease = this.#confirm(this.#outbox.remove(number));
      if (lease === undefined) continue;
      this.#drop(lease, Intervals.of([EVERYTHING]));
      this.#work.remove(lease);
    }
  }

  #confirm(result: ResultMessage | undefined): HeldLease | undefined {
    const lease = result && this.#work.leases.get(result.claim.id);
    if (lease) lease.unconfirmed--;
    return lease;
  }

  /** Stops work on ranges of a lease. What is done of it is reported. */
  #drop(lease: HeldLease | undefined, ranges: Intervals): void {
    if (lease === undefined) return;
    const dropped = lease.drop(ranges);
    if (dropped.isEmpty) return;
    for (const range of this.#work.unheld(lease.claim, dropped))
      this.#effects.push({ kind: 'drop', ...runOf(lease.claim), range });
  }

  #leave(reason: string): void {
    if (this.#phase === 'leaving' || this.#phase === 'left') return;
    this.#phase = 'leaving';
    this.#leaveReason = reason;
    for (const lease of [...this.#work.leases.values()]) this.#drop(lease, Intervals.of([EVERYTHING]));
  }

  /** Sends whatever is due. */
  #act(): void {
    for (const lease of [...this.#work.leases.values()]) {
      if (lease.reportAt(this.#beatMs) <= this.#now) this.#report(lease);
      if (lease.isOver) this.#work.remove(lease);
    }
    for (const result of this.#outbox.due(this.#now, this.#resendMs)) this.#publish(result);
    const { askedAt } = this.#requests;
    if (askedAt !== undefined && askedAt + this.#resendMs <= this.#now) this.#ask();
    else if (askedAt === undefined && this.#phase === 'working' && this.#askAt() <= this.#now) this.#ask();
    if (this.#beatAt <= this.#now) this.#beat();
    const isIdle = this.#work.leases.size === 0 && this.#outbox.size === 0;
    if (isIdle && (this.#phase === 'leaving' || this.#phase === 'draining')) {
      this.#send({ kind: 'leave', worker: this.#id, reason: this.#leaveReason || 'drained' });
      this.#phase = 'left';
      this.#effects.push({ kind: 'left' });
    }
  }

  #report(lease: HeldLease): void {
    for (const { ranges, hits, witnesses } of lease.takeReports(this.#now)) {
      const { claim, token } = lease;
      lease.unconfirmed++;
      const number = this.#outbox.nextNumber();
      const near = claim.bits === undefined ? {} : { witnesses };
      this.#publish({ kind: 'result', worker: this.#id, number, claim, token, ranges, hits, ...near });
    }
  }

  #publish(result: ResultMessage): void {
    this.#outbox.add(result, this.#now);
    this.#effects.push({ kind: 'publish', result });
  }

  #ask(): void {
    this.#requests.send(this.#now);
    const { number: request } = this.#requests;
    const only = this.#only && { only: this.#only };
    this.#send({ kind: 'want', worker: this.#id, request, rates: this.#work.rates(), ...only });
  }

  #askAt(): number {
    return this.#outbox.isFull ? Infinity : this.#requests.nextAt(this.#work, this.#progressAt);
  }

  #beat(): void {
    this.#beatAt = this.#now + this.#beatMs;
    this.#work.checkRates(this.#now, this.#beatMs);
    const leases = [...this.#work.leases.values()].map((lease) => lease.report);
    const { answered } = this.#requests;
    const beat: BeatMessage = { kind: 'beat', worker: this.#id, answered, rates: this.#work.rates(), leases };
    this.#send(beat);
  }

  #send(message: WorkerMessage): void {
    this.#effects.push({ kind: 'send', message });
  }

  /** At once in a small fleet, spread over the interval of heartbeats in a large one. */
  #soon(): number {
    return this.#now + this.#spread * (this.#beatMs - beatMs(1) + SPREAD_MS);
  }

  get #resendMs(): number {
    return Math.max(RESEND_MS, this.#beatMs);
  }
}

export interface WorkerOptions {
  readonly id: WorkerId;
  readonly only?: readonly string[];
  /** From 0 to 1, different for each worker. */
  readonly spread: number;
}

const EVERYTHING: Range = { start: 0n, length: MAX_INDICES };
const RESEND_MS = 1_500;
const SPREAD_MS = 50;
