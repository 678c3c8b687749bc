import { Intervals } from '../../src/engine/work/intervals.js';
import { between, endOf, minBigint, type Range } from '../../src/engine/work/space.js';
import type { PlainValue } from '../../src/fleet/manifest/index.js';
import {
  type AddedJob,
  Coordinator,
  type CoordinatorEffect,
  type CoordinatorEvent,
  type CoordinatorMessage,
  decodeCoordinatorMessage,
  decodeResult,
  decodeWorkerMessage,
  encodeMessage,
  type FoundHit,
  type LeaseTokens,
  type ResultMessage,
  WORKERS,
  Worker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerMessage,
} from '../../src/fleet/protocol/index.js';
import { isWitness, witnessesIn } from './witnesses.js';

/**
 * A fleet on a virtual clock. The network loses, delays, duplicates and reorders; the stream of results may lose and
 * repeats; machines have clocks of their own, crash, hang and lie. The ledger is the only thing that is sound, and
 * refuses whatever counts an index twice.
 */
export interface World {
  readonly seed: number;
  readonly jobs: readonly SimulatedJob[];
  readonly workers: readonly SimulatedWorker[];
  readonly network: NetworkSpec;
  /** Moments in ms at which the coordinator dies and a new one starts, or is paused and replaced. */
  readonly coordinatorFaults?: readonly { readonly atMs: number; readonly kind: 'crash' | 'pause' }[];
  /** Moments at which workers are revoked, by the place of their spec: their user, with all of its processes. */
  readonly revocations?: readonly { readonly atMs: number; readonly worker: number }[];
  /** Moments at which the stream loses everything that it holds. */
  readonly streamLosses?: readonly number[];
  /** Encodes and decodes every message. */
  readonly viaText?: boolean;
  readonly maxEvents?: number;
}

export interface SimulatedJob {
  readonly id: string;
  readonly space: Range;
  readonly mode: 'all' | 'first' | 'any' | 'arrival';
  /** Indices that are multiples of it hit. */
  readonly hitEvery: bigint;
  readonly startsAtMs?: number;
  readonly cancelAtMs?: number;
  readonly priority?: number;
  /** It can run with a weaker condition. */
  readonly hasWitnesses?: boolean;
}

export interface SimulatedWorker {
  readonly perMs: number;
  readonly joinsAtMs?: number;
  readonly diesAtMs?: number;
  /** Joins again, as another process, this long after it died. */
  readonly returnsAfterMs?: number;
  /** From then on its devices do nothing, but it still answers. */
  readonly hangsAtMs?: number;
  readonly leavesAtMs?: number;
  /** Cut off from the network. */
  readonly offline?: { readonly fromMs: number; readonly toMs: number };
  /** Adds hits that are none. */
  readonly invents?: boolean;
  readonly refuses?: readonly string[];
  /** Not trusted by its invite. */
  readonly isStranger?: boolean;
  /** Changes what it publishes. `heard` are the results of others, the last ones first. */
  readonly lie?: (result: ResultMessage, heard: readonly ResultMessage[]) => ResultMessage | undefined;
  /** The speed of its clock: 1.1 is 10 % fast. */
  readonly clock?: number;
}

export interface NetworkSpec {
  readonly loss: number;
  readonly duplicates: number;
  readonly latencyMs: number;
  /** Share of messages that take up to a minute. */
  readonly late: number;
}

export interface Outcome {
  readonly events: number;
  readonly endedAtMs: number;
  readonly jobs: ReadonlyMap<
    string,
    { readonly outcome: string; readonly done: bigint; readonly hits: readonly bigint[] }
  >;
  /** Indices that counted and were taken back. */
  readonly reopened: bigint;
  /** Indices that workers did, over those that were needed. */
  readonly workRatio: number;
  /** The share of its time in which a worker had something to do, of all workers, until nothing more was waiting. */
  readonly fed: number;
  readonly messages: number;
  readonly terms: number;
  /** Workers that were proven wrong: the place of their spec, why, and their leases until then. */
  readonly barred: readonly { readonly worker: number; readonly reason: string; readonly leases: number }[];
  /** Indices that were done again for audits, over all. */
  readonly audited: number;
  /** Standings at the end, by the place of the spec. */
  readonly standings: readonly string[];
}

