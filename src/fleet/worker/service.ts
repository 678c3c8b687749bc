import type { Engine } from '../../engine/engine.js';
import type { Range } from '../../engine/work/space.js';
import { firstLine } from '../../kernel/error.js';
import { displayText } from '../../network/fields.js';
import { FleetClient } from '../client/index.js';
import { type Clock, systemClock } from '../clock.js';
import { type JobWork, jobWork } from '../job-work.js';
import {
  attachmentsOf,
  decodeManifest,
  openSignedManifestAnywhere,
  type PlainRecord,
  plainValue,
} from '../manifest/index.js';
import type { MemberBus } from '../nats/index.js';
import {
  type Contribution,
  decodeCoordinatorMessage,
  encodeMessage,
  type FoundHit,
  type JobRun,
  type ProtocolVersions,
  VERSIONS,
  Worker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerMessage,
} from '../protocol/index.js';
import type { FleetWorkload } from '../workload.js';
import { DeviceMeter } from './device-meter.js';
import { DutyCycle } from './duty-cycle.js';
import { LAUNCH_LIMIT_MS, LaunchWatch, WATCH_MS } from './launch-watch.js';
import { LeaseSource } from './lease-source.js';

export interface WorkerServiceOptions {
  readonly bus: Pick<MemberBus, 'user' | 'publish' | 'subscribe' | 'call'>;
  readonly engine: Engine;
  /** Unique among its user's: another one for each process. */
  readonly id: string;
  readonly only?: readonly string[];
  /** Workloads of this machine, besides users' kernels. */
  readonly workloads?: readonly FleetWorkload[];
  /** For how long a launch of a user's kernel may take. Default: a minute. */
  readonly launchLimitMs?: number;
  readonly say: (message: string) => void;
  readonly warn: (message: string) => void;
  readonly clock?: Clock;
  /** Of messages. Default: those of this release. */
  readonly versions?: ProtocolVersions;
}

/** Carries out what the worker's machine decides: leases on an ordinary engine, results on NATS. */
export class WorkerService {
  readonly #options: WorkerServiceOptions;
  readonly #core: Worker;
  readonly #client: FleetClient;
  /** By job and, where witnesses are asked for, their bits. */
  readonly #runs = new Map<string, RunningJob>();
  readonly #clock: Clock;
  readonly #versions: ProtocolVersions;
  #stopTimer: () => void = () => undefined;
  readonly #meter = new DeviceMeter();
  readonly #duty = new DutyCycle();
  #stopDuty: () => void = () => undefined;
  readonly #subscriptions: readonly (() => void)[];
  #isOver = false;
  #isBusy: boolean | undefined;
  #onLeft: () => void = () => undefined;
  /** Its name on the fleet, with that of its user. */
  readonly id: string;
  /** Resolves when the worker has left the fleet. */
  readonly left: Promise<void>;

  constructor(options: WorkerServiceOptions) {
    const { bus, only, clock = systemClock } = options;
    const id = `${bus.user}.${options.id}`;
    this.#options = options;
    this.#clock = clock;
    this.#versions = options.versions ?? VERSIONS;
    this.#client = new FleetClient(bus);
    this.#core = new Worker({ id, spread: Math.random(), ...(only && { only }) });
    this.left = new Promise((resolve) => {
      this.#onLeft = resolve;
    });
    const receive = (bytes: Uint8Array): void => this.#receive(bytes);
    this.id = id;
    this.#subscriptions = [bus.subscribe(`to.${id}`, receive), bus.subscribe('all', receive)];
    this.#handle({ kind: 'tick' });
  }

  /** Results that are not in the ledger. */
  get unconfirmed(): number {
    return this.#core.unconfirmed;
  }

  /** What was done and is confirmed. */
  get contribution(): Contribution {
    return this.#core.contribution;
  }

  /** Limits the devices to a share of the time, from 0 to 1. */
  limit(share: number): void {
    this.#duty.share = share;
    this.#stepDuty();
  }

