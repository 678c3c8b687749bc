import type { WorkCoverage } from '../../engine/work/bins.js';
import { binCounts, binsFor } from '../../engine/work/bins.js';
import type { Intervals } from '../../engine/work/intervals.js';
import type { Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { Exit, type ExitCode } from '../command/exit.js';
import { host } from '../command/host.js';
import { redactArguments } from '../output/redact.js';
import type { EventFields, EventHub, LiveAction } from './event-hub.js';

/** The job of a command, as others see it. */
export interface WatchedJob {
  readonly name: string;
  readonly unit: string;
  readonly start?: bigint;
  readonly length?: bigint;
  coverage?(): WorkCoverage | undefined;
  strip?(): StripCoverage | undefined;
  readonly code?: string | undefined;
  notes?(): readonly { readonly label: string; readonly text: string }[];
}

/** Where the indices of a space are: the coverage strip of a page. */
export interface StripCoverage extends WorkCoverage {
  readonly space: Range;
  /** Indices that are no longer needed. */
  readonly skipped?: Intervals;
  /** What the indices are. Default: indices of the kernel. */
  readonly of?: string;
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
    const { name, unit, start = 0n, length, code } = this.#job;
    const { params, setPriority } = this.#controls;
    const args = redactArguments(host().args);
    this.#hub.job = { control: (action) => this.#control(action) };
    this.#hub.publish('task', {
      ...{ name, unit, args, folder: process.cwd(), canPrioritize: setPriority !== undefined },
      ...(length !== undefined && { start, length }),
      ...(params && { params }),
      ...(code !== undefined && { code }),
    });
  }

  /** Publishes where the indices are and what else the job says of itself, if a page watches. */
  publishDetails(): void {
    if (!this.#hub.isWatched) return;
    const strip = this.#strip();
    if (strip) this.#hub.publish('coverage', stripFields(strip));
    const notes = this.#job.notes?.() ?? [];
    if (notes.length > 0) this.#hub.publish('notes', { notes });
  }

  #strip(): StripCoverage | undefined {
    const { start = 0n, length, coverage, strip } = this.#job;
    if (strip) return strip.call(this.#job);
    const places = length === undefined ? undefined : coverage?.call(this.#job);
    return length === undefined || places === undefined ? undefined : { space: { start, length }, ...places };
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

/** The strip of a space, undefined while either part is unknown. */
export const stripIn = (
  space: Range | undefined,
  places: WorkCoverage | undefined,
  of: string,
): StripCoverage | undefined => space && places && { space, ...places, of };

function stripFields({ space, done, onDevice, unconfirmed, redone, skipped, of }: StripCoverage): EventFields {
  const bins = binsFor(space, BINS);
  const counts = (set: Intervals): bigint[] => binCounts(set, space, bins);
  return {
    ...space,
    bins,
    ...{ done: counts(done), onDevice: counts(onDevice), redone: counts(redone) },
    ...(unconfirmed && { unconfirmed: counts(unconfirmed) }),
    ...(skipped && !skipped.isEmpty && { skipped: counts(skipped) }),
    ...(of !== undefined && { of }),
  };
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