export function simulate(world: World): Outcome {
  return new Simulation(world).run();
}

class Simulation {
  readonly #world: World;
  readonly #queue = new EventQueue();
  readonly #workers = new Map<string, LiveWorker>();
  readonly #ledger = new Ledger();
  readonly #outcomes = new Map<string, string>();
  /** Results that the stream holds. */
  readonly #stream = new Map<number, ResultMessage>();
  #leaders: LiveCoordinator[] = [];
  #random: number;
  #now = 0;
  #receipts = 0;
  #messages = 0;
  #terms = 0;
  #workDone = 0n;
  #reopened = 0n;
  #workerNames = 0;
  #busyMs = 0;
  #aliveMs = 0;
  readonly #strangers = new Set<string>();
  readonly #revokedPlaces = new Set<number>();
  readonly #placesOfSpecs = new Map<SimulatedWorker, number>();
  readonly #places = new Map<string, number>();
  readonly #heard: ResultMessage[] = [];
  readonly #leases = new Map<string, Set<string>>();
  readonly #barred = new Map<string, { reason: string; leases: number }>();
  readonly #audited = new Map<string, bigint>();

  constructor(world: World) {
    this.#world = world;
    this.#random = (world.seed ^ 0x5bd1e995) >>> 0 || 1;
  }

