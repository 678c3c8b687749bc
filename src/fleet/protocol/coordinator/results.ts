import { Intervals } from '../../../engine/work/intervals.js';
import { endOf } from '../../../engine/work/space.js';
import type { Identity, Piece } from '../../trust/index.js';
import type { FoundHit, ResultMessage } from '../messages.js';
import type { Commits } from './commits.js';
import { credit } from './contribution.js';
import type { JobRecord } from './job-record.js';
import type { Jobs } from './jobs.js';
import type { CoordinatorState } from './state.js';

/** Which results count, and which workers are barred because theirs are wrong. */
export class Results {
  readonly #state: CoordinatorState;
  readonly #commits: Commits;
  readonly #jobs: Jobs;
  /** Results whose hits are being verified, by their first receipt. */
  readonly #verifying = new Map<number, Verification>();
  #taken = 0;
  #refused = 0;

  constructor(state: CoordinatorState, commits: Commits, jobs: Jobs) {
    this.#state = state;
    this.#commits = commits;
    this.#jobs = jobs;
  }

  get counts(): ResultCounts {
    const times = [...this.#verifying.values()].map(({ arrivedAt }) => arrivedAt);
    const { oldestAt, size } = this.#commits.queue;
    if (oldestAt !== undefined) times.push(oldestAt);
    return {
      results: this.#taken,
      refusedResults: this.#refused,
      waitingResults: this.#verifying.size + size,
      oldestAt: times.length === 0 ? undefined : times.reduce((least, at) => Math.min(least, at)),
    };
  }

  take(receipt: number, result: ResultMessage): void {
    this.#taken++;
    const { jobs, tokens, output } = this.#state;
    const { worker, claim, token, hits, witnesses = [] } = result;
    const job = jobs.get(claim.job);
    const wrong = tokens.isValid(worker, claim, token) ? misfit(result) : 'its lease is not of this fleet';
    if (job === undefined || this.#isUseless(job, result)) this.#answer([receipt], result);
    else if (wrong !== undefined) this.#refuse([receipt], result, wrong);
    else if (hits.length + witnesses.length === 0) this.#accept([receipt], job, result, output.now);
    else this.#verify(receipt, result);
  }

  /** The hits and witnesses of a result were checked; `wrong` says what is wrong. */
  verified(receipt: number, wrong: string | undefined, isDisputed = false): void {
    const verification = this.#verifying.get(receipt);
    if (verification === undefined) return;
    this.#verifying.delete(receipt);
    const { result, receipts, arrivedAt } = verification;
    const job = this.#state.jobs.get(result.claim.job);
    if (job === undefined) this.#answer(receipts, result);
    else if (wrong === undefined) this.#accept(receipts, job, result, arrivedAt);
    else {
      this.#jobs.release(job, result.claim.id);
      if (isDisputed) {
        this.#giveBack(receipts, result, wrong);
        this.#jobs.control(job.id, 'paused');
        return;
      }
      this.#refuse(receipts, result, wrong);
      const { trusting } = this.#state;
      if (!trusting.isOwn(result.worker))
        this.bar(trusting.identityOf(result.worker), `its results were wrong: ${wrong}`);
    }
  }

  /** The worker was proven wrong. */
  bar(who: Identity, reason: string): void {
    this.#state.standings.bar(who);
    this.exclude(who, reason);
  }

  /** Gives a worker no more work. What it did is done again, unless another worker has agreed. */
  exclude(who: Identity, reason: string): void {
    const { roster, jobs, trusting } = this.#state;
    const processes = [...roster.all.values()].filter(({ id }) => trusting.identityOf(id) === who);
    for (const worker of processes) {
      worker.barred = reason;
      worker.reply = undefined;
    }
    for (const job of jobs.values()) {
      for (const { id } of processes) job.table.releaseWorker(id);
      for (const range of job.trust.revoke(who)) job.table.revoke(range);
      this.#commits.reopen(job);
    }
    for (const job of jobs.values()) this.#commits.settle(job);
    this.#commits.next();
  }

  /** True if a result changes nothing: its ranges are counted, or its worker was proven wrong. */
  #isUseless(job: JobRecord, { worker, claim, ranges }: ResultMessage): boolean {
    const { standings, trusting } = this.#state;
    if (standings.of(trusting.identityOf(worker)) === 'barred') return true;
    if (job.trust.piece(claim.id)) return false;
    return this.#commits.queue.isIdle && ranges.every((range) => job.table.counted.has(range));
  }

  /** A result that is sent again while its hits are being verified is not verified twice: that may take long. */
  #verify(receipt: number, result: ResultMessage): void {
    const { worker, number } = result;
    for (const { result: other, receipts } of this.#verifying.values())
      if (other.number === number && other.worker === worker) return void receipts.push(receipt);
    const { output } = this.#state;
    this.#verifying.set(receipt, { result, receipts: [receipt], arrivedAt: output.now });
    const { claim, hits, witnesses = [] } = result;
    output.push({ kind: 'verify', receipt, job: claim.job, hits, witnesses, bits: claim.bits });
  }

  #accept(receipts: readonly number[], job: JobRecord, result: ResultMessage, arrivedAt: number): void {
    const piece = job.trust.piece(result.claim.id);
    if (this.#isUseless(job, result)) this.#answer(receipts, result);
    else if (piece) this.#acceptAudit(receipts, job, result, piece, arrivedAt);
    else this.#acceptWork(receipts, job, result, arrivedAt);
  }

  #acceptWork(receipts: readonly number[], job: JobRecord, result: ResultMessage, arrivedAt: number): void {
    const { trusting, roster } = this.#state;
    const { worker, number, claim, ranges, hits } = result;
    const finished = ranges.map((range) => job.table.finish(range, worker));
    const newRanges = finished.flatMap((part) => part.newRanges);
    const overtaken = finished.flatMap((part) => part.overtaken);
    const newHits = hits.filter(({ index }) => newRanges.some((range) => index >= range.start && index < endOf(range)));
    const isSettled = trusting.isOwn(worker);
    if (!isSettled) {
      const lease = { id: claim.id, worker: trusting.identityOf(worker), bits: claim.bits };
      const report = { ranges: newRanges, hits: newHits, witnesses: result.witnesses ?? [] };
      job.trust.add(lease, report, job.table.get(claim.id) === undefined);
    } else for (const range of newRanges) job.provenance.add(trusting.identityOf(worker), range);
    for (const { lease } of overtaken) if (job.table.get(lease.id) === undefined) job.trust.close(lease.id);
    this.#commits.queue.add({
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
    const known = roster.all.get(worker);
    credit(job.work, known && roster.jobOf(known, job.id), indices);
    this.#commits.settle(job);
  }

