import { randomInt } from 'node:crypto';
import { deferred } from '../../device/deferred.js';
import { firstLine } from '../../kernel/error.js';
import { displayText } from '../../network/fields.js';
import type { FleetUser, InviteTraits } from '../access/index.js';
import { decodeCall, encodeAnswer, encodeError } from '../calls.js';
import { type Clock, systemClock } from '../clock.js';
import { type Bus, type Caller, type CommitLog, type Role, replacedError } from '../nats/index.js';
import {
  Coordinator,
  type CoordinatorEffect,
  type CoordinatorEvent,
  encodeMessage,
  type JobOutcome,
  type ProtocolVersions,
  type RunState,
  VERSIONS,
  WORKERS,
} from '../protocol/index.js';
import type { FleetJob, Replica } from '../replica/index.js';
import { FleetView } from '../view/fleet-view.js';
import type { AccessControl } from './access-control.js';
import { CallHandler } from './call-handler.js';
import { MessageReader } from './message-reader.js';
import { RecordWriter } from './record-writer.js';
import { hmacTokens } from './tokens.js';
import { isCalled, userOf } from './worker-names.js';

export interface ServiceOptions {
  readonly bus: Bus;
  readonly log: CommitLog;
  readonly replica: Replica;
  readonly access: AccessControl;
  /** The term that this coordinator has claimed in the log. */
  readonly term: number;
  /** Tells the user something. */
  readonly say: (message: string) => void;
  readonly warn: (message: string) => void;
  readonly clock?: Clock;
  /** Of messages. Default: those of this release. */
  readonly versions?: ProtocolVersions | undefined;
}

/** Carries out what the coordinator's machine decides: messages on NATS, hits checked, ranges and hits in the ledger. */
export class CoordinatorService {
  readonly #options: ServiceOptions;
  readonly #core: Coordinator;
  readonly #opening = new Map<string, Promise<FleetJob>>();
  readonly #closing = new AbortController();
  readonly #clock: Clock;
  readonly #versions: ProtocolVersions;
  /** For those who watch the fleet. */
  readonly view: FleetView;
  readonly #reader: MessageReader;
  readonly #writer: RecordWriter;
  /** Whether users were invited as trusted, as far as that was asked. */
  readonly #trusted = new Map<string, boolean>();
  /** Jobs that end because the same work was submitted in another form. */
  readonly #replaced = new Set<string>();
  #stopTimer: () => void = () => undefined;
  #isOver = false;
  readonly #failure = deferred<never>();
  /** Rejects when the coordinator cannot go on: the ledger does not accept its work. */
  readonly failed = this.#failure.promise;