  run(): Outcome {
    const { jobs, workers, coordinatorFaults = [], streamLosses = [], maxEvents = 2_000_000 } = this.#world;
    const { revocations = [] } = this.#world;
    for (const job of jobs) this.#ledger.add(job);
    this.#startCoordinator(0);
    for (const { startsAtMs = 0, cancelAtMs, ...job } of jobs) {
      this.#at(startsAtMs, () => {
        this.#ledger.open.add(job.id);
        // A coordinator that was replaced does not hear of it.
        this.#leaders.at(-1)?.tell({ kind: 'add', job: this.#ledger.jobOf(job.id) });
      });
      if (cancelAtMs !== undefined)
        this.#at(cancelAtMs, () => this.#leaders.at(-1)?.tell({ kind: 'control', job: job.id, state: 'ended' }));
    }
    workers.forEach((spec, place) => {
      this.#placesOfSpecs.set(spec, place);
      this.#at(spec.joinsAtMs ?? 0, () => this.#join(spec));
    });
    for (const { atMs, kind } of coordinatorFaults) this.#at(atMs, () => this.#breakCoordinator(kind));
    for (const { atMs, worker } of revocations) this.#at(atMs, () => this.#revoke(worker));
    for (const at of streamLosses) this.#at(at, () => this.#stream.clear());
    let events = 0;
    while (this.#outcomes.size < jobs.length) {
      const next = this.#queue.pop();
      if (next === undefined) throw new Error(`nothing more happens at ${this.#now} ms: ${this.#stateText()}`);
      if (++events > maxEvents)
        throw new Error(`no end after ${maxEvents} events, ${this.#now} ms: ${this.#stateText()}`);
      this.#now = next.at;
      next.run();
    }
    const results = jobs.map(({ id }) => {
      const { done, hits } = this.#ledger.job(id);
      const found = [...hits].sort((a, b) => (a < b ? -1 : 1));
      return [id, { outcome: this.#outcomes.get(id) ?? '', done: done.total, hits: found }] as const;
    });
    const needed = results.reduce((sum, [, { done }]) => sum + done, 0n);
    for (const worker of this.#workers.values()) this.#count(worker);
    return {
      events,
      endedAtMs: this.#now,
      jobs: new Map(results),
      reopened: this.#reopened,
      workRatio: Number(this.#workDone) / Math.max(1, Number(needed)),
      fed: this.#busyMs / Math.max(1, this.#aliveMs),
      messages: this.#messages,
      terms: this.#terms,
      barred: [...this.#barred].map(([id, one]) => ({ worker: this.#places.get(id) ?? -1, ...one })),
      audited: [...this.#audited.values()].reduce((sum, one) => sum + Number(one), 0) / Math.max(1, Number(needed)),
      standings: [...this.#places.keys()].map((id) => this.#leaders.at(-1)?.core.standingOf(id).standing ?? ''),
    };
  }

  #stateText(): string {
    const open = [...this.#ledger.open].filter((id) => !this.#outcomes.has(id));
    return open.map((id) => `${id} ${this.#ledger.job(id).done.total} done`).join(', ');
  }

  // the coordinator

  #startCoordinator(adoptMs: number): void {
    const term = ++this.#terms;
    this.#ledger.term = term;
    const trust = {
      isOwn: (id: string) => !this.#strangers.has(id),
      isRevoked: (id: string) => this.#ledger.revoked.has(id),
      random: () => this.#uniform(),
    };
    const state = this.#ledger.state.get(WORKERS) ?? new Map();
    const core = new Coordinator({ term, tokens, now: this.#now, adoptMs, trust, state });
    const leader: LiveCoordinator = {
      core,
      isAlive: true,
      pausedUntil: 0,
      ticksAt: undefined,
      tell: (event) => {
        if (!leader.isAlive) return;
        if (leader.pausedUntil > this.#now) return void this.#at(leader.pausedUntil, () => leader.tell(event));
        // Whatever ends is gone from its machine when the effects are carried out.
        for (const [id, { trust }] of core.jobs) this.#audited.set(id, trust.auditedIndices);
        for (const effect of core.handle(event, this.#now)) this.#carryOut(leader, effect);
        this.#tickLater(leader);
      },
    };
    this.#leaders = [...this.#leaders.filter(({ isAlive }) => isAlive), leader];
    for (const id of this.#ledger.open)
      if (!this.#outcomes.has(id)) leader.tell({ kind: 'add', job: this.#ledger.jobOf(id) });
    leader.tell({ kind: 'start' });
    // The stream delivers again what nobody has acknowledged.
    for (const [receipt, result] of this.#stream) this.#deliver(() => leader.tell({ kind: 'result', receipt, result }));
  }

  /** Who is revoked survives at once; what that does to jobs is the coordinator's, which may die before it does it. */
  #revoke(place: number): void {
    this.#revokedPlaces.add(place);
    for (const [id, of] of this.#places) {
      if (of !== place) continue;
      this.#ledger.revoked.add(id);
      // The server ends its connections.
      const worker = this.#workers.get(id);
      if (worker) this.#end(worker);
      this.#leaders.at(-1)?.tell({ kind: 'revoke', who: id });
    }
  }

  #tickLater(leader: LiveCoordinator): void {
    const at = leader.core.nextTick;
    if (at === undefined || (leader.ticksAt !== undefined && leader.ticksAt <= at)) return;
    leader.ticksAt = at;
    this.#at(at, () => {
      if (leader.ticksAt !== at) return;
      leader.ticksAt = undefined;
      leader.tell({ kind: 'tick' });
    });
  }

  #breakCoordinator(kind: 'crash' | 'pause'): void {
    for (const leader of this.#leaders) {
      if (kind === 'crash') leader.isAlive = false;
      else leader.pausedUntil = this.#now + 5_000 + this.#uniform() * 20_000;
    }
    this.#at(this.#now + this.#uniform() * 8_000, () => this.#startCoordinator(3_000));
  }

  #carryOut(leader: LiveCoordinator, effect: CoordinatorEffect): void {
    switch (effect.kind) {
      case 'send':
        this.#sendToWorker(effect.to, effect.message);
        break;
      case 'broadcast':
        for (const id of this.#workers.keys()) this.#sendToWorker(id, effect.message);
        return;
      case 'verify': {
        const { receipt, job, hits, witnesses, bits = 0 } = effect;
        const { hitEvery } = this.#ledger.job(job).spec;
        const isWrong =
          hits.some(({ index, fields }) => index % hitEvery !== 0n || fields.twice !== 2n * index) ||
          witnesses.some(({ index }) => !isWitness(index, bits) || index % hitEvery === 0n);
        this.#at(this.#now + this.#uniform() * 20, () =>
          leader.tell({ kind: 'verified', receipt, wrong: isWrong ? 'a hit is wrong' : undefined }),
        );
        return;
      }
      case 'commit':
        this.#commit(leader, effect);
        break;
      case 'acknowledge':
        for (const receipt of effect.receipts) this.#stream.delete(receipt);
        return;
      case 'ended':
        if (effect.outcome !== 'cancelled') this.#ledger.checkEnd(effect.job);
        this.#outcomes.set(effect.job, effect.outcome);
        return;
      case 'fault':
        if (leader.core.standingOf(effect.worker).standing === 'barred' && !this.#barred.has(effect.worker))
          this.#barred.set(effect.worker, {
            reason: effect.reason,
            leases: this.#leases.get(effect.worker)?.size ?? 0,
          });
        return;
      case 'reopened':
        this.#reopened += effect.indices;
        return;
      case 'refused':
        return;
      default:
        effect satisfies never;
        break;
    }
  }

  #commit(leader: LiveCoordinator, effect: CommitEffect): void {
    this.#at(this.#now + 1 + this.#uniform() * 10, () => {
      if (leader.pausedUntil > this.#now) return void this.#at(leader.pausedUntil, () => this.#commit(leader, effect));
      // A process that dies may have written before it died.
      if (!leader.isAlive && this.#uniform() < 0.5) return;
      if (!this.#ledger.commit(effect)) {
        leader.isAlive = false; // another one has taken over
        return;
      }
      leader.tell({ kind: 'committed' });
    });
  }

  // workers

  #join(spec: SimulatedWorker): void {
    if (this.#revokedPlaces.has(this.#placesOfSpecs.get(spec) ?? -1)) return;
    const id = `w${++this.#workerNames}`;
    this.#places.set(id, this.#placesOfSpecs.get(spec) ?? -1);
    if (spec.isStranger) this.#strangers.add(id);
    const core = new Worker({ id, spread: this.#uniform() });
    const clock = { rate: spec.clock ?? 1, offset: this.#uniform() * 1e9 };
    const worker: LiveWorker = {
      id,
      spec,
      core,
      isAlive: true,
      ticksAt: undefined,
      todo: new Map(),
      running: undefined,
      busySince: undefined,
      joinedAt: this.#now,
      localNow: () => (this.#now + clock.offset) * clock.rate,
      trueTime: (local) => local / clock.rate - clock.offset,
      tell: (event) => {
        if (!worker.isAlive) return;
        for (const effect of core.handle(event, worker.localNow())) this.#do(worker, effect);
        this.#runDevice(worker);
        this.#workerTickLater(worker);
      },
    };
    this.#workers.set(id, worker);
    worker.tell({ kind: 'tick' });
    const { diesAtMs, returnsAfterMs, leavesAtMs } = spec;
    if (diesAtMs !== undefined)
      this.#at(Math.max(this.#now, diesAtMs), () => {
        this.#end(worker);
        const { diesAtMs: _, ...healthy } = spec;
        this.#placesOfSpecs.set(healthy, this.#placesOfSpecs.get(spec) ?? -1);
        if (returnsAfterMs !== undefined) this.#at(this.#now + returnsAfterMs, () => this.#join(healthy));
      });
    if (leavesAtMs !== undefined)
      this.#at(Math.max(this.#now, leavesAtMs), () => worker.tell({ kind: 'leave', reason: 'asked to' }));
  }

  #end(worker: LiveWorker): void {
    if (!worker.isAlive) return;
    worker.isAlive = false;
    this.#count(worker);
    this.#workers.delete(worker.id);
  }

  #count(worker: LiveWorker): void {
    this.#aliveMs += this.#now - worker.joinedAt;
    if (worker.busySince !== undefined) this.#busyMs += this.#now - worker.busySince;
    worker.busySince = worker.busySince === undefined ? undefined : this.#now;
    worker.joinedAt = this.#now;
  }

  #workerTickLater(worker: LiveWorker): void {
    const at = Math.max(this.#now, worker.trueTime(worker.core.nextTick));
    if (!Number.isFinite(at) || (worker.ticksAt !== undefined && worker.ticksAt <= at)) return;
    worker.ticksAt = at;
    this.#at(at + 0.01, () => {
      if (worker.ticksAt !== at) return;
      worker.ticksAt = undefined;
      worker.tell({ kind: 'tick' });
    });
  }

  #do(worker: LiveWorker, effect: WorkerEffect): void {
    switch (effect.kind) {
      case 'send':
        this.#sendToCoordinator(worker, effect.message);
        break;
      case 'publish':
        this.#publish(worker, effect.result);
        break;
      case 'open': {
        const { job } = effect;
        const isRefused = worker.spec.refuses?.includes(job) === true;
        this.#at(this.#now + 5 + this.#uniform() * 200, () =>
          worker.tell(
            isRefused ? { kind: 'failed', job, reason: 'not here' } : { kind: 'opened', job, bits: effect.bits },
          ),
        );
        return;
      }
      case 'feed': {
        const { job, bits, range } = effect;
        const todo = worker.todo.get(todoKey(job, bits))?.ranges ?? Intervals.none;
        worker.todo.set(todoKey(job, bits), { job, bits, ranges: todo.add(range) });
        return;
      }
      case 'drop': {
        const todo = worker.todo.get(todoKey(effect.job, effect.bits));
        if (todo) todo.ranges = todo.ranges.remove(effect.range);
        return;
      }
      case 'close':
        for (const [key, { job }] of worker.todo) if (job === effect.job) worker.todo.delete(key);
        return;
      case 'pause':
        return;
      case 'left':
        this.#end(worker);
        break;
      default:
        effect satisfies never;
        break;
    }
  }

  /** Lets the worker's device do the next piece: at most a quarter of a second at first, longer in long leases. */
  #runDevice(worker: LiveWorker): void {
    if (!worker.isAlive || worker.running) return;
    const found = [...worker.todo.values()].find(({ ranges }) => !ranges.isEmpty);
    if (found === undefined) {
      if (worker.busySince !== undefined) this.#busyMs += this.#now - worker.busySince;
      worker.busySince = undefined;
      return;
    }
    worker.busySince ??= this.#now;
    const { job, bits, ranges: todo } = found;
    const { first } = todo;
    if (first === undefined) return;
    const { perMs, hangsAtMs = Infinity } = worker.spec;
    const size = BigInt(Math.max(1, Math.ceil(Math.max(perMs * 250, Number(todo.total) / 4))));
    const piece = between(first.start, first.start + minBigint(first.length, size));
    found.ranges = todo.remove(piece);
    worker.running = { job, piece };
    if (hangsAtMs <= this.#now) return;
    const ms = (Number(piece.length) / perMs) * (0.9 + 0.2 * this.#uniform());
    this.#at(this.#now + ms, () => {
      if (!worker.isAlive || hangsAtMs <= this.#now) return;
      worker.running = undefined;
      this.#workDone += piece.length;
      const hits = this.#hitsIn(worker, job, piece);
      worker.tell({ kind: 'done', job, bits, range: piece, hits, witnesses: this.#witnessesIn(job, bits, piece) });
    });
  }

  #witnessesIn(job: string, bits: number | undefined, piece: Range): FoundHit[] {
    if (bits === undefined) return [];
    const { hitEvery } = this.#ledger.job(job).spec;
    return witnessesIn(piece, bits)
      .filter((index) => index % hitEvery !== 0n)
      .map((index) => ({ index, fields: {} }));
  }

  #hitsIn(worker: LiveWorker, job: string, piece: Range): FoundHit[] {
    const { hitEvery } = this.#ledger.job(job).spec;
    const hits: FoundHit[] = [];
    for (let index = ((piece.start + hitEvery - 1n) / hitEvery) * hitEvery; index < endOf(piece); index += hitEvery)
      hits.push({ index, fields: { twice: 2n * index } });
    if (worker.spec.invents) hits.push({ index: endOf(piece) - 1n, fields: { twice: 1n } });
    return hits;
  }

  // the network

  #sendToCoordinator(worker: LiveWorker, message: WorkerMessage): void {
    if (this.#isOffline(worker)) return;
    const sent = this.#world.viaText ? decodeWorkerMessage(encodeMessage(message)) : message;
    for (const leader of this.#leaders)
      if (leader.isAlive) this.#transmit(() => leader.tell({ kind: 'message', message: sent }));
  }

  #sendToWorker(id: string, message: CoordinatorMessage): void {
    const sent = this.#world.viaText ? decodeCoordinatorMessage(encodeMessage(message)) : message;
    this.#transmit(() => {
      const worker = this.#workers.get(id);
      if (worker && !this.#isOffline(worker)) worker.tell({ kind: 'message', message: sent });
    });
  }

  #publish(worker: LiveWorker, honest: ResultMessage): void {
    if (this.#isOffline(worker)) return;
    const { lie } = worker.spec;
    const message = lie ? lie(honest, this.#heard) : honest;
    if (message === undefined) return;
    if (worker.spec.isStranger) {
      const own = this.#leases.get(worker.id) ?? new Set();
      this.#leases.set(worker.id, own.add(honest.claim.id));
      this.#heard.unshift(message);
      if (this.#heard.length > 1000) this.#heard.pop();
    }
    const result = this.#world.viaText ? decodeResult(encodeMessage(message)) : message;
    this.#transmit(() => {
      const receipt = ++this.#receipts;
      this.#stream.set(receipt, result);
      for (const leader of this.#leaders) this.#deliver(() => leader.tell({ kind: 'result', receipt, result }));
    });
  }

  /** The stream repeats, but does not lose. */
  #deliver(action: () => void): void {
    const { duplicates } = this.#world.network;
    for (let copies = this.#uniform() < duplicates ? 2 : 1; copies > 0; copies--)
      this.#at(this.#now + this.#delay(), action);
  }

  #transmit(action: () => void): void {
    const { loss, duplicates } = this.#world.network;
    this.#messages++;
    for (let copies = this.#uniform() < duplicates ? 2 : 1; copies > 0; copies--)
      if (this.#uniform() >= loss) this.#at(this.#now + this.#delay(), action);
  }

  #delay(): number {
    const { latencyMs, late } = this.#world.network;
    return this.#uniform() < late ? this.#uniform() * 60_000 : -Math.log(1 - this.#uniform()) * latencyMs;
  }

  #isOffline({ spec: { offline } }: LiveWorker): boolean {
    return offline !== undefined && this.#now >= offline.fromMs && this.#now < offline.toMs;
  }

  #at(time: number, run: () => void): void {
    this.#queue.push(time, run);
  }

  #uniform(): number {
    this.#random ^= this.#random << 13;
    this.#random ^= this.#random >>> 17;
    this.#random ^= this.#random << 5;
    return (this.#random >>> 0) / 2 ** 32;
  }
}

