import { MillraceError } from '../../kernel/error.js';
import { type FieldReader, fieldReader } from '../../network/fields.js';
import { checkAllowed, type FleetCall, PIECE_BYTES } from '../calls.js';
import {
  type Attachment,
  attachmentsOf,
  decodeManifest,
  manifestId,
  openSignedManifest,
  type PlainRecord,
  type PlainValue,
  plainValue,
} from '../manifest/index.js';
import { type Caller, INVITED_ROLES } from '../nats/index.js';
import type { FoundHit, RunState } from '../protocol/index.js';
import type { FleetFiles, FleetJob } from '../replica/index.js';
import { readWorkerQuery } from '../view/read.js';
import { ALL_WORKERS, LIVE_STATES } from '../view/rows.js';
import type { CoordinatorService } from './service.js';

/** Answers the calls of submitters and workers. */
export class CallHandler {
  readonly #service: CoordinatorService;
  readonly #files: FleetFiles;
  /** Submitted jobs whose attachments are on their way, by id and user. */
  readonly #submitted = new Map<string, Uint8Array>();
  /** Attachments that are on their way, by digest. */
  readonly #arriving = new Map<string, ArrivingPart>();
  /** The last answers to calls that are carried out once, by user and id. */
  readonly #given = new Map<string, Promise<PlainRecord>>();

  constructor(service: CoordinatorService, files: FleetFiles) {
    this.#service = service;
    this.#files = files;
  }

