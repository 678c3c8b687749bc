import { Random } from '../../src/device/conformance/model/random.js';
import { type Aim, type ChunkShape, chunkRules } from '../../src/engine/feed/chunk-size.js';
import type { Range } from '../../src/engine/work/space.js';
import { type Effects, Scheduler } from './scheduler.js';
import type { Issue, JobPlan } from './scheduler-state.js';

/**
 * Simulated devices and jobs on a virtual clock. Kernel times are random; devices slow down, hang, die, fail, miss hits or
 * invent some; chunks are cancelled at random moments. Tests check the outcome.
 */
export interface SimulationPlan {
  readonly seed: number;
  readonly devices: readonly DeviceSpec[];
  readonly jobs: readonly JobSpec[];
  /** Probability that a chunk is cancelled while it runs. */
  readonly cancels?: number;
  /** From `fromMs` on other programs leave only `share` of the machine, which the engine measures. */
  readonly otherLoad?: { readonly fromMs: number; readonly share: number };
  /** The simulation ends at this time at the latest. */
  readonly untilMs?: number;
}

export interface DeviceSpec {
  readonly id: string;
  /** Items per millisecond. */
  readonly perMs: number;
  readonly streams?: number;
  readonly perStream?: number;
  /** Cost of a launch in addition to its items. */
  readonly launchMs?: number;
  /** Random variation of chunk times: 0.1 is ± 10 %. */
  readonly jitter?: number;
  /** From `fromMs` on it is `factor` times slower. */
  readonly slows?: { readonly fromMs: number; readonly factor: number };
  /** From `fromMs` on it does not respond for `forMs`. */
  readonly hangs?: { readonly fromMs: number; readonly forMs: number };
  readonly diesAtMs?: number;
  /** Probability that a chunk ends in an error. */
  readonly fails?: number;
  readonly missesFromMs?: number;
  readonly inventsFromMs?: number;
  readonly shape?: Partial<ChunkShape>;
}

export interface JobSpec extends Omit<JobPlan, 'ranges'> {
  readonly range: Range;
  readonly aim?: Aim;
  readonly startsAtMs?: number;
  /** Every nth index is a hit. Default: none. */
  readonly hitEvery?: bigint;
  /** Factor of the time of an item. Default 1. */
  readonly cost?: number;
}

export interface Hit {
  readonly index: bigint;
}

export interface Outcome {
  /** When the last job ended. Undefined if one has not. */
  readonly endMs: number | undefined;
  /** Ranges that counted, in order. */
  readonly counted: ReadonlyMap<string, readonly Range[]>;
  readonly delivered: ReadonlyMap<string, readonly bigint[]>;
  readonly issues: readonly Issue[];
  readonly excluded: ReadonlyMap<string, string>;
  readonly scheduler: Scheduler<Hit>;
  /** Items that were given to each device, including those that did not count. */
  readonly itemsOf: ReadonlyMap<string, number>;
}

export function simulate(plan: SimulationPlan): Outcome {
  return new Simulation(plan).run();
}

/** A chunk on a device. */
interface Running {
  readonly issue: Issue;
  readonly startMs: number;
  endMs: number;
  isCancelled: boolean;
}

const TICK_MS = 100;

class Simulation {
  readonly #plan: SimulationPlan;
  readonly #random: Random;
  readonly #scheduler = new Scheduler<Hit>();
  readonly #specs: ReadonlyMap<string, DeviceSpec>;
  readonly #jobs: ReadonlyMap<string, JobSpec>;
  readonly #events: { readonly atMs: number; readonly happen: () => void }[] = [];
  readonly #running = new Map<number, Running>();
  readonly #freeAtMs = new Map<string, number>();
  readonly #counted = new Map<string, Range[]>();
  readonly #delivered = new Map<string, bigint[]>();
  readonly #issues: Issue[] = [];
  readonly #excluded = new Map<string, string>();
  readonly #items = new Map<string, number>();
  #nowMs = 0;
  #left: number;

  constructor(plan: SimulationPlan) {
    this.#plan = plan;
    this.#random = new Random(plan.seed);
    this.#specs = new Map(plan.devices.map((spec) => [spec.id, spec]));
    this.#jobs = new Map(plan.jobs.map((spec) => [spec.id, spec]));
    this.#left = plan.jobs.length;
    for (const { id, streams, perStream } of plan.devices) this.#scheduler.addDevice(id, streams, perStream);
    for (const job of plan.jobs) this.#at(job.startsAtMs ?? 0, () => this.#start(job));
    for (const { id, diesAtMs } of plan.devices) if (diesAtMs !== undefined) this.#at(diesAtMs, () => this.#die(id));
    this.#at(TICK_MS, () => this.#tick());
  }

  run(): Outcome {
    const untilMs = this.#plan.untilMs ?? 1e7;
    while (this.#left > 0 && this.#nowMs <= untilMs) {
      const next = this.#events.reduce((soonest, event) => (event.atMs < soonest.atMs ? event : soonest));
      this.#events.splice(this.#events.indexOf(next), 1);
      this.#nowMs = next.atMs;
      next.happen();
      this.#pump();
    }
    return {
      endMs: this.#left === 0 ? this.#nowMs : undefined,
      counted: this.#counted,
      delivered: this.#delivered,
      issues: this.#issues,
      excluded: this.#excluded,
      scheduler: this.#scheduler,
      itemsOf: this.#items,
    };
  }