interface LiveCoordinator {
  readonly core: Coordinator;
  isAlive: boolean;
  pausedUntil: number;
  ticksAt: number | undefined;
  tell(event: CoordinatorEvent): void;
}

interface LiveWorker {
  readonly id: string;
  readonly spec: SimulatedWorker;
  readonly core: Worker;
  isAlive: boolean;
  ticksAt: number | undefined;
  readonly todo: Map<string, { readonly job: string; readonly bits: number | undefined; ranges: Intervals }>;
  running: { readonly job: string; readonly piece: Range } | undefined;
  busySince: number | undefined;
  joinedAt: number;
  localNow(): number;
  trueTime(local: number): number;
  tell(event: WorkerEvent): void;
}

const todoKey = (job: string, bits: number | undefined): string => `${job} ${bits}`;

/** What survives. It accepts each index once, and no commit of a coordinator that was replaced. */
class Ledger {
  term = 0;
  readonly open = new Set<string>();
  /** What survives coordinators besides ranges and hits. */
  readonly state = new Map<string, Map<string, PlainValue>>();
  readonly #jobs = new Map<string, LedgerJob>();
  readonly revoked = new Set<string>();

  add(spec: SimulatedJob): void {
    this.#jobs.set(spec.id, { spec, done: Intervals.none, hits: new Set(), early: new Set() });
  }

