import { MillraceError } from '../../kernel/error.js';
import { fieldReader } from '../../network/fields.js';
import { type CallName, decodeAnswer, encodeCall, PIECE_BYTES } from '../calls.js';
import { fromBase64 } from '../digest.js';
import {
  encodeManifest,
  type PackedJob,
  type PlainRecord,
  plainValue,
  type SigningKey,
  signManifest,
} from '../manifest/index.js';
import type { MemberBus } from '../nats/index.js';
import type { FoundHit, RunState } from '../protocol/index.js';
import { readCoverage, readOverview, readProvenance, readSummary, readWorkerPage } from '../view/read.js';
import {
  ALL_WORKERS,
  type FleetOverview,
  type FleetSummary,
  type FleetWorkerRow,
  type JobCoverage,
  type JobProvenance,
  type WorkerPage,
  type WorkerQuery,
} from '../view/rows.js';

/** Calls to a fleet's coordinator, each repeated for a while if it is not answered: a coordinator may be starting. */
export class FleetClient {
  readonly #bus: Pick<MemberBus, 'call'>;
  readonly #patienceMs: number;

  constructor(bus: Pick<MemberBus, 'call'>, patienceMs = PATIENCE_MS) {
    this.#bus = bus;
    this.#patienceMs = patienceMs;
  }

