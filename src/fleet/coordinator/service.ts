import { randomInt } from 'node:crypto';
import { firstLine } from '../../kernel/error.js';
import { displayText } from '../../network/fields.js';
import type { Store } from '../../store/index.js';
import type { FleetUser } from '../access/index.js';
import { decodeCall, encodeAnswer, encodeError } from '../calls.js';
import { type Clock, systemClock } from '../clock.js';
import { decodeManifest, openSignedManifest } from '../manifest/index.js';
import { type Bus, type CommitFence, replacedError, type StoredResult } from '../nats/index.js';
import {
  Coordinator,
  type CoordinatorEffect,
  type CoordinatorEvent,
  decodeCoordinatorMessage,
  decodeResult,
  decodeWorkerMessage,
  encodeMessage,
  WORKERS,
} from '../protocol/index.js';
import { FleetView } from '../view/fleet-view.js';
import type { FleetWorkload } from '../workload.js';
import type { AccessControl } from './access-control.js';
import { CallHandler } from './call-handler.js';
import { describeJob } from './described-job.js';
import type { FleetFiles } from './files.js';
import { FleetJob } from './fleet-job.js';
import { SenderGuard } from './sender-guard.js';
import { hmacTokens } from './tokens.js';

export interface ServiceOptions {
  readonly bus: Bus;
  readonly access: AccessControl;
  readonly files: FleetFiles;
  readonly store: Store;
  /** Workloads that the fleet can run, besides users' kernels. */
  readonly workloads?: readonly FleetWorkload[];
  /** Tells the user something. */
  readonly say: (message: string) => void;
  readonly warn: (message: string) => void;
  readonly clock?: Clock;
}

/** Carries out what the coordinator's machine decides: messages on NATS, hits checked, ranges and hits in the ledger. */
export class CoordinatorService {
  readonly #options: ServiceOptions;
  readonly #core: Coordinator;
  readonly #jobs = new Map<string, FleetJob>();
  readonly #results = new Map<number, StoredResult>();
  readonly #closing = new AbortController();
  readonly #clock: Clock;
  readonly #fence: CommitFence;
  /** For those who watch the fleet. */
  readonly view: FleetView;
  readonly #guard: SenderGuard;
  #receipts = 0;
  #stopTimer: () => void = () => undefined;
  #writing: Promise<void> = Promise.resolve();
  #isOver = false;
  #fail: (error: unknown) => void = () => undefined;
  /** Rejects when the coordinator cannot go on: the ledger does not accept its work. */
  readonly failed: Promise<never>;

  private constructor(options: ServiceOptions) {
    const { files, bus, access, warn, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#fence = bus.fence(files.term, warn);
    // Workers of an earlier coordinator announce what they hold within this time.
    const adoptMs = files.jobs().size > 0 ? ADOPT_MS : 0;
    const trusted = new Map<string, boolean>();
    // A worker is whoever was invited: its processes do not audit each other.
    const trust = {
      identityOf: userOf,
      isOwn: (user: string) => {
        const isOwn = trusted.get(user) ?? access.isTrusted(user);
        trusted.set(user, isOwn);
        return isOwn;
      },
      random: () => randomInt(2 ** 47) / 2 ** 47,
    };
    const tokens = hmacTokens(files.secret);
    const state = files.state.scope(WORKERS);
    this.#core = new Coordinator({ term: files.term, tokens, now: clock.now(), adoptMs, trust, state });
    this.view = new FleetView({
      core: this.#core,
      jobs: () => this.#jobs.values(),
      fleet: files.fleet,
      server: () => bus.serverVersion,
      term: files.term,
      now: () => clock.now(),
    });
    const flooded = (user: string): void => void this.#flooded(user);
    this.#guard = new SenderGuard({ now: () => clock.now(), warn, flooded });
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined); // whoever waits for it is told
  }