  /** A range that another worker has done before: hits that it left out count, and prove it wrong. */
  #acceptAudit(
    receipts: readonly number[],
    job: JobRecord,
    result: ResultMessage,
    piece: Piece,
    arrivedAt: number,
  ): void {
    const { output } = this.#state;
    const { worker, number, ranges, hits, witnesses = [] } = result;
    const none = { ranges: [], hits: [], overtaken: [] };
    this.#commits.queue.add({ receipts, worker, number, job: job.id, ...none, early: hits, arrivedAt });
    for (const proof of job.trust.audited(piece, { ranges, hits, witnesses }, output.now)) {
      output.push({ kind: 'fault', job: job.id, worker: proof.worker, reason: proof.reason });
      this.bar(proof.worker, proof.reason);
    }
    this.#commits.settle(job);
  }

  /** Confirms a result that is not needed. */
  #answer(receipts: readonly number[], { worker, number }: ResultMessage): void {
    const { output } = this.#state;
    output.push({ kind: 'acknowledge', receipts });
    output.confirm(worker, [number]);
  }

  /** Refuses a result. What it covers is leased again. */
  #giveBack(receipts: readonly number[], { worker, number }: ResultMessage, reason: string): void {
    const { output } = this.#state;
    output.push({ kind: 'acknowledge', receipts });
    output.send(worker, { kind: 'committed', term: output.term, numbers: [], refused: [{ number, reason }] });
  }

  /** The result is the worker's fault. */
  #refuse(receipts: readonly number[], result: ResultMessage, reason: string): void {
    const { output, roster, trusting } = this.#state;
    const { worker, claim } = result;
    this.#giveBack(receipts, result, reason);
    output.push({ kind: 'fault', job: claim.job, worker, reason });
    this.#refused++;
    const known = roster.all.get(worker);
    if (known && ++known.faults >= MAX_FAULTS)
      this.bar(trusting.identityOf(worker), `its results were wrong: ${reason}`);
  }
}

interface ResultCounts {
  readonly results: number;
  readonly refusedResults: number;
  /** Results that have arrived and are not in the ledger. */
  readonly waitingResults: number;
  /** When the oldest of them arrived. */
  readonly oldestAt: number | undefined;
}

interface Verification {
  readonly result: ResultMessage;
  /** One for each time that it has arrived. */
  readonly receipts: number[];
  readonly arrivedAt: number;
}

/** A worker whose results were refused this often gets no more work. */
const MAX_FAULTS = 3;

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