  /**
   * Share of the time in which the fleet had work for this worker that its devices were busy, 0 to 1. Undefined if they never
   * were.
   */
  get fed(): number | undefined {
    const shares = this.#options.engine.devices.flatMap(({ fed }) => (fed === undefined ? [] : [fed]));
    return shares.length === 0 ? undefined : shares.reduce((sum, share) => sum + share, 0) / shares.length;
  }

  /** Leaves the fleet: what is done is reported, what is not goes to others. */
  leave(reason: string): void {
    this.#handle({ kind: 'leave', reason });
  }

  /** Ends at once. What was not committed is done again by others. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#stopTimer();
    this.#stopDuty();
    for (const unsubscribe of this.#subscriptions) unsubscribe();
    await Promise.all([...this.#runs.values()].map((running) => this.#closeRun(running)));
    this.#options.engine.resume();
  }

  #receive(bytes: Uint8Array): void {
    try {
      this.#handle({ kind: 'message', message: decodeCoordinatorMessage(bytes, this.#versions) });
    } catch (error) {
      this.#options.warn(firstLine(error));
    }
  }

  #handle(event: WorkerEvent): void {
    if (this.#isOver) return;
    for (const effect of this.#core.handle(event, this.#clock.now())) this.#carryOut(effect);
    // An engine that is paused has no work to do, so that its figures leave that time out.
    this.#switchDevices();
    this.#stopTimer();
    const { nextTick } = this.#core;
    const ms = Math.max(1, Math.min(nextTick - this.#clock.now(), MAX_TIMER_MS));
    this.#stopTimer = this.#clock.after(ms, () => this.#handle({ kind: 'tick' }));
  }

  #switchDevices(): void {
    const isBusy = this.#core.wantsDevices && !this.#duty.isResting;
    if (isBusy !== this.#isBusy) this.#options.engine[isBusy ? 'resume' : 'pause']();
    this.#isBusy = isBusy;
  }

  #stepDuty(): void {
    this.#stopDuty();
    if (this.#isOver) return;
    const isIdle = this.#options.engine.devices.every(({ queueDepth }) => queueDepth === 0);
    const ms = this.#duty.step(performance.now(), isIdle);
    this.#switchDevices();
    if (ms === undefined) return;
    const timer = setTimeout(() => this.#stepDuty(), ms);
    this.#stopDuty = () => clearTimeout(timer);
  }

  #carryOut(effect: WorkerEffect): void {
    const { bus } = this.#options;
    switch (effect.kind) {
      case 'send':
        bus.publish('from', encodeMessage(this.#withDevices(effect.message), this.#versions.current));
        break;
      case 'publish':
        bus.publish('result', encodeMessage(effect.result, this.#versions.current));
        break;
      case 'open':
        void this.#open(effect);
        break;
      case 'feed':
        this.#runs.get(keyOf(effect))?.source.feed(effect.range);
        break;
      case 'drop':
        this.#runs.get(keyOf(effect))?.source.drop(effect.range);
        break;
      case 'pause':
        for (const { source } of this.#runsOf(effect.job)) source.pause(effect.isPaused);
        break;
      case 'close':
        for (const running of this.#runsOf(effect.job)) void this.#closeRun(running);
        break;
      case 'left':
        this.#onLeft();
        break;
      default:
        effect satisfies never;
    }
  }

  /** A heartbeat also says what the devices do. */
  #withDevices(message: WorkerMessage): WorkerMessage {
    return message.kind === 'beat' ? { ...message, devices: this.#meter.read(this.#options.engine.devices) } : message;
  }

  async #open({ job, bits }: JobRun): Promise<void> {
    const { say } = this.#options;
    try {
      const running = await this.#load(job, bits);
      if (this.#runsOf(job).length === 0) say(`job ${job.slice(0, 12)}: ${displayText(running.name)}`);
      this.#runs.set(keyOf(running), running);
      void this.#run(running);
      this.#handle({ kind: 'opened', job, bits });
    } catch (error) {
      this.#handle({ kind: 'failed', job, reason: firstLine(error) });
    }
  }