  job(id: string) {
    const job = this.#jobs.get(id);
    if (job === undefined) throw new Error(`no job ${id}`);
    return job;
  }

  /** The job as a coordinator that starts reads it. */
  jobOf(id: string): AddedJob {
    const { spec, done, hits } = this.job(id);
    const firstHit = [...hits].reduce<bigint | undefined>(
      (least, hit) => (least === undefined || hit < least ? hit : least),
      undefined,
    );
    const { space, mode, priority = 0, hasWitnesses = false } = spec;
    const first = firstHit === undefined ? {} : { firstHit };
    const near = hasWitnesses ? { witnesses: 'graded' as const } : {};
    const state = this.state.get(id) ?? new Map();
    return { id, name: 'kernel', space, mode, priority, counted: done, state, ...near, ...first };
  }

  commit({ term, entries, changes }: CommitEffect): boolean {
    if (term < this.term) return false;
    for (const { scope, key, value } of changes) {
      const values = this.state.get(scope) ?? new Map<string, PlainValue>();
      this.state.set(scope, values);
      if (value === undefined) values.delete(key);
      else values.set(key, value);
    }
    for (const { job: id, reopened = [], ranges, hits, early } of entries) {
      const job = this.job(id);
      for (const range of reopened) {
        if (!job.done.has(range)) throw new Error(`${id}: ${range.start} to ${endOf(range)} is reopened and not done`);
        job.done = job.done.remove(range);
        for (const index of job.hits) if (index >= range.start && index < endOf(range)) job.early.add(index);
      }
      for (const range of ranges) {
        if (!job.done.within(range).isEmpty) throw new Error(`${id}: ${range.start} to ${endOf(range)} counts twice`);
        job.done = job.done.add(range);
      }
      for (const { index } of hits) {
        if (job.hits.has(index) && !job.early.delete(index)) throw new Error(`${id}: the hit ${index} counts twice`);
        job.hits.add(index);
      }
      for (const { index } of early) {
        if (job.done.has({ start: index, length: 1n })) continue;
        job.early.add(index);
        job.hits.add(index);
      }
    }
    return true;
  }

