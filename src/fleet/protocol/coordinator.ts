import type { SearchMode } from '../../engine/makers/reorder-buffer.js';
import { Intervals } from '../../engine/work/intervals.js';
import { endOf, minBigint } from '../../engine/work/space.js';
import { LeaseTable } from '../lease/index.js';
import type { PlainValue } from '../manifest/index.js';
import { type Identity, JobTrust, type Piece, type Standing, Standings, type StoredChanges } from '../trust/index.js';
import { CommitQueue } from './commit-queue.js';
import { closeJob, credit, newWork } from './contribution.js';
import type {
  AddedJob,
  CoordinatorCounts,
  CoordinatorEffect,
  CoordinatorEvent,
  CoordinatorOptions,
  DepartedWorker,
  JobOutcome,
  JobView,
  JobWork,
  LeaseTokens,
  StateChange,
  WorkerView,
} from './events.js';
import { type GrantableJob, Grants, UNKNOWN_MS } from './grants.js';
import type {
  BeatMessage,
  Broadcast,
  CoordinatorMessage,
  DeviceReport,
  FoundHit,
  JobId,
  JobRate,
  JobState,
  LeaseClaim,
  ResultMessage,
  RunState,
  WantMessage,
  WorkerId,
  WorkerMessage,
} from './messages.js';
import { Roster, type WorkerJob, type WorkerRecord } from './roster.js';
import { PAUSED, PRIORITY, WORKERS } from './state-keys.js';

/**
 * The coordinator's decisions: which worker gets which range, which results count, when a job ends. It does nothing itself:
 * it takes events with the time and returns effects, so that tests can run it on a simulated network. What it knows of
 * workers may be lost at any time; what counts is in the ledger.
 */
export class Coordinator {
  readonly #term: number;
  readonly #tokens: LeaseTokens;
  readonly #jobs = new Map<JobId, JobRecord>();
  readonly #roster = new Roster();
  /** Results whose hits are being verified, by their first receipt. */
  readonly #verifying = new Map<number, Verification>();
  readonly #commits = new CommitQueue();
  readonly #standings: Standings;
  readonly #random: () => number;
  readonly #identityOf: (worker: WorkerId) => Identity;
  readonly #isOwn: (worker: WorkerId) => boolean;
  readonly #grants: Grants;
  readonly #counts = { results: 0, commits: 0, hits: 0, refusedResults: 0 };
  /** What is to be stored with the next commit, besides trust. */
  #changes: StateChange[] = [];
  #commitMs: number | undefined;
  #revision = 0;
  #effects: CoordinatorEffect[] = [];
  #now: number;
  /** Until then no leases: workers still announce what they hold. */
  readonly #adoptUntil: number;