  /** A call that is sent again because its answer was lost gets the answer that was given. */
  answer(call: FleetCall, caller: Caller): Promise<PlainRecord> | PlainRecord {
    checkAllowed(call.call, caller);
    if (call.id === undefined) return this.#carryOut(call, caller);
    const key = `${caller.user} ${call.id}`;
    const given = this.#given.get(key) ?? Promise.resolve(this.#carryOut(call, caller));
    this.#given.set(key, given);
    for (const [oldest] of this.#given) if (this.#given.size > MAX_GIVEN) this.#given.delete(oldest);
    return given;
  }

  #carryOut({ call, fields }: FleetCall, caller: Caller): Promise<PlainRecord> | PlainRecord {
    const read = fieldReader(`the call ${call}`, 'use the same version of Millrace on every machine of the fleet');
    switch (call) {
      case 'submit':
        return this.#submit(Buffer.from(read.text(fields.signed, 'signed', 1 << 20), 'base64'), caller);
      case 'attach':
        return this.#attach(read, fields);
      case 'start':
        return this.#start(read.hex(fields.job, 'job', ID), caller, fields.resubmits === true);
      case 'poll':
        return this.#poll(read, fields, caller);
      case 'check':
        return this.#check(read, fields, caller);
      case 'control':
        return this.#control(read.hex(fields.job, 'job', ID), read.text(fields.state, 'state', 20), caller);
      case 'fetch':
        return this.#fetch(read, fields);
      case 'about':
        return this.#about(read, fields, caller);
      case 'priority':
        return this.#priority(read.hex(fields.job, 'job', ID), read.integer(fields.priority, 'priority', -9999, 9999));
      case 'overview':
        return plainRecord(this.#service.view.overview());
      case 'workers':
        return plainRecord(this.#service.view.workers(readWorkerQuery(fields.query)));
      case 'coverage':
        return this.#coverage(read.hex(fields.job, 'job', ID));
      case 'provenance':
        return this.#provenance(read.hex(fields.job, 'job', ID));
      case 'recheck':
        return this.#recheck(read.hex(fields.job, 'job', ID), read.text(fields.user, 'user', 200));
      case 'drain':
        return this.#drain(read.text(fields.worker, 'worker', 200));
      case 'invite':
        return this.#invite(read, fields);
      case 'revoke':
        return this.#revoke(read.text(fields.user, 'user', 200));
      default:
        return call satisfies never;
    }
  }

  /** Says which attachments are missing. */
  #submit(signed: Uint8Array, caller: Caller): PlainRecord {
    const { manifest: bytes } = openSignedManifest(signed);
    const manifest = decodeManifest(bytes);
    const id = manifestId(bytes);
    const missing = attachmentsOf(manifest).filter(({ digest }) => !this.#files.has(digest));
    this.#expect(missing.filter(({ digest }) => !this.#arriving.has(digest)));
    this.#submitted.delete(keyOf(id, caller));
    this.#submitted.set(keyOf(id, caller), signed);
    for (const [oldest] of this.#submitted) if (this.#submitted.size > MAX_SUBMITTED) this.#submitted.delete(oldest);
    return { job: id, missing: missing.map(({ digest }) => digest) };
  }

  /** Makes room for attachments. Those whose submitter has stopped sending are forgotten. */
  #expect(parts: readonly Attachment[]): void {
    const now = performance.now();
    for (const [digest, { seen }] of this.#arriving) if (now - seen > ARRIVING_MS) this.#arriving.delete(digest);
    const held = [...this.#arriving.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    const asked = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    if (held + asked > MAX_ARRIVING_BYTES) throw refused('too many attachments are on their way: submit it later');
    for (const part of parts)
      this.#arriving.set(part.digest, { part, bytes: new Uint8Array(part.bytes), at: 0, seen: now });
  }

  /** Takes a piece of an attachment. Pieces come in order; a repeated one changes nothing. */
  #attach(read: FieldReader, fields: PlainRecord): PlainRecord {
    const digest = read.hex(fields.digest, 'digest', ID);
    const offset = read.integer(fields.offset, 'offset', 0, Number.MAX_SAFE_INTEGER);
    const piece = Buffer.from(read.text(fields.bytes, 'bytes', 2 * PIECE_BYTES), 'base64');
    const arriving = this.#arriving.get(digest);
    if (arriving === undefined && !this.#files.has(digest)) {
      if (fields.resubmits === true) return UNKNOWN;
      throw refused('the attachment is not expected');
    }
    if (arriving === undefined) return { next: -1 };
    arriving.seen = performance.now();
    if (offset === arriving.at && offset + piece.length <= arriving.bytes.length) {
      arriving.bytes.set(piece, offset);
      arriving.at += piece.length;
    }
    if (arriving.at < arriving.bytes.length) return { next: arriving.at };
    this.#arriving.delete(digest);
    if (manifestId(arriving.bytes) !== digest) throw refused('an attachment is not the one that the manifest names');
    this.#files.savePart(arriving.bytes);
    return { next: -1 };
  }

  async #start(id: string, caller: Caller, resubmits: boolean): Promise<PlainRecord> {
    const known = this.#service.job(id);
    const signed = this.#submitted.get(keyOf(id, caller));
    if (signed === undefined && known === undefined) {
      if (resubmits) return UNKNOWN;
      throw refused('the job is not known here: submit it first');
    }
    if (signed === undefined && known) checkSubmitter(known, caller);
    const job = signed === undefined ? known : await this.#service.open(id, signed, caller.user);
    this.#submitted.delete(keyOf(id, caller));
    if (job?.outcome === undefined) await this.#service.control(id, 'running');
    return {};
  }

  /** Returns a job's state, and its hits from the nth commit on. */
  #poll(read: FieldReader, fields: PlainRecord, caller: Caller): PlainRecord {
    const id = read.hex(fields.job, 'job', ID);
    if (fields.resubmits === true && this.#service.job(id) === undefined) return UNKNOWN;
    const job = this.#jobOf(id, caller);
    const view = this.#service.core.jobs.get(job.id);
    if (fields.verifies === true) job.checks.meet();
    const after = read.integer(fields.after, 'after', 0, Number.MAX_SAFE_INTEGER);
    // A coordinator that was started later may have the hits in another order.
    const from = fields.term === this.#service.term ? after : 0;
    const hits = job.hits.slice(from, from + MAX_HITS);
    const workers = [...this.#service.core.workers.values()].filter(({ jobs }) => jobs.has(job.id));
    return {
      term: this.#service.term,
      from,
      hits: hits.map(plainHit),
      more: from + hits.length < job.hits.length,
      done: String(job.done.total),
      frontier: String(job.frontier),
      perMs: view?.rate ?? 0,
      workers: workers.length,
      state: view?.state ?? 'ended',
      ...(job.outcome !== undefined && { outcome: job.outcome }),
      refusals: [...(view?.refusals ?? [])].slice(0, 10).map(([worker, reason]): PlainValue => [worker, reason]),
      fleetWorkers: this.#service.core.workers.size,
      hasChecks: job.checks.next !== undefined,
      unsettled: String(view?.trust.unsettled ?? 0n),
      lacksAuditor: this.#service.core.lacksAuditor(job.id),
    };
  }

  /** Takes the submitter's word on hits, and returns the next ones that it is to check. */
  #check(read: FieldReader, fields: PlainRecord, caller: Caller): PlainRecord {
    const { checks } = this.#jobOf(read.hex(fields.job, 'job', ID), caller);
    checks.meet();
    // Numbers of an earlier coordinator mean nothing here.
    if (fields.checked !== undefined && fields.term === this.#service.term) {
      const wrong = fields.wrong === undefined ? undefined : read.text(fields.wrong, 'wrong', MAX_REASON);
      checks.answer(read.integer(fields.checked, 'checked', 1, Number.MAX_SAFE_INTEGER), wrong);
    }
    const { number = 0, hits = [] } = checks.next ?? {};
    return { term: this.#service.term, number, hits: hits.map(plainHit) };
  }

  async #control(id: string, state: string, caller: Caller): Promise<PlainRecord> {
    this.#jobOf(id, caller);
    const known = STATES.find((one) => one === state);
    if (known === undefined) throw refused(`${JSON.stringify(state)} is not a state of a job`);
    await this.#service.control(id, known);
    return {};
  }

  /** Returns a piece of a job's signed manifest, or of an attachment. */
  #fetch(read: FieldReader, fields: PlainRecord): PlainRecord {
    const digest = read.hex(fields.digest, 'digest', ID);
    const offset = read.integer(fields.offset, 'offset', 0, Number.MAX_SAFE_INTEGER);
    const bytes = this.#files.has(digest) ? this.#files.part(digest) : this.#files.jobs().get(digest);
    if (bytes === undefined) throw refused('the job is not known here');
    const piece = bytes.subarray(offset, offset + PIECE_BYTES);
    return { total: bytes.length, bytes: Buffer.from(piece).toString('base64') };
  }

  /** What a worker may know of the fleet: the jobs that it can be asked to do, and how its own part is seen. */
  #about(read: FieldReader, fields: PlainRecord, { user }: Caller): PlainRecord {
    const { fleet, jobs, states } = this.#service.view.overview();
    const shown = jobs.filter(({ state }) => state === 'running' || state === 'paused').slice(0, MAX_SHOWN_JOBS);
    const own = fields.worker === undefined ? undefined : read.text(fields.worker, 'worker', 200);
    const [row] =
      own?.startsWith(`${user}.`) === true
        ? this.#service.view.workers({ ...ALL_WORKERS, count: 1, search: own }).workers
        : [];
    return plainRecord({
      fleet,
      workers: LIVE_STATES.reduce((sum, state) => sum + states[state], 0),
      jobs: shown.map(({ id, name, state, fraction, perSecond }) => ({
        name,
        work: this.#service.core.jobs.get(id)?.name,
        submitters: [...(this.#service.job(id)?.submitters ?? [])].slice(0, MAX_SHOWN_SUBMITTERS),
        state,
        fraction,
        perSecond,
      })),
      ...(row && { worker: { state: row.state, share: row.share ?? 0, trust: row.trust } }),
    });
  }

  async #priority(id: string, priority: number): Promise<PlainRecord> {
    if (this.#service.job(id) === undefined) throw refused('the job is not known here');
    await this.#service.setPriority(id, priority);
    return {};
  }

  #coverage(id: string): PlainRecord {
    const coverage = this.#service.view.coverage(id);
    if (coverage) return plainRecord(coverage);
    throw refused('the job is not known here');
  }

  #provenance(id: string): PlainRecord {
    const provenance = this.#service.view.provenance(id);
    if (provenance) return plainRecord(provenance);
    throw refused('the job is not known here');
  }