  /** Throws if a job that is said to be over lacks something. */
  checkEnd(id: string): void {
    const { spec, done, hits, early } = this.job(id);
    const { space, mode, hitEvery } = spec;
    const lowest = ((space.start + hitEvery - 1n) / hitEvery) * hitEvery;
    const first = lowest < endOf(space) ? lowest : undefined;
    if (mode === 'any' && hits.size > 0) return;
    const needed = mode === 'first' && first !== undefined ? between(space.start, first + 1n) : space;
    const [missing] = done.missing(needed);
    if (missing) throw new Error(`${id} ended without ${missing.start} to ${endOf(missing)}`);
    if (mode === 'first' && first !== undefined && !hits.has(first)) throw new Error(`${id} ended without its answer`);
    let expected = early.size;
    for (const range of done)
      expected += Number((endOf(range) - 1n) / hitEvery - (range.start + hitEvery - 1n) / hitEvery + 1n);
    if (hits.size !== expected) throw new Error(`${id} has ${hits.size} hits of ${expected}`);
  }
}

type CommitEffect = Extract<CoordinatorEffect, { readonly kind: 'commit' }>;

interface LedgerJob {
  readonly spec: SimulatedJob;
  done: Intervals;
  readonly hits: Set<bigint>;
  /** Hits whose ranges do not count yet. */
  readonly early: Set<bigint>;
}

/** Tokens that tell leases apart. Real ones are an HMAC. */
const tokens: LeaseTokens = {
  make: (worker, { job, id, range }) => `${worker} ${job} ${id} ${range.start} ${range.length}`,
  isValid: (worker, claim, token) => token === tokens.make(worker, claim),
};

/** Events by time: a binary heap. */
class EventQueue {
  readonly #heap: { readonly at: number; readonly number: number; readonly run: () => void }[] = [];
  #count = 0;

  push(at: number, run: () => void): void {
    const heap = this.#heap;
    const added = { at, number: this.#count++, run };
    let place = heap.length;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      // Of two at one moment the earlier one goes first.
      if (heap[parent]!.at <= at) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = added;
  }

  pop(): { readonly at: number; run(): void } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const moved = heap.pop();
    if (moved === undefined || heap.length === 0) return first;
    let place = 0;
    for (let child = 1; child < heap.length; child = 2 * place + 1) {
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, moved)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = moved;
    return first;
  }
}

type Queued = { readonly at: number; readonly number: number };
const isBefore = (a: Queued, b: Queued): boolean => a.at < b.at || (a.at === b.at && a.number < b.number);
