import type { WorkCoverage } from '../../engine/work/bins.js';
import { binCounts, binsFor } from '../../engine/work/bins.js';
import { MillraceError } from '../../kernel/error.js';
import { Exit, type ExitCode } from '../command/exit.js';
import { host } from '../command/host.js';
import { redactArguments } from '../output/redact.js';
import type { EventHub, LiveAction } from './event-hub.js';

/** The job of a command, as others see it. */
export interface WatchedJob {
  readonly name: string;
  readonly unit: string;
  readonly start?: bigint;
  readonly length?: bigint;
  coverage?(): WorkCoverage | undefined;
}

export interface TaskControls {
  stop(exit: ExitCode): void;
  cancel?(): void;
  setPriority?(priority: number): Promise<void>;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Bins of the coverage strip. */
export const BINS = 240;

/** Publishes what a command works on, and carries out what others ask of it. */
export class LiveTask {
  readonly #hub: EventHub;
  readonly #job: WatchedJob;
  readonly #controls: TaskControls;
  readonly #pause: (isPaused: boolean) => void;

  constructor(hub: EventHub, job: WatchedJob, controls: TaskControls, pause: (isPaused: boolean) => void) {
    this.#hub = hub;
    this.#job = job;
    this.#controls = controls;
    this.#pause = pause;
  }

  start(): void {
    const { name, unit, start = 0n, length } = this.#job;
    const { params, setPriority } = this.#controls;
    const args = redactArguments(host().args);
    this.#hub.job = { control: (action) => this.#control(action) };
    this.#hub.publish('task', {
      ...{ name, unit, args, folder: process.cwd(), canPrioritize: setPriority !== undefined },
      ...(length !== undefined && { start, length }),
      ...(params && { params }),
    });
  }

  /** Publishes where the indices are, if a page watches. */
  publishCoverage(): void {
    if (!this.#hub.isWatched) return;
    const { start = 0n, length } = this.#job;
    const coverage = this.#job.coverage?.();
    if (length === undefined || coverage === undefined) return;
    const space = { start, length };
    const bins = binsFor(space, BINS);
    const counts = (set: WorkCoverage['done']): bigint[] => binCounts(set, space, bins);
    const { done, onDevice, redone } = coverage;
    this.#hub.publish('coverage', {
      ...{ start, length, bins },
      ...{ done: counts(done), onDevice: counts(onDevice), redone: counts(redone) },
    });
  }

  end(): void {
    this.#hub.job = undefined;
  }

  async #control(given: LiveAction): Promise<string> {
    const { stop, cancel, setPriority } = this.#controls;
    switch (given.action) {
      case 'pause':
      case 'resume':
        this.#pause(given.action === 'pause');
        return given.action === 'pause' ? 'paused' : 'resumed';
      case 'stop':
        stop(Exit.stopped);
        return 'stopping at a checkpoint';
      case 'cancel':
        if (!cancel) throw notStoredError('cancelled');
        cancel();
        return 'cancelled';
      case 'priority':
        if (!setPriority) throw notStoredError('given a priority');
        if (!Number.isInteger(given.priority) || Math.abs(given.priority) > MAX_PRIORITY) throw priorityError();
        await setPriority(given.priority);
        return `priority ${given.priority}`;
      default:
        throw new MillraceError({ code: 'usage', message: 'unknown action', asked: 'to control a job' });
    }
  }
}

const MAX_PRIORITY = 9999;

const notStoredError = (what: string): MillraceError =>
  new MillraceError({
    code: 'usage',
    message: `a job that is not in the ledger cannot be ${what}`,
    asked: 'to control a job',
  });

const priorityError = (): MillraceError =>
  new MillraceError({ code: 'usage', message: 'a priority is from -9999 to 9999', asked: 'to set a priority' });