  async #recheck(id: string, name: string): Promise<PlainRecord> {
    const indices = await this.#service.recheck(id, name);
    if (indices === undefined)
      throw refused('the job is not over: what a revoked user did of it is done again by itself');
    return { indices: String(indices) };
  }

  #drain(name: string): PlainRecord {
    return { workers: this.#service.drain(name) };
  }

  async #invite(read: FieldReader, fields: PlainRecord): Promise<PlainRecord> {
    const role = INVITED_ROLES.find((one) => one === fields.role);
    if (role === undefined) throw refused(`${JSON.stringify(fields.role)} is not a role`);
    const seconds = read.integer(fields.seconds, 'seconds', 1, MAX_INVITE_SECONDS);
    const name = fields.name === undefined ? undefined : read.text(fields.name, 'name', 200);
    const isTrusted = fields.trusted === true;
    const isLink = fields.browser === true;
    if (isLink && role !== 'worker') throw refused(`a page is a worker, and not a ${role}`);
    const { user, line } = await this.#service.invite(role, seconds, { name, isTrusted }, isLink);
    return { user, invite: line };
  }

  async #revoke(name: string): Promise<PlainRecord> {
    const revoked = await this.#service.revoke(name);
    if (revoked === undefined) return {};
    const { user, reopened } = revoked;
    return {
      user: user.name,
      reopened: reopened.map(({ job, indices, ranges }) => ({ job, indices: String(indices), ranges })),
      rested: this.#service.restedOn(name).map(({ job, indices, length }) => ({
        job: job.id,
        name: job.name,
        ledgerId: job.ledgerId,
        indices: String(indices),
        length: String(length),
      })),
    };
  }

  /** Returns a job if the caller has submitted it, or is an administrator. */
  #jobOf(id: string, caller: Caller): FleetJob {
    const job = this.#service.job(id);
    if (job === undefined) throw refused('the job is not known here: submit it again');
    checkSubmitter(job, caller);
    return job;
  }
}