  constructor({ term, tokens, now, adoptMs = 0, trust, state }: CoordinatorOptions) {
    this.#term = term;
    this.#tokens = tokens;
    this.#identityOf = (worker) => trust?.identityOf?.(worker) ?? worker;
    const isOwn = (who: Identity): boolean => trust?.isOwn(who) ?? true;
    this.#isOwn = (worker) => isOwn(this.#identityOf(worker));
    this.#random = () => trust?.random() ?? 0;
    this.#standings = new Standings(isOwn, state);
    const trusting = { identityOf: this.#identityOf, isOwn: this.#isOwn };
    this.#grants = new Grants(term, tokens, this.#roster, this.#jobs, trusting);
    this.#now = now;
    this.#adoptUntil = now + adoptMs;
  }

  /** When the next `tick` is due. Undefined if no worker is known. */
  get nextTick(): number | undefined {
    return this.#roster.nextLapse;
  }

  get workers(): ReadonlyMap<WorkerId, WorkerView> {
    return this.#roster.all;
  }

  get jobs(): ReadonlyMap<JobId, JobView> {
    return this.#jobs;
  }

  /** Workers that have left in the last minute. */
  departed(now: number): Iterable<DepartedWorker> {
    return this.#roster.departed(now);
  }

  /** The interval of heartbeats. */
  get beatMs(): number {
    return this.#roster.beatMs;
  }

  /** Changes with everything that a view shows, except for the time of the last message. */
  get revision(): number {
    return this.#revision;
  }

  get counts(): CoordinatorCounts {
    const times = [...this.#verifying.values()].map(({ arrivedAt }) => arrivedAt);
    if (this.#commits.oldestAt !== undefined) times.push(this.#commits.oldestAt);
    return {
      ...this.#counts,
      leases: this.#grants.count,
      waitingResults: this.#verifying.size + this.#commits.size,
      oldestAt: times.length === 0 ? undefined : times.reduce((least, at) => Math.min(least, at)),
      commitMs: this.#commitMs,
    };
  }

  /** How far a worker is believed, and how often it has agreed with others. */
  standingOf(worker: WorkerId): { readonly standing: Standing; readonly agreements: number } {
    const who = this.#identityOf(worker);
    return { standing: this.#standings.of(who), agreements: this.#standings.conduct(who).agreements };
  }

  handle(event: CoordinatorEvent, now: number): CoordinatorEffect[] {
    this.#now = Math.max(this.#now, now);
    this.#effects = [];
    if (event.kind !== 'message' && event.kind !== 'tick') this.#revision++;
    this.#dispatch(event);
    return this.#effects;
  }

  #dispatch(event: CoordinatorEvent): void {
    switch (event.kind) {
      case 'start':
        this.#broadcast({ kind: 'announce', term: this.#term });
        break;
      case 'add':
        this.#add(event.job);
        break;
      case 'message':
        this.#receive(event.message);
        break;
      case 'result':
        this.#takeResult(event.receipt, event.result);
        break;
      case 'verified':
        this.#verified(event.receipt, event.wrong, event.isDisputed);
        break;
      case 'committed':
        this.#committed();
        break;
      case 'control':
        this.#control(event.job, event.state);
        break;
      case 'priority': {
        const job = this.#jobs.get(event.job);
        if (job === undefined) return;
        job.priority = event.priority;
        this.#store(job, PRIORITY, event.priority);
        break;
      }
      case 'drain': {
        const worker = this.#roster.all.get(event.worker);
        if (worker) worker.isDraining = true;
        break;
      }
      case 'bar':
        this.#bar(this.#identityOf(event.worker), event.reason);
        break;
      case 'tick':
        this.#lapse();
        break;
      default:
        event satisfies never;
        break;
    }
  }

  #add(added: AddedJob): void {
    const { id, space, mode, name, counted = Intervals.none, state = new Map() } = added;
    const hit = added.firstHit;
    const end = hit !== undefined && mode === 'first' ? hit + 1n : endOf(space);
    const trust = new JobTrust(this.#standings, this.#random, end);
    // What waits for audits is done, but not in the ledger.
    const unsettled = trust.restore(state, counted);
    const table = new LeaseTable(
      space,
      unsettled.reduce((done, range) => done.add(range), counted),
    );
    table.dropFrom(end);
    const priority = state.get(PRIORITY) ?? added.priority;
    const job: JobRecord = {
      id,
      name,
      mode,
      priority: typeof priority === 'number' ? priority : 0,
      table,
      state: state.get(PAUSED) === true ? 'paused' : 'running',
      refusals: new Map(),
      rate: 0,
      lastGrant: 0,
      hits: 0,
      hasHit: hit !== undefined,
      work: newWork(),
      trust,
      witnesses: added.witnesses,
    };
    this.#jobs.set(id, job);
    const isAnswered = hit !== undefined && (mode === 'any' || (mode === 'first' && table.isComplete));
    if ((table.isComplete && trust.isSettled) || (isAnswered && mode === 'any')) {
      this.#end(job, isAnswered ? 'answered' : 'complete');
      return;
    }
    this.#tell(job);
    this.#settle(job);
  }

  #receive(message: WorkerMessage): void {
    switch (message.kind) {
      case 'want':
        this.#want(message);
        break;
      case 'beat':
        this.#beat(message);
        break;
      case 'leave':
        this.#forget(message.worker, message.reason);
        break;
      case 'refuse': {
        const job = this.#jobs.get(message.job);
        if (job === undefined) return;
        this.#revision++;
        job.refusals.set(message.worker, message.reason);
        this.#releaseWorker(job, message.worker);
        this.#effects.push({ kind: 'refused', job: job.id, worker: message.worker, reason: message.reason });
        return;
      }
      default:
        message satisfies never;
        break;
    }
  }

  #want(message: WantMessage): void {
    const worker = this.#meet(message.worker);
    if (message.request < worker.request) return;
    if (this.#standings.of(this.#identityOf(worker.id)) === 'barred') worker.barred ??= 'its results were wrong';
    if (message.request > worker.request || worker.reply === undefined) {
      this.#setRates(worker, message.rates);
      worker.request = message.request;
      const isEarly = this.#now < this.#adoptUntil;
      worker.reply = isEarly ? this.#grants.none(message.request) : this.#grants.answer(worker, message, this.#now);
    }
    if (worker.reply.kind === 'grant') this.#revision++;
    this.#send(worker.id, worker.reply);
  }

  /** Returns a worker whose message has arrived. */
  #meet(id: WorkerId): WorkerRecord {
    if (!this.#roster.all.has(id)) this.#revision++;
    return this.#roster.meet(id, this.#now);
  }

  #beat({ worker: id, answered, rates, leases, devices = [] }: BeatMessage): void {
    const worker = this.#meet(id);
    this.#setRates(worker, rates);
    if (!isSameReport(worker.devices, devices)) this.#revision++;
    worker.devices = devices;
    const lost: string[] = [];
    const listed = new Set<string>();
    const jobs = new Map<JobId, JobState>();
    for (const report of leases) {
      const job = this.#jobs.get(report.job);
      jobs.set(report.job, job ? stateOf(job) : { job: report.job, state: 'ended', end: 0n });
      if (job === undefined) continue;
      if (job.trust.piece(report.id)?.holder === id) {
        listed.add(report.id);
        continue;
      }
      const perMs = worker.jobs.get(job.id)?.perMs;
      const known = job.table.get(report.id);
      // Without a rate nothing is known but how long it has taken so far.
      const elapsed = known && perMs === undefined ? this.#now - worker.since : 0;
      const expectedEnd = this.#now + (perMs ? Number(report.left) / perMs : UNKNOWN_MS + 2 * elapsed);
      if (known?.worker === id) job.table.expect(report.id, expectedEnd);
      else if (known || !this.#adopt(job, worker, report, report.token, expectedEnd)) {
        if (report.left > 0n) lost.push(report.id);
        continue;
      }
      listed.add(report.id);
    }
    // What the worker does not list is committed, dropped or was never received, unless its grant is still on its way.
    const isLost = (lease: { readonly id: string; readonly request: number }): boolean =>
      lease.request <= answered && !listed.has(lease.id);
    for (const job of this.#jobs.values()) {
      for (const lease of job.table.leasesOf(id)) if (isLost(lease)) this.#release(job, lease.id);
      for (const piece of job.trust.piecesOf(this.#identityOf(id)))
        if (piece.holder === id && isLost(piece)) job.trust.cancel(piece);
    }
    this.#send(id, {
      kind: 'state',
      term: this.#term,
      beatMs: this.#roster.beatMs,
      jobs: [...jobs.values()],
      lost,
      isDraining: worker.isDraining,
    });
  }

  #adopt(job: JobRecord, worker: WorkerRecord, claim: LeaseClaim, token: string, expectedEnd: number): boolean {
    if (!this.#tokens.isValid(worker.id, claim, token)) return false;
    const grant = { id: claim.id, worker: worker.id, request: 0, expectedEnd };
    this.#revision++;
    return job.table.adopt(grant, claim.range) !== undefined;
  }

  #takeResult(receipt: number, result: ResultMessage): void {
    this.#counts.results++;
    const { worker, claim, token, hits, witnesses = [] } = result;
    const job = this.#jobs.get(claim.job);
    const wrong = this.#tokens.isValid(worker, claim, token) ? misfit(result) : 'its lease is not of this fleet';
    if (job === undefined || this.#isUseless(job, result)) this.#answer([receipt], result);
    else if (wrong !== undefined) this.#refuse([receipt], result, wrong);
    else if (hits.length + witnesses.length === 0) this.#accept([receipt], job, result, this.#now);
    else this.#verify(receipt, result);
  }

  /** True if a result changes nothing: its ranges are counted, or its worker was proven wrong. */
  #isUseless(job: JobRecord, { worker, claim, ranges }: ResultMessage): boolean {
    if (this.#standings.of(this.#identityOf(worker)) === 'barred') return true;
    if (job.trust.piece(claim.id)) return false;
    return this.#commits.isIdle && ranges.every((range) => job.table.counted.has(range));
  }

  /** A result that is sent again while its hits are being verified is not verified twice: that may take long. */
  #verify(receipt: number, result: ResultMessage): void {
    const { worker, number } = result;
    for (const { result: other, receipts } of this.#verifying.values())
      if (other.number === number && other.worker === worker) return void receipts.push(receipt);
    this.#verifying.set(receipt, { result, receipts: [receipt], arrivedAt: this.#now });
    const { claim, hits, witnesses = [] } = result;
    this.#effects.push({ kind: 'verify', receipt, job: claim.job, hits, witnesses, bits: claim.bits });
  }

  #verified(receipt: number, wrong: string | undefined, isDisputed = false): void {
    const verification = this.#verifying.get(receipt);
    if (verification === undefined) return;
    this.#verifying.delete(receipt);
    const { result, receipts, arrivedAt } = verification;
    const job = this.#jobs.get(result.claim.job);
    if (job === undefined) this.#answer(receipts, result);
    else if (wrong === undefined) this.#accept(receipts, job, result, arrivedAt);
    else {
      this.#release(job, result.claim.id);
      if (isDisputed) {
        this.#giveBack(receipts, result, wrong);
        this.#control(job.id, 'paused');
        return;
      }
      this.#refuse(receipts, result, wrong);
      if (!this.#isOwn(result.worker)) this.#bar(this.#identityOf(result.worker), `its results were wrong: ${wrong}`);
    }
  }

  #accept(receipts: readonly number[], job: JobRecord, result: ResultMessage, arrivedAt: number): void {
    const piece = job.trust.piece(result.claim.id);
    if (this.#isUseless(job, result)) this.#answer(receipts, result);
    else if (piece) this.#acceptAudit(receipts, job, result, piece, arrivedAt);
    else this.#acceptWork(receipts, job, result, arrivedAt);
  }

  #acceptWork(receipts: readonly number[], job: JobRecord, result: ResultMessage, arrivedAt: number): void {
    const { worker, number, claim, ranges, hits } = result;
    const finished = ranges.map((range) => job.table.finish(range, worker));
    const newRanges = finished.flatMap((part) => part.newRanges);
    const overtaken = finished.flatMap((part) => part.overtaken);
    const newHits = hits.filter(({ index }) => newRanges.some((range) => index >= range.start && index < endOf(range)));
    const isSettled = this.#isOwn(worker);
    if (!isSettled) {
      const lease = { id: claim.id, worker: this.#identityOf(worker), bits: claim.bits };
      const report = { ranges: newRanges, hits: newHits, witnesses: result.witnesses ?? [] };
      job.trust.add(lease, report, job.table.get(claim.id) === undefined);
    }
    for (const { lease } of overtaken) if (job.table.get(lease.id) === undefined) job.trust.close(lease.id);
    this.#commits.add({
      receipts,
      worker,
      number,
      job: job.id,
      ranges: isSettled ? newRanges : [],
      hits: isSettled ? newHits : [],
      early: isSettled ? [] : newHits,
      overtaken,
      arrivedAt,
    });
    const indices = newRanges.reduce((sum, { length }) => sum + Number(length), 0);
    credit(job.work, this.#workerJob(worker, job), indices);
    this.#settle(job);
  }

