import { Random } from '../../src/device/conformance/model/random.js';
import { type Aim, type ChunkShape, chunkRules } from '../../src/engine/feed/chunk-size.js';
import type { Range } from '../../src/engine/work/space.js';
import { Conductor, type Effects } from './conductor.js';
import type { Issue, JobPlan } from './standing.js';

/**
 * Devices, jobs and a clock that exist only here. Kernel times are random, devices slow down, hang, die, fail, miss hits
 * or invent some; chunks are cancelled at random moments. What comes out is kept for the tests to judge.
 */
export interface WorldPlan {
  readonly seed: number;
  readonly devices: readonly DeviceNature[];
  readonly jobs: readonly JobNature[];
  /** Chance that a chunk is cancelled by somebody while it runs. */
  readonly cancels?: number;
  /** From then on other programs leave this share of the machine, and the engine knows it. */
  readonly crowded?: { readonly fromMs: number; readonly share: number };
  /** The world ends here at the latest. */
  readonly untilMs?: number;
}

export interface DeviceNature {
  readonly id: string;
  /** Items per millisecond. */
  readonly perMs: number;
  readonly streams?: number;
  readonly perStream?: number;
  /** What every launch costs beside its items. */
  readonly launchMs?: number;
  /** Chunks take up to this much longer or shorter: 0.1 is ± 10 %. */
  readonly jitter?: number;
  /** From `fromMs` on it is `factor` times slower. */
  readonly slows?: { readonly fromMs: number; readonly factor: number };
  /** It answers nothing from then on, for so long. */
  readonly hangs?: { readonly fromMs: number; readonly forMs: number };
  readonly diesAtMs?: number;
  /** Chance that a chunk ends in an error. */
  readonly fails?: number;
  readonly missesFromMs?: number;
  readonly inventsFromMs?: number;
  readonly shape?: Partial<ChunkShape>;
}

export interface JobNature extends Omit<JobPlan, 'ranges'> {
  readonly range: Range;
  readonly aim?: Aim;
  readonly startsAtMs?: number;
  /** Every so many indices one hits; default none. */
  readonly hitEvery?: bigint;
  /** An item costs so many times more here. */
  readonly cost?: number;
}

export interface Hit {
  readonly index: bigint;
}

export interface Outcome {
  /** When the last job ended; undefined when one has not. */
  readonly endMs: number | undefined;
  /** What counted, in the order it did. */
  readonly counted: ReadonlyMap<string, readonly Range[]>;
  readonly told: ReadonlyMap<string, readonly bigint[]>;
  readonly issues: readonly Issue[];
  readonly excluded: ReadonlyMap<string, string>;
  readonly conductor: Conductor<Hit>;
  /** Items that devices were given, those that did not count included. */
  readonly itemsOf: ReadonlyMap<string, number>;
}

export function simulate(plan: WorldPlan): Outcome {
  return new World(plan).run();
}

/** A chunk on a device. */
interface Running {
  readonly issue: Issue;
  readonly startMs: number;
  endMs: number;
  isCancelled: boolean;
}

const TICK_MS = 100;

class World {
  readonly #plan: WorldPlan;
  readonly #random: Random;
  readonly #conductor = new Conductor<Hit>();
  readonly #natures: ReadonlyMap<string, DeviceNature>;
  readonly #jobs: ReadonlyMap<string, JobNature>;
  readonly #events: { readonly atMs: number; readonly happen: () => void }[] = [];
  readonly #running = new Map<number, Running>();
  readonly #freeAtMs = new Map<string, number>();
  readonly #counted = new Map<string, Range[]>();
  readonly #told = new Map<string, bigint[]>();
  readonly #issues: Issue[] = [];
  readonly #excluded = new Map<string, string>();
  readonly #items = new Map<string, number>();
  #nowMs = 0;
  #left: number;