/** The answer of a coordinator that does not know a job, because it has just started or taken over. The client submits again. */
const UNKNOWN: PlainRecord = { isUnknown: true };

interface ArrivingPart {
  readonly part: Attachment;
  readonly bytes: Uint8Array;
  /** Bytes that have arrived. */
  at: number;
  /** When the last piece came. */
  seen: number;
}

const ID = { min: 32, max: 32 } as const;
const MAX_HITS = 500;
const MAX_REASON = 1000;
const MAX_SHOWN_JOBS = 20;
const MAX_SHOWN_SUBMITTERS = 5;

const keyOf = (job: string, { user }: Caller): string => `${job} ${user}`;

/** Throws `usage` if a job is another submitter's. */
function checkSubmitter({ id, submitters }: FleetJob, { user, role }: Caller): void {
  if (role === 'admin' || submitters.size === 0 || submitters.has(user)) return;
  throw new MillraceError({
    code: 'usage',
    message: `job ${id.slice(0, 12)} was not submitted by ${user}`,
    asked: 'a call to the coordinator of a fleet',
    advice: 'ask its submitter, or the person who runs the coordinator',
  });
}

const plainHit = ({ index, fields }: FoundHit): PlainValue => [String(index), fields];

/** What submitters can make the coordinator hold. */
const MAX_SUBMITTED = 1_000;
const MAX_ARRIVING_BYTES = 2 ** 30;
const ARRIVING_MS = 60_000;
const MAX_GIVEN = 100;
const STATES: readonly RunState[] = ['running', 'paused', 'ended'];

const MAX_INVITE_SECONDS = 10 * 365 * 86_400;

const plainRecord = (value: object): PlainRecord => plainValue(value) as PlainRecord;

const refused = (message: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message,
    asked: 'a call to the coordinator of a fleet',
    advice: 'submit the job again',
  });