  /** A range that another worker has done before: hits that it left out count, and prove it wrong. */
  #acceptAudit(
    receipts: readonly number[],
    job: JobRecord,
    result: ResultMessage,
    piece: Piece,
    arrivedAt: number,
  ): void {
    const { worker, number, ranges, hits, witnesses = [] } = result;
    const none = { ranges: [], hits: [], overtaken: [] };
    this.#commits.add({ receipts, worker, number, job: job.id, ...none, early: hits, arrivedAt });
    for (const proof of job.trust.audited(piece, { ranges, hits, witnesses }, this.#now)) {
      this.#effects.push({ kind: 'fault', job: job.id, worker: proof.worker, reason: proof.reason });
      this.#bar(proof.worker, proof.reason);
    }
    this.#settle(job);
  }

  /** Commits what audits have settled. At the end of a job everything is audited that is to be. */
  #settle(job: JobRecord): void {
    if (job.table.waiting === 0n) job.trust.flush();
    const base = { receipts: [], number: undefined, job: job.id, early: [], overtaken: [], arrivedAt: this.#now };
    for (const { worker, range, hits } of job.trust.takeSettled())
      this.#commits.add({ ...base, worker, ranges: [range], hits });
    this.#commitNext();
  }

  #release(job: JobRecord, lease: string): void {
    this.#revision++;
    job.table.release(lease);
    job.trust.close(lease);
  }

  #releaseWorker(job: JobRecord, worker: WorkerId): void {
    for (const { id } of job.table.leasesOf(worker)) this.#release(job, id);
    job.trust.forget(this.#identityOf(worker));
    this.#settle(job);
  }

  #commitNext(): void {
    const jobs = [...this.#jobs.values()].filter(({ trust }) => trust.hasChanges);
    const batch = this.#commits.next(this.#changes.length + jobs.length > 0 || this.#standings.hasChanges);
    if (batch === undefined) return;
    const changes = this.#changes;
    this.#changes = [];
    const add = (scope: string, values: StoredChanges): void => {
      for (const [key, value] of values) changes.push({ scope, key, value });
    };
    add(WORKERS, this.#standings.takeChanges());
    for (const { id, trust } of jobs) add(id, trust.takeChanges());
    this.#effects.push({ kind: 'commit', term: this.#term, entries: batch, changes });
  }

  #store({ id }: JobRecord, key: string, value: PlainValue | undefined): void {
    this.#changes.push({ scope: id, key, value });
    this.#commitNext();
  }

  /** The batch is in the ledger. */
  #committed(): void {
    const results = this.#commits.finish();
    const numbers = new Map<WorkerId, number[]>();
    const hitJobs = new Map<JobRecord, bigint>();
    if (results.length > 0) {
      this.#counts.commits++;
      this.#commitMs = results.reduce((most, { arrivedAt }) => Math.max(most, this.#now - arrivedAt), 0);
    }
    for (const { worker, number, job: id, hits, early, overtaken } of results) {
      const own = numbers.get(worker);
      if (number === undefined) {
        // It was confirmed when it came in.
      } else if (own) own.push(number);
      else numbers.set(worker, [number]);
      const job = this.#jobs.get(id);
      if (job === undefined) continue;
      this.#counts.hits += hits.length;
      job.hits += hits.length;
      job.hasHit ||= hits.length + early.length > 0;
      for (const { index } of [...hits, ...early]) hitJobs.set(job, minBigint(index, hitJobs.get(job) ?? index));
      for (const { lease, range } of overtaken)
        this.#send(lease.worker, { kind: 'drop', term: this.#term, job: id, range });
    }
    for (const [worker, own] of numbers) this.#sendCommitted(worker, own);
    this.#effects.push({ kind: 'acknowledge', receipts: results.flatMap(({ receipts }) => receipts) });
    for (const [job, index] of hitJobs) {
      if (job.mode === 'any') this.#end(job, 'answered');
      if (job.mode !== 'first' || index + 1n >= job.table.end) continue;
      job.table.dropFrom(index + 1n);
      job.trust.dropFrom(index + 1n);
      job.trust.sweep((id) => job.table.get(id) !== undefined);
      this.#settle(job);
      this.#tell(job);
    }
    for (const id of new Set(results.map(({ job }) => job))) {
      const job = this.#jobs.get(id);
      if (job === undefined || !job.table.isComplete || !job.trust.isSettled || this.#commits.has(id)) continue;
      this.#end(job, job.mode === 'first' && job.hasHit ? 'answered' : 'complete');
    }
    this.#commitNext();
  }

  #control(id: JobId, state: RunState): void {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    if (state === 'ended') this.#end(job, 'cancelled');
    else {
      const isNew = job.state !== state;
      job.state = state;
      this.#tell(job);
      if (isNew) this.#store(job, PAUSED, state === 'paused' ? true : undefined);
    }
  }

  #end(job: JobRecord, outcome: JobOutcome): void {
    job.state = 'ended';
    this.#jobs.delete(job.id);
    for (const worker of this.#roster.all.values()) closeJob(worker, job.id, job.work);
    this.#tell(job);
    this.#effects.push({ kind: 'ended', job: job.id, outcome });
  }

  /** Gives a worker no more work. What it did and is not settled is done again. */
  #bar(who: Identity, reason: string): void {
    this.#standings.bar(who);
    const processes = [...this.#roster.all.values()].filter(({ id }) => this.#identityOf(id) === who);
    for (const worker of processes) {
      worker.barred = reason;
      worker.reply = undefined;
    }
    for (const job of this.#jobs.values()) {
      for (const { id } of processes) job.table.releaseWorker(id);
      for (const range of job.trust.revoke(who)) job.table.revoke(range);
      this.#settle(job);
    }
    this.#commitNext();
  }

  /** Confirms a result that is not needed. */
  #answer(receipts: readonly number[], { worker, number }: ResultMessage): void {
    this.#effects.push({ kind: 'acknowledge', receipts });
    this.#sendCommitted(worker, [number]);
  }

  /** Refuses a result. What it covers is leased again. */
  #giveBack(receipts: readonly number[], { worker, number }: ResultMessage, reason: string): void {
    this.#effects.push({ kind: 'acknowledge', receipts });
    this.#send(worker, { kind: 'committed', term: this.#term, numbers: [], refused: [{ number, reason }] });
  }

  /** The result is the worker's fault. */
  #refuse(receipts: readonly number[], result: ResultMessage, reason: string): void {
    const { worker, claim } = result;
    this.#giveBack(receipts, result, reason);
    this.#effects.push({ kind: 'fault', job: claim.job, worker, reason });
    this.#counts.refusedResults++;
    const known = this.#roster.all.get(worker);
    if (known && ++known.faults >= MAX_FAULTS) this.#bar(this.#identityOf(worker), `its results were wrong: ${reason}`);
  }

  /** Removes workers that were silent for too long. */
  #lapse(): void {
    for (const id of this.#roster.lapsed(this.#now)) this.#forget(id, 'silent');
  }

  #forget(id: WorkerId, reason: string): void {
    const worker = this.#roster.remove(id, this.#now, reason);
    if (worker === undefined) return;
    this.#revision++;
    for (const job of this.#jobs.values()) this.#releaseWorker(job, id);
    for (const [job, { perMs = 0, done }] of worker.jobs) {
      this.#addRate(job, -perMs);
      const work = this.#jobs.get(job)?.work;
      if (work) work.leftIndices += done;
    }
  }

  #workerJob(id: WorkerId, job: JobRecord): WorkerJob | undefined {
    const worker = this.#roster.all.get(id);
    return worker && this.#roster.jobOf(worker, job.id);
  }

  #setRates(worker: WorkerRecord, rates: readonly JobRate[]): void {
    for (const { job, perMs } of rates) {
      if (!this.#jobs.has(job)) continue;
      const known = this.#roster.jobOf(worker, job);
      if (known.perMs === perMs) continue;
      this.#revision++;
      this.#addRate(job, perMs - (known.perMs ?? 0));
      known.perMs = perMs;
    }
  }

  #addRate(id: JobId, perMs: number): void {
    const job = this.#jobs.get(id);
    if (job) job.rate = Math.max(0, job.rate + perMs);
  }

  #tell(job: JobRecord): void {
    this.#broadcast({ kind: 'job', term: this.#term, state: stateOf(job) });
  }

  #send(to: WorkerId, message: CoordinatorMessage): void {
    this.#effects.push({ kind: 'send', to, message });
  }

  #sendCommitted(to: WorkerId, numbers: readonly number[]): void {
    this.#send(to, { kind: 'committed', term: this.#term, numbers, refused: [] });
  }

  #broadcast(message: Broadcast): void {
    this.#effects.push({ kind: 'broadcast', message });
  }
}