  /** Fetches a job and checks all of it. */
  async #load(job: string, bits: number | undefined): Promise<RunningJob> {
    const { manifest: bytes, signer: _ } = await openSignedManifestAnywhere(await this.#client.fetch(job));
    const manifest = decodeManifest(bytes);
    const { engine, workloads = [] } = this.#options;
    const parts = new Map<string, Uint8Array>();
    for (const { digest } of attachmentsOf(manifest)) parts.set(digest, await this.#client.fetch(digest));
    const work = jobWork(manifest, parts, workloads);
    const abort = new AbortController();
    const watch = new LaunchWatch(this.#options.launchLimitMs ?? LAUNCH_LIMIT_MS);
    const source = new LeaseSource<{ readonly index: bigint }>((range, hits) => {
      watch.completed();
      const found = hits.map(({ index, ...fields }) => ({ index, fields: plainValue(fields) as PlainRecord }));
      if (bits === undefined || found.length === 0) this.#handle({ kind: 'done', job, bits, range, hits: found });
      else void this.#divide(running, work, range, found);
    });
    const run = work.search({ engine, space: manifest.space, source, signal: abort.signal }, bits);
    const running: RunningJob = {
      job,
      bits,
      name: work.name,
      source,
      abort,
      ended: undefined,
      run,
      watch: work.kernel && watch,
    };
    return running;
  }

  /** Tells hits from witnesses. */
  async #divide({ job, bits = 0 }: RunningJob, work: JobWork, range: Range, found: readonly FoundHit[]): Promise<void> {
    try {
      this.#handle({ kind: 'done', job, bits, range, ...(await work.divide(found, bits)) });
    } catch (error) {
      this.#handle({ kind: 'failed', job, reason: firstLine(error) });
    }
  }

  /** Runs until the job is closed. An engine that fails makes the worker refuse the job. */
  async #run(running: RunningJob): Promise<void> {
    const consume = async (): Promise<void> => {
      for await (const _ of running.run); // hits are reported with their ranges
    };
    running.ended = consume();
    const watching = this.#watch(running);
    try {
      await running.ended;
    } catch (error) {
      if (running.abort.signal.aborted) return;
      this.#runs.delete(keyOf(running));
      this.#handle({ kind: 'failed', job: running.job, reason: firstLine(error) });
    } finally {
      clearInterval(watching);
    }
  }

  /** Refuses a user's kernel whose launch does not end. Aborted, it leaves its loops. */
  #watch({ job, watch, source }: RunningJob): ReturnType<typeof setInterval> | undefined {
    if (watch === undefined) return undefined;
    const timer = setInterval(() => {
      if (!watch.isOver(source.isTaken && !source.isPaused, performance.now())) return;
      const seconds = (this.#options.launchLimitMs ?? LAUNCH_LIMIT_MS) / 1000;
      this.#handle({ kind: 'failed', job, reason: `its kernel ran for ${seconds} s without an end` });
    }, WATCH_MS);
    (timer as Partial<NodeJS.Timeout>).unref?.(); // a page has none
    return timer;
  }

  #runsOf(job: string): RunningJob[] {
    return [...this.#runs.values()].filter((running) => running.job === job);
  }

  async #closeRun(running: RunningJob): Promise<void> {
    this.#runs.delete(keyOf(running));
    running.abort.abort();
    await running.ended?.catch(() => undefined); // the abort
  }
}

interface RunningJob extends JobRun {
  readonly name: string;
  readonly source: LeaseSource<{ readonly index: bigint }>;
  readonly abort: AbortController;
  readonly run: AsyncIterable<unknown>;
  /** Of a user's kernel: those of workloads end. */
  readonly watch: LaunchWatch | undefined;
  ended: Promise<void> | undefined;
}

const keyOf = ({ job, bits }: JobRun): string => `${job} ${bits}`;

const MAX_TIMER_MS = 60_000;