  /** Opens the jobs that are not over and begins to serve. */
  static async start(options: ServiceOptions): Promise<CoordinatorService> {
    const service = new CoordinatorService(options);
    const { files, bus, warn } = options;
    // From here on an earlier coordinator commits nothing more.
    await service.#fence.pass(service.#closing.signal);
    for (const [id, signed] of files.jobs()) {
      try {
        await service.open(id, signed);
      } catch (error) {
        warn(`job ${id.slice(0, 12)} cannot be resumed: ${firstLine(error)}`);
      }
    }
    bus.subscribe('from', (bytes, user) => service.#receive(bytes, user));
    bus.subscribe('all', (bytes) => service.#overhear(bytes));
    const calls = new CallHandler(service, files);
    // Attachments are large, and come one piece after the answer to the last: bytes of calls are not counted.
    const hears = (user: string): boolean => service.#hears(user, 0);
    bus.serve(hears, async (bytes, caller) => {
      try {
        return encodeAnswer(await calls.answer(decodeCall(bytes), caller));
      } catch (error) {
        return encodeError(error);
      }
    });
    void bus.results((result) => service.#takeResult(result), warn, service.#closing.signal);
    service.handle({ kind: 'start' });
    return service;
  }

  get core(): Coordinator {
    return this.#core;
  }

  get access(): AccessControl {
    return this.#options.access;
  }

  get term(): number {
    return this.#options.files.term;
  }

  job(id: string): FleetJob | undefined {
    return this.#jobs.get(id);
  }

  /** Drains the workers that are called so. Returns their ids. */
  drain(name: string): string[] {
    const found = [...this.#core.workers.keys()].filter((id) => isCalled(id, name));
    for (const worker of found) this.handle({ kind: 'drain', worker });
    return found;
  }

  /** The ledger keeps the priority for the next coordinator. */
  async setPriority(id: string, priority: number): Promise<void> {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    await this.#options.store.setPriority(job.ledgerId, priority);
    this.handle({ kind: 'priority', job: id, priority });
  }

  /** Opens a submitted job, whose attachments are all here. */
  async open(id: string, signed: Uint8Array): Promise<FleetJob> {
    const { files, store, workloads = [], say } = this.#options;
    const known = this.#jobs.get(id);
    if (known !== undefined && known.outcome !== 'cancelled') return known;
    const manifest = decodeManifest(openSignedManifest(signed).manifest);
    const described = describeJob(manifest, { files, workloads });
    await this.#replace(described.key);
    const job = await FleetJob.open(id, manifest, described, store);
    files.saveJob(id, signed);
    this.#jobs.set(id, job);
    say(`job ${id.slice(0, 12)}: ${displayText(job.name)}`);
    this.handle({ kind: 'add', job: job.added(files.state.scope(id)) });
    return job;
  }

  /** Leaves a paused job with the same record in the ledger: what is done of it is done of the new one. */
  async #replace(key: string): Promise<void> {
    for (const job of this.#jobs.values()) {
      if (job.key !== key || this.#core.jobs.get(job.id)?.state !== 'paused') continue;
      this.#jobs.delete(job.id);
      this.handle({ kind: 'control', job: job.id, state: 'ended' });
      this.#options.files.removeJob(job.id);
      await this.#writing.catch(() => undefined);
      await job.leave('submitted in another form');
    }
  }

  handle(event: CoordinatorEvent): void {
    if (this.#isOver) return;
    for (const effect of this.#core.handle(event, this.#clock.now())) this.#carryOut(effect);
    this.#setTimer();
  }

  /** Ends a user: its connections, its leases, and results that are not read. Returns undefined if nobody has the name. */
  async revoke(name: string): Promise<FleetUser | undefined> {
    const { access, bus, say, warn } = this.#options;
    const user = await access.revoke(name);
    if (user === undefined) return undefined;
    for (const worker of this.#core.workers.keys())
      if (isOf(name, worker)) this.handle({ kind: 'bar', worker, reason: 'it was revoked' });
    say(`${name} is revoked`);
    // Results that stay in the stream are refused one by one.
    await bus.removeResults(name).catch((error: unknown) => warn(firstLine(error)));
    return user;
  }

  /** Leaves everything as it is for the next coordinator. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#closing.abort();
    this.#stopTimer();
    await this.#writing.catch(() => undefined);
    for (const job of this.#jobs.values()) await job.leave();
    this.#options.files.state.close();
  }

  /** Users that are revoked, or send too much, are not heard. */
  #hears(user: string, bytes: number): boolean {
    return !this.access.isRevoked(user) && (user === ADMIN || this.#guard.admits(user, bytes));
  }

  async #flooded(user: string): Promise<void> {
    const { warn } = this.#options;
    warn(`${user} floods the fleet, and is revoked`);
    await this.revoke(user).catch((error: unknown) => warn(firstLine(error)));
  }

  #receive(bytes: Uint8Array, user: string): void {
    if (!this.#hears(user, bytes.length)) return;
    try {
      const message = decodeWorkerMessage(bytes);
      checkSender(user, message.worker);
      this.handle({ kind: 'message', message });
    } catch (error) {
      this.#guard.complain(user, `${user}: ${firstLine(error)}`);
    }
  }

  /** Broadcasts, which are this coordinator's own unless another one has taken over. */
  #overhear(bytes: Uint8Array): void {
    try {
      if (decodeCoordinatorMessage(bytes).term > this.term) this.#stop(replacedError());
    } catch (error) {
      this.#options.warn(firstLine(error));
    }
  }

  #takeResult(stored: StoredResult): void {
    const receipt = ++this.#receipts;
    if (!this.#hears(stored.user, stored.bytes.length)) {
      stored.acknowledge(); // its worker sends it again
      return;
    }
    try {
      const result = decodeResult(stored.bytes);
      checkSender(stored.user, result.worker);
      this.#results.set(receipt, stored);
      this.handle({ kind: 'result', receipt, result });
    } catch (error) {
      stored.acknowledge(); // it will not become readable
      this.#guard.complain(stored.user, `${stored.user}: ${firstLine(error)}`);
    }
  }

  #carryOut(effect: CoordinatorEffect): void {
    const { bus, say, warn } = this.#options;
    switch (effect.kind) {
      case 'send':
        bus.publish(`to.${effect.to}`, encodeMessage(effect.message));
        break;
      case 'broadcast':
        bus.publish('all', encodeMessage(effect.message));
        break;
      case 'verify':
        void this.#verify(effect);
        break;
      case 'commit':
        this.#writing = this.#commit(effect);
        break;
      case 'acknowledge':
        for (const receipt of effect.receipts) this.#results.get(receipt)?.acknowledge();
        for (const receipt of effect.receipts) this.#results.delete(receipt);
        break;
      case 'ended':
        void this.#end(effect.job, effect.outcome);
        break;
      case 'refused':
        say(
          `worker ${displayText(effect.worker)} cannot run job ${effect.job.slice(0, 12)}: ${displayText(effect.reason)}`,
        );
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
      wrong = await this.#jobs.get(job)?.check(hits, witnesses, bits);
    } catch (error) {
      wrong = `its hits cannot be checked: ${firstLine(error)}`;
    }
    // The hits are the kernel's. If the submitter's own check refuses one, no worker is at fault.
    const refused = wrong === undefined ? await this.#jobs.get(job)?.checks.check(hits) : undefined;
    this.handle({ kind: 'verified', receipt, wrong: wrong ?? refused, isDisputed: refused !== undefined });
  }

  async #commit({ entries, changes }: CommitEffect): Promise<void> {
    try {
      await this.#fence.pass(this.#closing.signal);
      for (const entry of entries) this.#jobs.get(entry.job)?.add(entry);
      const jobs = new Set(entries.map(({ job }) => job));
      await Promise.all([...jobs].map((id) => this.#jobs.get(id)?.write()));
      this.#options.files.state.apply(changes.filter(({ scope }) => scope === WORKERS || this.#jobs.has(scope)));
      for (const entry of entries) this.#jobs.get(entry.job)?.committed(entry);
    } catch (error) {
      this.#stop(error);
      return;
    }
    this.handle({ kind: 'committed' });
  }

  /** Does nothing from here on: the ledger does not accept its work, or is another coordinator's. */
  #stop(error: unknown): void {
    this.#isOver = true;
    this.#closing.abort();
    this.#fail(error);
  }

  async #end(id: string, outcome: 'complete' | 'answered' | 'cancelled'): Promise<void> {
    const job = this.#jobs.get(id);
    if (job === undefined) return;
    try {
      await job.end(outcome);
      this.#options.files.removeJob(id);
      this.#options.say(`job ${id.slice(0, 12)}: ${outcome}, ${job.hits.length} hits`);
    } catch (error) {
      this.#fail(error);
    }
  }

  #setTimer(): void {
    this.#stopTimer();
    const { nextTick } = this.#core;
    if (nextTick === undefined || this.#isOver) return;
    this.#stopTimer = this.#clock.after(Math.max(1, nextTick - this.#clock.now()), () => this.handle({ kind: 'tick' }));
  }
}

type CommitEffect = Extract<CoordinatorEffect, { readonly kind: 'commit' }>;
type VerifyEffect = Extract<CoordinatorEffect, { readonly kind: 'verify' }>;

/** A worker's id begins with its user, which the server has checked. */
const userOf = (worker: string): string => worker.slice(0, worker.indexOf('.'));

const isOf = (user: string, worker: string): boolean => worker.startsWith(`${user}.`);

function checkSender(user: string, worker: string): void {
  if (!isOf(user, worker)) throw new Error(`a message as ${displayText(worker)}, which is not its worker`);
}

/** A worker is called by its id, its user, or the name that it was started with. */
function isCalled(id: string, name: string): boolean {
  const [user, process = ''] = id.split('.');
  return id === name || user === name || process === name || process.startsWith(`${name}-`);
}

/** Whoever serves the fleet, and all workers of its own machine. */
const ADMIN = 'admin';

const ADOPT_MS = 3_000;