interface JobRecord extends GrantableJob {
  readonly mode: SearchMode;
  state: RunState;
  priority: number;
  readonly work: JobWork;
  readonly refusals: Map<WorkerId, string>;
  rate: number;
  hits: number;
  /** True if the ledger has a hit, also one from before this term. */
  hasHit: boolean;
}

interface Verification {
  readonly result: ResultMessage;
  /** One for each time that it has arrived. */
  readonly receipts: number[];
  readonly arrivedAt: number;
}

/** A worker whose results were refused this often gets no more work. */
const MAX_FAULTS = 3;

const stateOf = ({ id, state, table }: JobRecord): JobState => ({ job: id, state, end: table.end });

/** Says what is wrong with a result's ranges and hits. */
function misfit({ claim, ranges, hits, witnesses = [] }: ResultMessage): string | undefined {
  const lease = claim.range;
  let done = Intervals.none;
  for (const range of ranges) {
    if (range.length <= 0n || range.start < lease.start || endOf(range) > endOf(lease))
      return 'a range is outside its lease';
    if (!done.within(range).isEmpty) return 'its ranges overlap';
    done = done.add(range);
  }
  if (witnesses.length > 0 && claim.bits === undefined) return 'it has witnesses that were not asked for';
  const isInside = ({ index }: FoundHit): boolean => done.has({ start: index, length: 1n });
  return hits.every(isInside) && witnesses.every(isInside) ? undefined : 'a hit is outside its ranges';
}

const isSameReport = (before: readonly DeviceReport[], after: readonly DeviceReport[]): boolean =>
  before.length === after.length &&
  after.every(({ id, perSecond, fed }, at) => {
    const last = before[at];
    return last?.id === id && last.perSecond === perSecond && last.fed === fed;
  });