  constructor(plan: WorldPlan) {
    this.#plan = plan;
    this.#random = new Random(plan.seed);
    this.#natures = new Map(plan.devices.map((nature) => [nature.id, nature]));
    this.#jobs = new Map(plan.jobs.map((nature) => [nature.id, nature]));
    this.#left = plan.jobs.length;
    for (const { id, streams, perStream } of plan.devices) this.#conductor.addDevice(id, streams, perStream);
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
      told: this.#told,
      issues: this.#issues,
      excluded: this.#excluded,
      conductor: this.#conductor,
      itemsOf: this.#items,
    };
  }

  #at(atMs: number, happen: () => void): void {
    this.#events.push({ atMs, happen });
  }

  #start(job: JobNature): void {
    this.#conductor.addJob({ ...job, ranges: [job.range] });
    for (const { id, perMs, shape } of this.#plan.devices) {
      const stride = Math.max(1, Math.round(perMs / 4));
      const whole = { stride, granularity: 1, min: 1, max: 2 ** 32, ...shape };
      this.#conductor.addLane(job.id, id, chunkRules(whole, job.aim ?? 'batch'));
    }
  }

  #tick(): void {
    const { fromMs, share } = this.#plan.crowded ?? { fromMs: 0, share: 1 };
    this.#apply(this.#conductor.tick(this.#nowMs >= fromMs ? TICK_MS * share : TICK_MS));
    this.#at(this.#nowMs + TICK_MS, () => this.#tick());
  }

  #pump(): void {
    for (const { id } of this.#plan.devices) {
      for (let issue = this.#conductor.next(id, this.#nowMs); issue; issue = this.#conductor.next(id, this.#nowMs)) {
        this.#launch(issue);
      }
    }
  }

  #launch(issue: Issue): void {
    const nature = this.#natures.get(issue.device)!;
    this.#issues.push(issue);
    this.#items.set(issue.device, (this.#items.get(issue.device) ?? 0) + issue.count);
    const startMs = Math.max(this.#nowMs, this.#freeAtMs.get(issue.device) ?? 0);
    const { launchMs = 0.02, jitter = 0 } = nature;
    const cost = this.#jobs.get(issue.job)?.cost ?? 1;
    const random = 1 + jitter * (2 * this.#random.below(1001) * 1e-3 - 1);
    const endMs = endOfWork(nature, startMs, launchMs + ((issue.count * cost) / nature.perMs) * random);
    this.#freeAtMs.set(issue.device, endMs);
    const running: Running = { issue, startMs, endMs, isCancelled: false };
    this.#running.set(issue.id, running);
    this.#at(endMs, () => this.#end(running));
    if (this.#random.chance(this.#plan.cancels ?? 0)) {
      this.#at(startMs + (endMs - startMs) * this.#random.below(1000) * 1e-3, () => this.#cancel(running));
    }
  }

  /** A cancelled chunk stops within a millisecond of its turn. What is behind it starts when it would have anyway. */
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
    const nature = this.#natures.get(issue.device)!;
    const conductor = this.#conductor;
    if (running.isCancelled) {
      conductor.free(issue);
      this.#apply(conductor.incomplete(issue.id, this.#nowMs));
      return;
    }
    if (this.#random.chance(nature.fails ?? 0)) {
      conductor.free(issue);
      this.#apply(conductor.failed(issue.id, this.#nowMs));
      return;
    }
    conductor.ended(issue.id, startMs, endMs, this.#nowMs);
    const misses = endMs >= (nature.missesFromMs ?? Number.POSITIVE_INFINITY);
    const invents = endMs >= (nature.inventsFromMs ?? Number.POSITIVE_INFINITY);
    conductor.free(issue);
    // Checking takes a while, and chunks overtake each other in it.
    this.#at(this.#nowMs + this.#random.below(1000) * 1e-3, () => this.#judge(issue, misses, invents));
  }

  #judge(issue: Issue, misses: boolean, invents: boolean): void {
    const conductor = this.#conductor;
    if (issue.kind === 'canary') {
      this.#apply(conductor.audited(issue.id, !misses));
      return;
    }
    const hits = misses ? [] : this.#hitsIn(issue);
    const room = this.#jobs.get(issue.job)?.ringRoom ?? Number.POSITIVE_INFINITY;
    if (hits.length > room) conductor.overflowed(issue.id, hits.length, room);
    else if (invents && this.#random.chance(0.5)) this.#apply(conductor.refuted(issue.id, this.#nowMs));
    else this.#apply(conductor.accept(issue.id, hits));
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
    this.#apply(this.#conductor.lost(id));
  }

  #apply(effects: Effects<Hit>): void {
    for (const { job, range } of effects.counted) push(this.#counted, job, range);
    for (const { job, results } of effects.told) for (const { index } of results) push(this.#told, job, index);
    for (const id of effects.cancel) {
      const running = this.#running.get(id);
      if (running) this.#cancel(running);
    }
    for (const { device, fault } of effects.excluded) this.#excluded.set(device, fault);
    this.#left -= effects.over.length;
  }
}

/** When so much work (milliseconds at full speed) is done that starts then. */
function endOfWork({ slows, hangs }: DeviceNature, startMs: number, workMs: number): number {
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
