import { Intervals } from '../../engine/work/intervals.js';
import { between, MAX_INDICES, type Range } from '../../engine/work/space.js';
import { beatMs } from '../lease/index.js';
import type { JobRun, WorkerEffect, WorkerEvent } from './events.js';
import { HeldLease } from './held-lease.js';
import type {
  BeatMessage,
  CoordinatorMessage,
  FoundHit,
  GrantMessage,
  JobId,
  JobRate,
  JobState,
  ResultMessage,
  WorkerId,
  WorkerMessage,
} from './messages.js';
import { RateMeter } from './rate-meter.js';

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
  readonly #leases = new Map<string, HeldLease>();
  /** A job runs once for each weaker condition that its leases ask for. */
  readonly #runs = new Map<string, WorkerRun>();
  /** Results that are not committed, the longest unsent first. */
  readonly #outbox = new Map<number, OutboxEntry>();
  #effects: WorkerEffect[] = [];
  #now = 0;
  #term = 0;
  #beatMs = beatMs(1);
  #beatAt = 0;
  #request = 0;
  /** When the request was sent; undefined if it is answered. */
  #askedAt: number | undefined;
  #askAgainAt = 0;
  /** Whether the last request was answered with a lease. */
  #wasGranted = false;
  /** When what is left of the leases last changed. */
  #progressAt = 0;
  #results = 0;
  #contribution: Contribution = { ranges: 0, indices: 0n, hits: 0 };
  #phase: 'working' | 'draining' | 'leaving' | 'left' = 'working';
  #leaveReason = '';

  constructor({ id, only, spread }: WorkerOptions) {
    this.#id = id;
    this.#only = only;
    this.#spread = spread;
  }

  get leases(): number {
    return this.#leases.size;
  }

  /** Results that are not committed. */
  get unconfirmed(): number {
    return this.#outbox.size;
  }

  /** What was done and is confirmed. */
  get contribution(): Contribution {
    return this.#contribution;
  }

  /** True if devices should be busy: they have work, or wait for more because the last lease was too short. */
  get wantsDevices(): boolean {
    if (this.#askedAt !== undefined && this.#wasGranted) return true;
    for (const { claim, left } of this.#leases.values()) {
      const run = this.#runs.get(runKey(claim));
      if (run?.isOpen && !run.isPaused && !left.isEmpty) return true;
    }
    return false;
  }

  /** When the next `tick` is due. */
  get nextTick(): number {
    let next = this.#phase === 'left' ? Infinity : this.#beatAt;
    if (this.#askedAt !== undefined) next = Math.min(next, this.#askedAt + this.#resendMs);
    else if (this.#phase === 'working') next = Math.min(next, this.#askAt());
    for (const lease of this.#leases.values()) next = Math.min(next, lease.reportAt(this.#beatMs));
    const [oldest] = this.#outbox.values();
    return oldest ? Math.min(next, oldest.sentAt + this.#resendMs) : next;
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
        this.#failed(event.job, event.reason);
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
      this.#askAgainAt = Math.min(this.#askAgainAt, this.#soon());
    }
    switch (message.kind) {
      case 'grant':
        this.#granted(message);
        break;
      case 'none':
        if (!this.#isAnswer(message.request)) return;
        this.#wasGranted = false;
        this.#beatMs = message.beatMs;
        this.#askAgainAt = this.#now + message.retryMs * (0.5 + this.#spread);
        return;
      case 'state':
        this.#beatMs = message.beatMs;
        if (message.isDraining && this.#phase === 'working') this.#phase = 'draining';
        for (const state of message.jobs) this.#setState(state);
        for (const id of message.lost) this.#drop(this.#leases.get(id), Intervals.of([EVERYTHING]));
        return;
      case 'drop':
        for (const lease of this.#leasesOf(message.job)) this.#drop(lease, Intervals.of([message.range]));
        return;
      case 'job':
        if (message.state.state === 'running') this.#askAgainAt = Math.min(this.#askAgainAt, this.#soon());
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

  #isAnswer(request: number): boolean {
    if (this.#askedAt === undefined || request !== this.#request) return false;
    this.#askedAt = undefined;
    return true;
  }

  #granted({ request, claim, token, ms, beatMs: beat }: GrantMessage): void {
    if (!this.#isAnswer(request)) return;
    this.#wasGranted = true;
    this.#beatMs = beat;
    if (this.#phase === 'leaving') return;
    const fresh = this.#unheld(claim, Intervals.of([claim.range]));
    this.#leases.set(claim.id, new HeldLease(claim, token, ms, this.#now));
    const run = this.#runs.get(runKey(claim));
    if (run === undefined) {
      const { job, bits } = claim;
      const isPaused = this.#runsOf(job).some((other) => other.isPaused);
      this.#runs.set(runKey(claim), { job, bits, isOpen: false, isPaused, meter: new RateMeter() });
      this.#effects.push({ kind: 'open', job, ...(bits !== undefined && { bits }) });
    } else if (run.isOpen) this.#feed(run, fresh);
  }

  #opened(opened: JobRun): void {
    const run = this.#runs.get(runKey(opened));
    if (run === undefined || run.isOpen) return;
    run.isOpen = true;
    let left = Intervals.none;
    for (const lease of this.#leasesIn(opened)) for (const range of lease.left) left = left.add(range);
    if (run.isPaused) this.#effects.push({ kind: 'pause', job: run.job, isPaused: true });
    this.#feed(run, left);
  }

  #feed(run: WorkerRun, ranges: Intervals): void {
    this.#progressAt = this.#now;
    if (!run.isPaused) run.meter.start(this.#now);
    for (const range of ranges) this.#effects.push({ kind: 'feed', ...runOf(run), range });
  }

  #failed(id: JobId, reason: string): void {
    for (const lease of this.#leasesOf(id)) this.#remove(lease);
    if (!this.#closeRuns(id)) return;
    this.#send({ kind: 'refuse', worker: this.#id, job: id, reason });
  }

  #done(of: JobRun, range: Range, hits: readonly FoundHit[], witnesses: readonly FoundHit[] = []): void {
    this.#progressAt = this.#now;
    const meter = this.#runs.get(runKey(of))?.meter;
    meter?.add(range.length, this.#now);
    const leases = this.#leasesIn(of);
    for (const lease of leases) lease.finish(range, hits, witnesses);
    if (leases.every(({ left }) => left.isEmpty)) meter?.stop(this.#now);
  }

  #setState({ job: id, state, end }: JobState): void {
    if (state === 'ended') {
      for (const lease of this.#leasesOf(id)) this.#remove(lease);
      this.#closeRuns(id);
      return;
    }
    if (end < MAX_INDICES) {
      const beyond = Intervals.of([between(end, MAX_INDICES)]);
      for (const lease of this.#leasesOf(id)) this.#drop(lease, beyond);
    }
    const isPaused = state === 'paused';
    const changed = this.#runsOf(id).filter((run) => run.isPaused !== isPaused);
    for (const run of changed) {
      run.isPaused = isPaused;
      if (isPaused) run.meter.stop(this.#now);
      else run.meter.start(this.#now);
    }
    if (changed.length > 0) this.#effects.push({ kind: 'pause', job: id, isPaused });
  }

  #closeRuns(id: JobId): boolean {
    const runs = this.#runsOf(id);
    for (const run of runs) this.#runs.delete(runKey(run));
    if (runs.length > 0) this.#effects.push({ kind: 'close', job: id });
    return runs.length > 0;
  }

  #committed(numbers: readonly number[], refused: readonly { readonly number: number }[]): void {
    for (const number of numbers) {
      this.#count(this.#outbox.get(number));
      this.#confirm(number);
    }
    for (const { number } of refused) {
      const lease = this.#confirm(number);
      if (lease === undefined) continue;
      this.#drop(lease, Intervals.of([EVERYTHING]));
      this.#remove(lease);
    }
  }

  #count(entry: OutboxEntry | undefined): void {
    if (entry === undefined) return;
    const { ranges, hits } = entry.result;
    const { ranges: before, indices, hits: found } = this.#contribution;
    this.#contribution = {
      ranges: before + ranges.length,
      indices: ranges.reduce((sum, { length }) => sum + length, indices),
      hits: found + hits.length,
    };
  }

  #confirm(number: number): HeldLease | undefined {
    const entry = this.#outbox.get(number);
    if (entry === undefined) return undefined;
    this.#outbox.delete(number);
    const lease = this.#leases.get(entry.result.claim.id);
    if (lease) lease.unconfirmed--;
    return lease;
  }

  /** Stops work on ranges of a lease. What is done of it is reported. */
  #drop(lease: HeldLease | undefined, ranges: Intervals): void {
    if (lease === undefined) return;
    const dropped = lease.drop(ranges);
    if (dropped.isEmpty) return;
    for (const range of this.#unheld(lease.claim, dropped))
      this.#effects.push({ kind: 'drop', ...runOf(lease.claim), range });
  }

  /** Returns what no lease of the run has to do. */
  #unheld(run: JobRun, ranges: Intervals): Intervals {
    let free = ranges;
    for (const lease of this.#leasesIn(run)) for (const range of lease.left) free = free.remove(range);
    return free;
  }

  #leave(reason: string): void {
    if (this.#phase === 'leaving' || this.#phase === 'left') return;
    this.#phase = 'leaving';
    this.#leaveReason = reason;
    for (const lease of [...this.#leases.values()]) this.#drop(lease, Intervals.of([EVERYTHING]));
  }

  /** Sends whatever is due. */
  #act(): void {
    for (const lease of [...this.#leases.values()]) {
      if (lease.reportAt(this.#beatMs) <= this.#now) this.#report(lease);
      if (lease.isOver) this.#remove(lease);
    }
    for (const [number, entry] of this.#outbox) {
      if (entry.sentAt + this.#resendMs > this.#now) break;
      this.#outbox.delete(number);
      this.#publish(entry.result);
    }
    if (this.#askedAt !== undefined && this.#askedAt + this.#resendMs <= this.#now) this.#ask();
    else if (this.#askedAt === undefined && this.#phase === 'working' && this.#askAt() <= this.#now) {
      this.#request++;
      this.#ask();
    }
    if (this.#beatAt <= this.#now) this.#beat();
    const isIdle = this.#leases.size === 0 && this.#outbox.size === 0;
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
      const number = ++this.#results;
      const near = claim.bits === undefined ? {} : { witnesses };
      this.#publish({ kind: 'result', worker: this.#id, number, claim, token, ranges, hits, ...near });
    }
  }

  #publish(result: ResultMessage): void {
    this.#outbox.set(result.number, { result, sentAt: this.#now });
    this.#effects.push({ kind: 'publish', result });
  }

  #ask(): void {
    this.#askedAt = this.#now;
    const only = this.#only && { only: this.#only };
    this.#send({ kind: 'want', worker: this.#id, request: this.#request, rates: this.#rates(), ...only });
  }

  /** When the next lease should be asked for, if no event changes that. */
  #askAt(): number {
    if (this.#outbox.size >= MAX_OUTBOX) return Infinity;
    let left = 0;
    let live = 0;
    let planned = 0;
    for (const lease of this.#leases.values()) {
      if (lease.left.isEmpty) continue;
      const run = this.#runs.get(runKey(lease.claim));
      // A paused job has no claim on the devices: they can work for another one.
      if (run === undefined || run.isPaused) continue;
      const perMs = run.meter.perMs ?? this.#rateOf(run.job);
      if (perMs === undefined || ++live >= MAX_LEASES) return Infinity;
      left += Number(lease.left.total) / perMs;
      planned = Math.max(planned, lease.ms);
    }
    const reserve = Math.min(MAX_RESERVE_MS, Math.max(MIN_RESERVE_MS, RESERVE * planned));
    return Math.max(this.#askAgainAt, this.#progressAt + left - reserve);
  }

  #beat(): void {
    this.#beatAt = this.#now + this.#beatMs;
    for (const run of this.#runs.values())
      if (!run.isPaused && this.#leasesIn(run).some(({ left }) => !left.isEmpty))
        run.meter.check(this.#now, this.#beatMs);
    const leases = [...this.#leases.values()].map((lease) => lease.report);
    const answered = this.#askedAt === undefined ? this.#request : this.#request - 1;
    const beat: BeatMessage = { kind: 'beat', worker: this.#id, answered, rates: this.#rates(), leases };
    this.#send(beat);
  }

  #rates(): JobRate[] {
    return [...new Set([...this.#runs.values()].map(({ job }) => job))].flatMap((job) => {
      const perMs = this.#rateOf(job);
      return perMs === undefined ? [] : [{ job, perMs }];
    });
  }

  /** Runs of a job with and without witnesses are about as fast; one that rests has an old figure. */
  #rateOf(job: JobId): number | undefined {
    const known = this.#runsOf(job).flatMap(({ meter }) => meter.perMs ?? []);
    return known.length === 0 ? undefined : Math.max(...known);
  }

  #runsOf(job: JobId): WorkerRun[] {
    return [...this.#runs.values()].filter((run) => run.job === job);
  }

  #leasesOf(job: JobId): HeldLease[] {
    return [...this.#leases.values()].filter(({ claim }) => claim.job === job);
  }

  #leasesIn({ job, bits }: JobRun): HeldLease[] {
    return this.#leasesOf(job).filter(({ claim }) => claim.bits === bits);
  }

  #remove(lease: HeldLease): void {
    this.#leases.delete(lease.claim.id);
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

interface WorkerRun extends JobRun {
  isOpen: boolean;
  isPaused: boolean;
  readonly meter: RateMeter;
}

const runKey = ({ job, bits }: JobRun): string => (bits === undefined ? job : `${job} ${bits}`);

const runOf = ({ job, bits }: JobRun): JobRun => ({ job, ...(bits !== undefined && { bits }) });

/** What a worker has done: ranges and their indices, and hits in them. */
export interface Contribution {
  readonly ranges: number;
  readonly indices: bigint;
  readonly hits: number;
}

interface OutboxEntry {
  readonly result: ResultMessage;
  readonly sentAt: number;
}

const EVERYTHING: Range = { start: 0n, length: MAX_INDICES };
/** The next lease is asked for when this share of the last one is left, within bounds. */
const RESERVE = 0.3;
const MIN_RESERVE_MS = 1_000;
const MAX_RESERVE_MS = 60_000;
const MAX_LEASES = 4;
/** While this many results wait for their commit, no lease is asked for. */
const MAX_OUTBOX = 64;
const RESEND_MS = 1_500;
const SPREAD_MS = 50;