  /** Submits a job with its attachments, again if the coordinator is replaced meanwhile. Returns its id. */
  async submit({ manifest, attachments }: PackedJob, key: SigningKey): Promise<string> {
    const signed = Buffer.from(signManifest(encodeManifest(manifest), key)).toString('base64');
    for (const deadline = performance.now() + this.#patienceMs; ; ) {
      const answer = await this.#call('submit', { signed });
      const job = read.hex(answer.job, 'job', { min: 32, max: 32 });
      // After the deadline the coordinator says what it lacks.
      const resubmits = performance.now() < deadline;
      const parts = read.list(answer.missing, 'missing', 100).map(String);
      if ((await this.#attachAll(parts, attachments, resubmits)) && (await this.#start(job, resubmits))) return job;
    }
  }

  /** Returns false if the coordinator does not know the job. */
  async #start(job: string, resubmits: boolean): Promise<boolean> {
    return (await this.#call('start', { job, resubmits })).isUnknown !== true;
  }

  /** Returns false if the coordinator does not expect them. */
  async #attachAll(
    digests: readonly string[],
    attachments: PackedJob['attachments'],
    resubmits: boolean,
  ): Promise<boolean> {
    for (const digest of digests) {
      const bytes = attachments.get(digest);
      if (bytes && !(await this.#attach(digest, bytes, resubmits))) return false;
    }
    return true;
  }

  async #attach(digest: string, bytes: Uint8Array, resubmits: boolean): Promise<boolean> {
    for (let offset = 0; offset >= 0; ) {
      const piece = Buffer.from(bytes.subarray(offset, offset + PIECE_BYTES)).toString('base64');
      const answer = await this.#call('attach', { digest, offset, bytes: piece, resubmits });
      if (answer.isUnknown === true) return false;
      offset = read.integer(answer.next, 'next', -1, bytes.length);
    }
    return true;
  }

  /**
   * Returns a job's state and its hits from the nth on. `term` is that of the last answer. `verifies`: this submitter checks
   * hits before they are committed. Undefined if the coordinator does not know the job: it has to be submitted again.
   */
  async poll(job: string, term: number, after: number, verifies = false): Promise<PolledJob | undefined> {
    const answer = await this.#call('poll', { job, term, after, resubmits: true, ...(verifies && { verifies }) });
    if (answer.isUnknown === true) return undefined;
    const { state, outcome } = answer;
    return {
      term: read.integer(answer.term, 'term', 0, Number.MAX_SAFE_INTEGER),
      from: read.integer(answer.from, 'from', 0, Number.MAX_SAFE_INTEGER),
      hits: readHits(answer.hits),
      more: answer.more === true,
      done: read.bigInteger(answer.done, 'done', 0n, 1n << 128n),
      frontier: read.bigInteger(answer.frontier, 'frontier', 0n, 1n << 128n),
      perMs: typeof answer.perMs === 'number' ? answer.perMs : 0,
      workers: read.integer(answer.workers, 'workers', 0, 1e9),
      fleetWorkers: read.integer(answer.fleetWorkers, 'fleetWorkers', 0, 1e9),
      state: read.text(state, 'state', 20) as RunState,
      outcome: outcome === undefined ? undefined : read.text(outcome, 'outcome', 20),
      refusals: read.list(answer.refusals, 'refusals', 100).map((entry) => {
        const [worker, reason] = read.list(entry, 'refusals', 2);
        return [read.text(worker, 'refusals', 300), read.text(reason, 'refusals', 2000)] as const;
      }),
      hasChecks: answer.hasChecks === true,
      unsettled: answer.unsettled === undefined ? 0n : read.bigInteger(answer.unsettled, 'unsettled', 0n, 1n << 128n),
      lacksAuditor: answer.lacksAuditor === true,
    };
  }

  /** Returns hits that this submitter is to check before they are committed, after its word on the last ones. */
  async check(job: string, last?: SubmitterVerdict): Promise<CheckRequest> {
    const answer = await this.#call('check', { job, ...last });
    return {
      term: read.integer(answer.term, 'term', 0, Number.MAX_SAFE_INTEGER),
      number: read.integer(answer.number, 'number', 0, Number.MAX_SAFE_INTEGER),
      hits: readHits(answer.hits),
    };
  }

  async control(job: string, state: RunState): Promise<void> {
    await this.#call('control', { job, state });
  }

  /** Returns the bytes of a job's signed manifest, or of an attachment. */
  async fetch(digest: string): Promise<Uint8Array> {
    let bytes: Uint8Array | undefined;
    for (let [offset, total] = [0, 1]; offset < total; ) {
      const answer = await this.#call('fetch', { digest, offset });
      const piece = fromBase64(read.text(answer.bytes, 'bytes', 2 * PIECE_BYTES));
      total = read.integer(answer.total, 'total', 0, 1 << 30);
      bytes ??= new Uint8Array(total);
      if (piece.length === 0 && offset < total) throw cutShort();
      if (offset + piece.length > bytes.length || total !== bytes.length) throw cutShort();
      bytes.set(piece, offset);
      offset += piece.length;
    }
    return bytes ?? new Uint8Array();
  }

  /** Returns what a worker may know of the fleet, and of itself if it gives its id. */
  async about(worker?: string): Promise<FleetSummary> {
    return readSummary(await this.#call('about', worker === undefined ? {} : { worker }));
  }

  async overview(): Promise<FleetOverview> {
    return readOverview(await this.#call('overview', {}));
  }

  async workers(query: WorkerQuery): Promise<WorkerPage> {
    return readWorkerPage(await this.#call('workers', { query: plainValue(query) }));
  }

  /** Returns all workers, which may be more than one answer holds. */
  async allWorkers(): Promise<FleetWorkerRow[]> {
    const all: FleetWorkerRow[] = [];
    for (;;) {
      // By name: other orders change meanwhile.
      const { total, workers } = await this.workers({ ...ALL_WORKERS, order: 'name', from: all.length });
      all.push(...workers);
      if (workers.length === 0 || all.length >= total) return all;
    }
  }

  async coverage(job: string): Promise<JobCoverage> {
    return readCoverage(await this.#call('coverage', { job }));
  }

  /** Returns which users have done which parts of a job. */
  async provenance(job: string): Promise<JobProvenance> {
    return readProvenance(await this.#call('provenance', { job }));
  }

  async setPriority(job: string, priority: number): Promise<void> {
    await this.#call('priority', { job, priority });
  }

  async drain(worker: string): Promise<string[]> {
    const { workers } = await this.#call('drain', { worker });
    return read.list(workers, 'workers', 1e6).map(String);
  }

  /** Returns the line of a new invite, or with `browser` the address of the page that uses it; and its user. */
  async invite(
    role: string,
    seconds: number,
    name?: string,
    trusted = false,
    browser = false,
  ): Promise<{ readonly user: string; readonly line: string }> {
    const fields = { role, seconds, trusted, browser, ...(name !== undefined && { name }) };
    const answer = await this.#call('invite', fields);
    return { user: read.text(answer.user, 'user', 40), line: read.text(answer.invite, 'invite', 20_000) };
  }

  /** Returns undefined if no user has the name. */
  async revoke(user: string): Promise<Revoked | undefined> {
    const answer = await this.#call('revoke', { user });
    // Coordinators of an earlier release reopen nothing.
    const { user: revoked, reopened = [], rested = [] } = answer;
    if (revoked === undefined) return undefined;
    const readIndices = (value: unknown): bigint => read.bigInteger(value, 'indices', 0n, 1n << 128n);
    const readId = (value: unknown): string => read.hex(value, 'job', { min: 32, max: 32 });
    return {
      reopened: read.list(reopened, 'reopened', 1e6).map((entry) => {
        const { job, indices, ranges } = read.object(entry, 'reopened');
        return { job: readId(job), indices: readIndices(indices), ranges: read.integer(ranges, 'ranges', 0, 1e9) };
      }),
      rested: read.list(rested, 'rested', 1e6).map((entry) => {
        const { job, name, ledgerId, indices, length } = read.object(entry, 'rested');
        return {
          job: readId(job),
          name: read.text(name, 'name', 300),
          ledgerId: read.text(ledgerId, 'ledgerId', 100),
          indices: readIndices(indices),
          length: readIndices(length),
        };
      }),
    };
  }

  /** Lets what a user alone has done of a job that is over be done again when it is submitted again. Returns the number of indices. */
  async recheck(job: string, user: string): Promise<bigint> {
    return read.bigInteger((await this.#call('recheck', { job, user })).indices, 'indices', 0n, 1n << 128n);
  }

  async #call(call: CallName, fields: PlainRecord): Promise<PlainRecord> {
    const bytes = encodeCall(call, fields);
    for (const deadline = performance.now() + this.#patienceMs; ; ) {
      let answer: Uint8Array;
      try {
        answer = await this.#bus.call(bytes);
      } catch (error) {
        if (performance.now() > deadline) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        continue;
      }
      return decodeAnswer(answer);
    }
  }
}

/** A job as its submitter sees it. */
export interface PolledJob {
  readonly term: number;
  /** The number of the first hit. 0 if the coordinator has changed. */
  readonly from: number;
  readonly hits: readonly FoundHit[];
  /** More hits are there. */
  readonly more: boolean;
  readonly done: bigint;
  readonly frontier: bigint;
  readonly perMs: number;
  /** Workers that have measured their speed on the job, and all of the fleet. */
  readonly workers: number;
  readonly fleetWorkers: number;
  readonly state: RunState;
  readonly outcome: string | undefined;
  /** Workers that cannot run the job, and why. */
  readonly refusals: readonly (readonly [string, string])[];
  /** Hits wait for the submitter's check. */
  readonly hasChecks: boolean;
  /** Indices that are done and wait for audits; some of them because no other worker could audit them. */
  readonly unsettled: bigint;
  readonly lacksAuditor: boolean;
}

/** What became of the work of a user that was revoked. */
export interface Revoked {
  /** In jobs that run: it is done again. */
  readonly reopened: readonly { readonly job: string; readonly indices: bigint; readonly ranges: number }[];
  /** Jobs that are over, as far as the coordinator knows, and how much of them rests on the user's word alone. */
  readonly rested: readonly RestedJob[];
}

export interface RestedJob {
  readonly job: string;
  readonly name: string;
  readonly ledgerId: string;
  readonly indices: bigint;
  readonly length: bigint;
}

/** Hits to check; none if none wait. */
export interface CheckRequest {
  readonly term: number;
  readonly number: number;
  readonly hits: readonly FoundHit[];
}

export type SubmitterVerdict = {
  readonly term: number;
  readonly checked: number;
  /** What is wrong with the hits. */
  readonly wrong?: string;
};

function readHits(value: unknown): FoundHit[] {
  return read.list(value, 'hits', 10_000).map((entry) => {
    const [index, fields] = read.list(entry, 'hits', 2);
    return {
      index: read.bigInteger(index, 'hits', 0n, 1n << 128n),
      fields: read.object(fields, 'hits') as PlainRecord,
    };
  });
}

const PATIENCE_MS = 20_000;
const RETRY_MS = 300;
const read = fieldReader('an answer of the fleet', 'use the same version of Millrace on every machine of the fleet');

const cutShort = (): MillraceError =>
  new MillraceError({
    code: 'io',
    message: 'the coordinator sent other bytes of an attachment than it said',
    asked: 'to fetch a job',
  });