  private constructor(options: ServiceOptions) {
    const { replica, term, bus, access, warn, clock = systemClock } = options;
    const { files } = replica;
    this.#options = options;
    this.#clock = clock;
    this.#versions = options.versions ?? VERSIONS;
    // Workers of an earlier coordinator announce what they hold within this time.
    const adoptMs = replica.jobs.size > 0 ? ADOPT_MS : 0;
    // Workers of one invite are one worker: they do not audit each other.
    const trust = {
      identityOf: userOf,
      isOwn: (user: string) => {
        const isOwn = this.#trusted.get(user) ?? access.isTrusted(user);
        this.#trusted.set(user, isOwn);
        return isOwn;
      },
      isRevoked: (user: string) => access.isRevoked(user),
      random: () => randomInt(2 ** 47) / 2 ** 47,
    };
    const tokens = hmacTokens(files.secret);
    const state = files.state.scope(WORKERS);
    this.#core = new Coordinator({ term, tokens, now: clock.now(), adoptMs, trust, state });
    this.view = new FleetView({
      core: this.#core,
      jobs: () => replica.jobs.values(),
      hits: () => replica.hitCount,
      fleet: files.fleet,
      server: () => bus.serverVersion,
      term,
      now: () => clock.now(),
    });
    const { log } = options;
    const versions = this.#versions;
    const stop = (error: unknown): void => this.#stop(error);
    const { signal } = this.#closing;
    this.#writer = new RecordWriter({ log, replica, term, clock, signal, failed: stop });
    this.#reader = new MessageReader({
      ...{ bus, access, term, versions, warn, now: () => clock.now() },
      handle: (event) => void this.handle(event),
      replaced: stop,
      flooded: (user) => void this.#flooded(user),
    });
    this.failed.catch(() => undefined); // told to those who wait for it
  }

  /** Begins to serve: an earlier coordinator commits nothing more. */
  static async start(options: ServiceOptions): Promise<CoordinatorService> {
    const service = new CoordinatorService(options);
    const { replica, bus, warn } = options;
    for (const job of replica.jobs.values()) if (job.outcome === undefined) service.#add(job);
    service.#writer.renew();
    const reader = service.#reader;
    bus.subscribe('from', (bytes, user) => reader.receive(bytes, user));
    bus.subscribe('all', (bytes) => reader.overhear(bytes));
    const calls = new CallHandler(service, replica.files);
    // Attachments are large, and come one piece after the answer to the last: bytes of calls are not counted.
    const hears = (user: string): boolean => reader.hears(user, 0);
    bus.serve(hears, async (bytes, caller) => {
      const answer = await answerOf(calls, bytes, caller);
      // All coordinators hear a call. The answer of one that is over would be taken for that of its successor.
      return service.#isOver ? undefined : answer;
    });
    await bus.rereadResults();
    void bus.results((result) => reader.takeResult(result), warn, service.#closing.signal);
    service.handle({ kind: 'start' });
    return service;
  }

  get core(): Coordinator {
    return this.#core;
  }

  get term(): number {
    return this.#options.term;
  }

  job(id: string): FleetJob | undefined {
    return this.#options.replica.jobs.get(id);
  }

  /** Drains the workers that are called so. Returns their ids. */
  drain(name: string): string[] {
    const found = [...this.#core.workers.keys()].filter((id) => isCalled(id, name));
    for (const worker of found) this.handle({ kind: 'drain', worker });
    return found;
  }

  async setPriority(id: string, priority: number): Promise<void> {
    const job = this.job(id);
    if (job === undefined) return;
    await this.#options.replica.setPriority(job, priority);
    this.handle({ kind: 'priority', job: id, priority });
    await this.#stored();
  }

  /** Pauses, resumes or cancels a job. */
  async control(job: string, state: RunState): Promise<void> {
    this.handle({ kind: 'control', job, state });
    await this.#stored();
  }

  /** Opens a submitted job, whose attachments are all here. A user that submits an open job shares it. */
  async open(id: string, signed: Uint8Array, submitter: string): Promise<FleetJob> {
    // A job that has just been cancelled has its outcome when that is stored.
    await this.#stored();
    const known = this.job(id);
    const isOpen = known !== undefined && known.outcome !== 'cancelled';
    const job = isOpen ? known : await this.#openOnce(id, signed, submitter);
    if (job.outcome !== undefined) job.submitters.add(submitter);
    else if (!job.submitters.has(submitter)) await this.#writer.append({ kind: 'open', job: id, signed, submitter });
    return job;
  }

  #openOnce(id: string, signed: Uint8Array, submitter: string): Promise<FleetJob> {
    const opening = this.#opening.get(id) ?? this.#open(id, signed, submitter).finally(() => this.#opening.delete(id));
    this.#opening.set(id, opening);
    return opening;
  }

  async #open(id: string, signed: Uint8Array, submitter: string): Promise<FleetJob> {
    await this.#replace(this.#options.replica.check(signed).key);
    const failed = await this.#writer.append({ kind: 'open', job: id, signed, submitter });
    const job = this.job(id);
    if (failed !== undefined || job === undefined) throw failed;
    this.#add(job);
    return job;
  }

  #add(job: FleetJob): void {
    const { replica, say } = this.#options;
    say(`job ${job.id.slice(0, 12)}: ${displayText(job.name)}`);
    this.handle({ kind: 'add', job: job.added(replica.files.state.scope(job.id)) });
  }

  /** Leaves a paused job with the same record in the ledger: what is done of it is done of the new one, by the same workers. */
  async #replace(key: string): Promise<void> {
    for (const { id, key: other } of [...this.#options.replica.jobs.values()]) {
      if (other !== key || this.#core.jobs.get(id)?.state !== 'paused') continue;
      this.#replaced.add(id);
      this.handle({ kind: 'control', job: id, state: 'ended' });
      await this.#stored();
    }
  }

  /** Returns what the machine has asked for, which is under way. */
  handle(event: CoordinatorEvent): readonly CoordinatorEffect[] {
    if (this.#isOver) return [];
    const effects = this.#core.handle(event, this.#clock.now());
    for (const effect of effects) this.#carryOut(effect);
    this.#setTimer();
    return effects;
  }

  /**
   * Ends a user: its connections, its leases, results that are not read, and what counts by its word alone in jobs that run.
   * Returns undefined if no user has the name.
   */
  async revoke(name: string): Promise<Revocation | undefined> {
    const { access, bus, say, warn } = this.#options;
    const known = access.user(name);
    if (known === undefined) return undefined;
    const user = { ...known, revoked: known.revoked ?? Math.floor(Date.now() / 1000) };
    await this.#writer.append({ kind: 'user', user });
    await access.push();
    say(`${name} is revoked`);
    const reopened = this.handle({ kind: 'revoke', who: name }).filter((effect) => effect.kind === 'reopened');
    // Results that stay in the stream are refused one by one.
    await bus.removeResults(name).catch((error: unknown) => warn(firstLine(error)));
    return { user, reopened };
  }

  /** Returns the jobs that have ended since this coordinator started and rest on a user's word alone, with how many of their indices do. */
  restedOn(name: string): { readonly job: FleetJob; readonly indices: bigint; readonly length: bigint }[] {
    const ended = [...this.#options.replica.jobs.values()].filter(({ outcome }) => outcome !== undefined);
    return ended.flatMap((job) => {
      const indices = job.provenance.restingOn((worker) => worker === name).total;
      return indices === 0n ? [] : [{ job, indices, length: job.manifest.space.length }];
    });
  }

  /**
   * Takes back what counts of a job that is over by a user's word alone. Others do it when the job is submitted again. Returns the
   * number of indices; undefined if the job is not known, or is not over.
   */
  async recheck(id: string, name: string): Promise<bigint | undefined> {
    const job = this.job(id);
    if (job?.outcome === undefined) return undefined;
    const ranges = job.provenance.restingOn((worker) => worker === name);
    if (!ranges.isEmpty)
      await this.#writer.append({ kind: 'reopen', job: id, ledgerId: job.ledgerId, ranges: [...ranges] });
    return ranges.total;
  }

  /** Makes a user. Returns the line of its invite. */
  async invite(role: Role, seconds: number, traits: InviteTraits, isLink = false): ReturnType<AccessControl['invite']> {
    const { access } = this.#options;
    const made = await (isLink ? access.link(seconds, traits) : access.invite(role, seconds, traits));
    // An earlier user of this name may have been another.
    this.#trusted.delete(made.user);
    const user = access.user(made.user);
    if (user) await this.#writer.append({ kind: 'user', user });
    return made;
  }

  /** Leaves everything as it is for the next coordinator. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#closing.abort();
    this.#stopTimer();
    await this.#writer.close();
  }

  async #flooded(user: string): Promise<void> {
    const { warn } = this.#options;
    warn(`${user} floods the fleet, and is revoked`);
    await this.revoke(user).catch((error: unknown) => warn(firstLine(error)));
  }

  #carryOut(effect: CoordinatorEffect): void {
    const { bus, say, warn } = this.#options;
    const { oldest, current } = this.#versions;
    switch (effect.kind) {
      case 'send':
        bus.publish(`to.${effect.to}`, encodeMessage(effect.message, this.#core.versionOf(effect.to) ?? current));
        break;
      case 'broadcast':
        bus.publish('all', encodeMessage(effect.message, oldest));
        break;
      case 'verify':
        void this.#verify(effect);
        break;
      case 'commit':
        void this.#commit(effect);
        break;
      case 'acknowledge':
        this.#reader.acknowledge(effect.receipts);
        break;
      case 'ended':
        void this.#end(effect.job, effect.outcome);
        break;
      case 'refused':
        say(
          `worker ${displayText(effect.worker)} cannot run job ${effect.job.slice(0, 12)}: ${displayText(effect.reason)}`,
        );
        break;
      case 'reopened':
        say(`job ${effect.job.slice(0, 12)}: ${effect.indices} indices in ${effect.ranges} ranges are done again`);
        break;
      case 'fault':
        warn(`worker ${displayText(effect.worker)} sent a wrong result: ${displayText(effect.reason)}`);
        break;
      default:
        effect satisfies never;
    }
  }

  async #verify({ receipt, job, hits, witnesses, bits }: VerifyEffect): Promise<void> {
    let wrong: string | undefined;
    try {
      wrong = await this.job(job)?.check(hits, witnesses, bits);
    } catch (error) {
      wrong = `its hits cannot be checked: ${firstLine(error)}`;
    }
    // The hits are the kernel's. If the submitter's own check refuses one, no worker is at fault.
    const refused = wrong === undefined ? await this.job(job)?.checks.check(hits) : undefined;
    this.handle({ kind: 'verified', receipt, wrong: wrong ?? refused, isDisputed: refused !== undefined });
  }

  async #commit({ entries, changes }: CommitEffect): Promise<void> {
    try {
      await this.#writer.append({ kind: 'commit', entries, changes });
    } catch {
      return; // the coordinator has stopped
    }
    this.handle({ kind: 'committed' });
  }

  /** Resolves when what was asked for is stored. Throws if another coordinator has taken over. */
  async #stored(): Promise<void> {
    await this.#writer.written;
    if (this.#isOver) throw replacedError();
  }

  /** Does nothing from here on: the ledger does not accept its work, or is another coordinator's. */
  #stop(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#closing.abort();
    this.#failure.reject(error);
  }

  async #end(id: string, outcome: JobOutcome): Promise<void> {
    const isReplaced = this.#replaced.delete(id);
    const ledgerId = this.job(id)?.ledgerId;
    const replaced = { outcome: 'replaced', ...(ledgerId !== undefined && { ledgerId }) } as const;
    try {
      await this.#writer.append({ kind: 'end', job: id, ...(isReplaced ? replaced : { outcome }) });
    } catch {
      return; // the coordinator has stopped
    }
    if (!isReplaced) this.#options.say(`job ${id.slice(0, 12)}: ${outcome}, ${this.job(id)?.hits.length ?? 0} hits`);
  }

  #setTimer(): void {
    this.#stopTimer();
    const { nextTick } = this.#core;
    if (nextTick === undefined || this.#isOver) return;
    this.#stopTimer = this.#clock.after(Math.max(1, nextTick - this.#clock.now()), () => this.handle({ kind: 'tick' }));
  }
}

async function answerOf(calls: CallHandler, bytes: Uint8Array, caller: Caller): Promise<Uint8Array> {
  try {
    return encodeAnswer(await calls.answer(decodeCall(bytes), caller));
  } catch (error) {
    return encodeError(error);
  }
}

/** A user that was revoked, and what of which jobs is done again. */
export interface Revocation {
  readonly user: FleetUser;
  readonly reopened: readonly ReopenedEffect[];
}

type ReopenedEffect = Extract<CoordinatorEffect, { readonly kind: 'reopened' }>;
type CommitEffect = Extract<CoordinatorEffect, { readonly kind: 'commit' }>;
type VerifyEffect = Extract<CoordinatorEffect, { readonly kind: 'verify' }>;

const ADOPT_MS = 3_000;
