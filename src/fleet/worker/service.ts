import type { Engine } from '../../engine/engine.js';
import { search } from '../../engine/makers/search.js';
import { firstLine } from '../../kernel/error.js';
import { displayText } from '../../network/fields.js';
import { FleetClient } from '../client/index.js';
import { type Clock, systemClock } from '../clock.js';
import {
  decodeManifest,
  openSignedManifest,
  type PlainRecord,
  plainValue,
  unpackKernelJob,
} from '../manifest/index.js';
import type { Bus } from '../nats/index.js';
import {
  decodeCoordinatorMessage,
  encodeMessage,
  Worker,
  type WorkerEffect,
  type WorkerEvent,
  type WorkerMessage,
} from '../protocol/index.js';
import { type FleetWorkload, findWorkload } from '../workload.js';
import { DeviceMeter } from './device-meter.js';
import { LAUNCH_LIMIT_MS, LaunchWatch, WATCH_MS } from './launch-watch.js';
import { LeaseSource } from './lease-source.js';

export interface WorkerServiceOptions {
  readonly bus: Bus;
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
}

/** Carries out what the worker's machine decides: leases on an ordinary engine, results on NATS. */
export class WorkerService {
  readonly #options: WorkerServiceOptions;
  readonly #core: Worker;
  readonly #client: FleetClient;
  readonly #jobs = new Map<string, RunningJob>();
  readonly #clock: Clock;
  #stopTimer: () => void = () => undefined;
  readonly #meter = new DeviceMeter();
  #isOver = false;
  #isBusy: boolean | undefined;
  #onLeft: () => void = () => undefined;
  /** Resolves when the worker has left the fleet. */
  readonly left: Promise<void>;

  constructor(options: WorkerServiceOptions) {
    const { bus, only, clock = systemClock } = options;
    const id = `${bus.user}.${options.id}`;
    this.#options = options;
    this.#clock = clock;
    this.#client = new FleetClient(bus);
    this.#core = new Worker({ id, spread: Math.random(), ...(only && { only }) });
    this.left = new Promise((resolve) => {
      this.#onLeft = resolve;
    });
    const receive = (bytes: Uint8Array): void => this.#receive(bytes);
    bus.subscribe(`to.${id}`, receive);
    bus.subscribe('all', receive);
    this.#handle({ kind: 'tick' });
  }

