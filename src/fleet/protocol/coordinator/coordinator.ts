import { type Identity, type Standing, Standings } from '../../trust/index.js';
import type {
  CoordinatorCounts,
  CoordinatorEffect,
  CoordinatorEvent,
  CoordinatorOptions,
  DepartedWorker,
  JobView,
  WorkerView,
} from '../events.js';
import type { JobId, WorkerId, WorkerMessage } from '../messages.js';
import { Commits } from './commits.js';
import { Grants } from './grants.js';
import { Jobs } from './jobs.js';
import { Output } from './output.js';
import { Results } from './results.js';
import { Roster } from './roster.js';
import type { CoordinatorState } from './state.js';
import { Workers } from './workers.js';

/**
 * The coordinator's decisions: which worker gets which range, which results count, when a job ends. It does nothing itself:
 * it takes events with the time and returns effects, so that tests can run it on a simulated network. What it knows of
 * workers may be lost at any time; what counts is in the ledger.
 */
export class Coordinator {
  readonly #state: CoordinatorState;
  readonly #grants: Grants;
  readonly #jobs: Jobs;
  readonly #results: Results;
  readonly #workers: Workers;

  constructor({ term, tokens, now, adoptMs = 0, trust, state: stored }: CoordinatorOptions) {
    const identityOf = (worker: WorkerId): Identity => trust?.identityOf?.(worker) ?? worker;
    const isOwn = (who: Identity): boolean => trust?.isOwn(who) ?? true;
    const state: CoordinatorState = {
      output: new Output(term, now),
      tokens,
      jobs: new Map(),
      roster: new Roster(),
      standings: new Standings(isOwn, stored, (who) => trust?.isRevoked?.(who) ?? false),
      trusting: { identityOf, isOwn: (worker) => isOwn(identityOf(worker)) },
    };
    const commits = new Commits(state);
    this.#state = state;
    this.#grants = new Grants(term, tokens, state.roster, state.jobs, state.trusting);
    this.#jobs = new Jobs(state, commits, () => trust?.random() ?? 0);
    this.#results = new Results(state, commits, this.#jobs);
    this.#workers = new Workers(state, this.#grants, this.#jobs, now + adoptMs);
  }

  /** When the next `tick` is due. Undefined if no worker is known. */
  get nextTick(): number | undefined {
    return this.#state.roster.nextLapse;
  }

  get workers(): ReadonlyMap<WorkerId, WorkerView> {
    return this.#state.roster.all;
  }

  get jobs(): ReadonlyMap<JobId, JobView> {
    return this.#state.jobs;
  }

  /** Workers that have left in the last minute. */
  departed(now: number): Iterable<DepartedWorker> {
    return this.#state.roster.departed(now);
  }

  /** The version of a worker's messages. Undefined if it is the current one, or not known. */
  versionOf(worker: WorkerId): number | undefined {
    return this.#state.roster.versionOf(worker);
  }

  /** The interval of heartbeats. */
  get beatMs(): number {
    return this.#state.roster.beatMs;
  }

  /** Changes with everything that a view shows, except for the time of the last message. */
  get revision(): number {
    return this.#state.output.revision;
  }

  get counts(): CoordinatorCounts {
    return { leases: this.#grants.count, ...this.#jobs.counts, ...this.#results.counts };
  }

  /** How far a worker is believed, and how often it has agreed with others. */
  standingOf(worker: WorkerId): { readonly standing: Standing; readonly agreements: number } {
    const { standings, trusting } = this.#state;
    const who = trusting.identityOf(worker);
    return { standing: standings.of(who), agreements: standings.conduct(who).agreements };
  }

  /** True if results of a job wait because no other worker could audit them. */
  lacksAuditor(id: JobId): boolean {
    const job = this.#state.jobs.get(id);
    return job?.trust.lacksAuditor(() => this.#grants.auditors(job)) ?? false;
  }

  handle(event: CoordinatorEvent, now: number): CoordinatorEffect[] {
    const { output } = this.#state;
    output.begin(now);
    if (event.kind !== 'message' && event.kind !== 'tick') output.noteChange();
    this.#dispatch(event);
    return output.effects;
  }

  #dispatch(event: CoordinatorEvent): void {
    const { output } = this.#state;
    switch (event.kind) {
      case 'start':
        output.broadcast({ kind: 'announce', term: output.term });
        break;
      case 'add':
        this.#jobs.add(event.job);
        break;
      case 'message':
        this.#receive(event.message);
        break;
      case 'result':
        this.#results.take(event.receipt, event.result);
        break;
      case 'verified':
        this.#results.verified(event.receipt, event.wrong, event.isDisputed);
        break;
      case 'committed':
        this.#jobs.committed();
        break;
      case 'control':
        this.#jobs.control(event.job, event.state);
        break;
      case 'priority':
        this.#jobs.setPriority(event.job, event.priority);
        break;
      case 'drain':
        this.#workers.drain(event.worker);
        break;
      case 'revoke':
        this.#results.exclude(event.who, 'it was revoked');
        break;
      case 'tick':
        this.#workers.lapse();
        break;
      default:
        event satisfies never;
        break;
    }
  }

  #receive(message: WorkerMessage): void {
    switch (message.kind) {
      case 'want':
        this.#workers.want(message);
        break;
      case 'beat':
        this.#workers.beat(message);
        break;
      case 'leave':
        this.#workers.remove(message.worker, message.reason);
        break;
      case 'refuse':
        this.#jobs.refuse(message.job, message.worker, message.reason);
        break;
      default:
        message satisfies never;
        break;
    }
  }
}