  #at(atMs: number, happen: () => void): void {
    this.#events.push({ atMs, happen });
  }

  #start(job: JobSpec): void {
    this.#scheduler.addJob({ ...job, ranges: [job.range] });
    for (const { id, perMs, shape } of this.#plan.devices) {
      const stride = Math.max(1, Math.round(perMs / 4));
      const fullShape = { stride, granularity: 1, min: 1, max: 2 ** 32, ...shape };
      this.#scheduler.addLane(job.id, id, chunkRules(fullShape, job.aim ?? 'batch'));
    }
  }

  #tick(): void {
    const { fromMs, share } = this.#plan.otherLoad ?? { fromMs: 0, share: 1 };
    this.#apply(this.#scheduler.tick(this.#nowMs >= fromMs ? TICK_MS * share : TICK_MS));
    this.#at(this.#nowMs + TICK_MS, () => this.#tick());
  }

  #pump(): void {
    for (const { id } of this.#plan.devices) {
      for (let issue = this.#scheduler.next(id, this.#nowMs); issue; issue = this.#scheduler.next(id, this.#nowMs)) {
        this.#launch(issue);
      }
    }
  }

  #launch(issue: Issue): void {
    const spec = this.#specs.get(issue.device)!;
    this.#issues.push(issue);
    this.#items.set(issue.device, (this.#items.get(issue.device) ?? 0) + issue.count);
    const startMs = Math.max(this.#nowMs, this.#freeAtMs.get(issue.device) ?? 0);
    const { launchMs = 0.02, jitter = 0 } = spec;
    const cost = this.#jobs.get(issue.job)?.cost ?? 1;
    const random = 1 + jitter * (2 * this.#random.below(1001) * 1e-3 - 1);
    const endMs = endOfWork(spec, startMs, launchMs + ((issue.count * cost) / spec.perMs) * random);
    this.#freeAtMs.set(issue.device, endMs);
    const running: Running = { issue, startMs, endMs, isCancelled: false };
    this.#running.set(issue.id, running);
    this.#at(endMs, () => this.#end(running));
    if (this.#random.chance(this.#plan.cancels ?? 0)) {
      this.#at(startMs + (endMs - startMs) * this.#random.below(1000) * 1e-3, () => this.#cancel(running));
    }
  }

  /** A cancelled chunk stops within a millisecond. The chunks behind it start at their usual time. */
  #cancel(running: Running): void {
    if (!this.#running.has(running.issue.id) || running.isCancelled) return;
    running.isCancelled = true;
    const endMs = Math.max(this.#nowMs, running.startMs) + this.#random.below(1000) * 1e-3;
    if (endMs >= running.endMs) return;
    running.endMs = endMs;
    this.#at(endMs, () => this.#end(running));
  }

  #end(running: Running): void {
    const { issue, startMs, endMs } = running;
    if (running.endMs !== this.#nowMs || !this.#running.delete(issue.id)) return;
    const spec = this.#specs.get(issue.device)!;
    const scheduler = this.#scheduler;
    if (running.isCancelled) {
      scheduler.free(issue);
      this.#apply(scheduler.incomplete(issue.id, this.#nowMs));
      return;
    }
    if (this.#random.chance(spec.fails ?? 0)) {
      scheduler.free(issue);
      this.#apply(scheduler.failed(issue.id, this.#nowMs));
      return;
    }
    scheduler.ended(issue.id, startMs, endMs, this.#nowMs);
    const misses = endMs >= (spec.missesFromMs ?? Number.POSITIVE_INFINITY);
    const invents = endMs >= (spec.inventsFromMs ?? Number.POSITIVE_INFINITY);
    scheduler.free(issue);
    // Checks take time, and chunks overtake each other in them.
    this.#at(this.#nowMs + this.#random.below(1000) * 1e-3, () => this.#judge(issue, misses, invents));
  }

  #judge(issue: Issue, misses: boolean, invents: boolean): void {
    const scheduler = this.#scheduler;
    if (issue.kind === 'canary') {
      this.#apply(scheduler.canaryEnded(issue.id, !misses));
      return;
    }
    const hits = misses ? [] : this.#hitsIn(issue);
    const capacity = this.#jobs.get(issue.job)?.ringCapacity ?? Number.POSITIVE_INFINITY;
    if (hits.length > capacity) scheduler.overflowed(issue.id, hits.length, capacity);
    else if (invents && this.#random.chance(0.5)) this.#apply(scheduler.refuted(issue.id, this.#nowMs));
    else this.#apply(scheduler.accept(issue.id, hits));
  }

  #hitsIn({ job, start, count }: Issue): Hit[] {
    const every = this.#jobs.get(job)?.hitEvery;
    if (every === undefined) return [];
    const hits: Hit[] = [];
    const first = ((start + every - 1n) / every) * every;
    for (let index = first; index < start + BigInt(count); index += every) hits.push({ index });
    return hits;
  }

  #die(id: string): void {
    for (const [chunk, { issue }] of this.#running) if (issue.device === id) this.#running.delete(chunk);
    this.#apply(this.#scheduler.lost(id));
  }

  #apply(effects: Effects<Hit>): void {
    for (const { job, range } of effects.counted) push(this.#counted, job, range);
    for (const { job, results } of effects.delivered)
      for (const { index } of results) push(this.#delivered, job, index);
    for (const id of effects.cancel) {
      const running = this.#running.get(id);
      if (running) this.#cancel(running);
    }
    for (const { device, fault } of effects.excluded) this.#excluded.set(device, fault);
    this.#left -= effects.over.length;
  }
}

/** Returns when work of `workMs` at full speed ends if it starts at `startMs`. */
function endOfWork({ slows, hangs }: DeviceSpec, startMs: number, workMs: number): number {
  let endMs = startMs + workMs;
  if (slows && endMs > slows.fromMs) {
    const before = Math.max(0, slows.fromMs - startMs);
    endMs = startMs + before + (workMs - before) * slows.factor;
  }
  return hangs && endMs > hangs.fromMs && startMs < hangs.fromMs + hangs.forMs ? endMs + hangs.forMs : endMs;
}

function push<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