  /** Results that are not in the ledger. */
  get unconfirmed(): number {
    return this.#core.unconfirmed;
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
    await Promise.all([...this.#jobs.keys()].map((job) => this.#close(job)));
    this.#options.engine.resume();
  }

  #receive(bytes: Uint8Array): void {
    try {
      this.#handle({ kind: 'message', message: decodeCoordinatorMessage(bytes) });
    } catch (error) {
      this.#options.warn(firstLine(error));
    }
  }

  #handle(event: WorkerEvent): void {
    if (this.#isOver) return;
    for (const effect of this.#core.handle(event, this.#clock.now())) this.#carryOut(effect);
    // An engine that is paused has no work to do, so that its figures leave that time out.
    const { wantsDevices } = this.#core;
    if (wantsDevices !== this.#isBusy) this.#options.engine[wantsDevices ? 'resume' : 'pause']();
    this.#isBusy = wantsDevices;
    this.#stopTimer();
    const { nextTick } = this.#core;
    const ms = Math.max(1, Math.min(nextTick - this.#clock.now(), MAX_TIMER_MS));
    this.#stopTimer = this.#clock.after(ms, () => this.#handle({ kind: 'tick' }));
  }

  #carryOut(effect: WorkerEffect): void {
    const { bus } = this.#options;
    switch (effect.kind) {
      case 'send':
        bus.publish('from', encodeMessage(this.#withDevices(effect.message)));
        break;
      case 'publish':
        bus.publish('result', encodeMessage(effect.result));
        break;
      case 'open':
        void this.#open(effect.job);
        break;
      case 'feed':
        this.#jobs.get(effect.job)?.source.feed(effect.range);
        break;
      case 'drop':
        this.#jobs.get(effect.job)?.source.drop(effect.range);
        break;
      case 'pause':
        this.#jobs.get(effect.job)?.source.pause(effect.isPaused);
        break;
      case 'close':
        void this.#close(effect.job);
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

  async #open(job: string): Promise<void> {
    const { say } = this.#options;
    try {
      const running = await this.#load(job);
      this.#jobs.set(job, running);
      say(`job ${job.slice(0, 12)}: ${displayText(running.name)}`);
      void this.#run(job, running);
      this.#handle({ kind: 'opened', job });
    } catch (error) {
      this.#handle({ kind: 'failed', job, reason: firstLine(error) });
    }
  }

  /** Fetches a job and checks all of it. */
  async #load(id: string): Promise<RunningJob> {
    const { manifest, signer: _ } = openSignedManifest(await this.#client.fetch(id));
    const { work, space } = decodeManifest(manifest);
    const { engine, workloads = [] } = this.#options;
    const abort = new AbortController();
    const { signal } = abort;
    const watch = new LaunchWatch(this.#options.launchLimitMs ?? LAUNCH_LIMIT_MS);
    const source = new LeaseSource<{ readonly index: bigint }>((range, hits) => {
      watch.completed();
      const found = hits.map(({ index, ...fields }) => ({ index, fields: plainValue(fields) as PlainRecord }));
      this.#handle({ kind: 'done', job: id, range, hits: found });
    });
    if (work.kind === 'workload') {
      const run = findWorkload(workloads, work).search(work.params, { engine, space, source, signal });
      return { name: work.name, source, abort, ended: undefined, run, watch: undefined };
    }
    const parts = new Map<string, Uint8Array>();
    for (const { digest } of [work.kernel, ...Object.values(work.buffers)])
      if (!parts.has(digest)) parts.set(digest, await this.#client.fetch(digest));
    const { kernel, ...options } = unpackKernelJob(work, parts);
    const run = search(kernel, { ...options, engine, space, source, mode: 'arrival', checked: true, signal });
    return { name: kernel.name, source, abort, ended: undefined, run, watch };
  }

  /** Runs until the job is closed. An engine that fails makes the worker refuse the job. */
  async #run(id: string, running: RunningJob): Promise<void> {
    const consume = async (): Promise<void> => {
      for await (const _ of running.run); // hits are reported with their ranges
    };
    running.ended = consume();
    const watching = this.#watch(id, running);
    try {
      await running.ended;
    } catch (error) {
      if (running.abort.signal.aborted) return;
      this.#jobs.delete(id);
      this.#handle({ kind: 'failed', job: id, reason: firstLine(error) });
    } finally {
      clearInterval(watching);
    }
  }

  /** Refuses a user's kernel whose launch does not end. Aborted, it leaves its loops. */
  #watch(id: string, { watch, source }: RunningJob): ReturnType<typeof setInterval> | undefined {
    return (
      watch &&
      setInterval(() => {
        if (!watch.isOver(source.isTaken && !source.isPaused, performance.now())) return;
        const seconds = (this.#options.launchLimitMs ?? LAUNCH_LIMIT_MS) / 1000;
        this.#handle({ kind: 'failed', job: id, reason: `its kernel ran for ${seconds} s without an end` });
      }, WATCH_MS).unref()
    );
  }

  async #close(id: string): Promise<void> {
    const running = this.#jobs.get(id);
    this.#jobs.delete(id);
    running?.abort.abort();
    await running?.ended?.catch(() => undefined); // the abort
  }
}

interface RunningJob {
  readonly name: string;
  readonly source: LeaseSource<{ readonly index: bigint }>;
  readonly abort: AbortController;
  readonly run: AsyncIterable<unknown>;
  /** Of a user's kernel: those of workloads end. */
  readonly watch: LaunchWatch | undefined;
  ended: Promise<void> | undefined;
}

const MAX_TIMER_MS = 60_000;
