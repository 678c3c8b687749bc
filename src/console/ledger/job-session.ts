import { type Command, InvalidArgumentError } from 'commander';
import type { ChunkSource, Engine, Indexed, SearchMode } from '../../engine/index.js';
import { Intervals } from '../../engine/work/intervals.js';
import { endOf, type Range } from '../../engine/work/space.js';
import { firstLine } from '../../kernel/error.js';
import {
  type HitField,
  type JobLedger,
  type JobListener,
  type JobSpec,
  LedgerSource,
  type Store,
} from '../../store/index.js';
import type { Call } from '../command/action.js';
import { Exit } from '../command/exit.js';
import { enginePauseControls, type Monitor, type MonitorControls } from '../monitor/monitor.js';
import { flag, options, valueOption, wholeNumberParser } from '../options/options.js';
import { announceJob, jobFields, type OpenedJob, openLedger, RESUMED_JOB_VARIABLE } from './job-opening.js';
import { HitProgram, hitVariables } from './on-hit.js';
import { shownParams } from './params-text.js';

/** Options of the command line for a job in the ledger. */
export interface JobSessionOptions {
  readonly dataDir: string;
  /** False with `--no-ledger`. */
  readonly ledger?: boolean;
  readonly fresh?: boolean;
  readonly priority?: number;
  readonly onHit?: string;
  readonly onHitProcs?: number;
}

/** Adds these options to a command. `hits`: the command finds hits, which `--on-hit` can report to a program. */
export function withJobSessionOptions(command: Command, { hits = true } = {}): Command {
  const hasFolder = command.options.some(({ long }) => long === '--data-dir');
  if (!hasFolder) command.addOption(options.dataDir());
  command
    .addOption(flag('--fresh', 'start from the beginning, even if progress is stored'))
    .addOption(flag('--no-ledger', 'store nothing: no progress, no hits'))
    .addOption(
      valueOption(
        '--priority <n>',
        'priority of this job: jobs with a lower one pause on devices that both use (default: 0)',
      ).argParser(parsePriority),
    );
  if (!hits) return command;
  return command
    .addOption(
      valueOption('--on-hit <program>', 'start a program for each hit, with the hit in variables MILLRACE_HIT_…'),
    )
    .addOption(
      valueOption(
        '--on-hit-procs <n>',
        'maximum programs of --on-hit at a time; the search waits for them (default: 1)',
      ).argParser(wholeNumberParser(1, MAX_PROCS)),
    );
}

/** A command's description of its job; the other fields are the same for all commands. */
export type JobDescription = Omit<JobSpec, 'call' | 'priority' | 'restart'> & {
  /** True if the output of the finished work is still in its file. If not, the job restarts from the beginning. */
  hasOutput?(completed: Intervals): boolean | Promise<boolean>;
  /** The name of the kernel, for showing the job later. */
  readonly kernelName?: string;
  /** The fields of a hit, for showing hits later. */
  readonly hit?: readonly HitField[];
};

export interface JobSessionTraits {
  /** The answer does not depend on the ledger: failing to open it is only a warning, unless an option requires it. */
  readonly isOptional?: boolean;
}
const MAX_PROCS = 1024;

/**
 * Opens a command's job session in the ledger. It is opened before the devices, announces the job, and ends with the
 * command. Without a ledger, or if `description` is undefined, the session does nothing, so that a command need not check.
 *
 *   const session = await openJobSession<Hit>(call, { command: 'run', name, params, kernel, space });
 *   search(kernel, { …, ...session.searchOptions });
 *   startMonitor(output, given, { …, before: session.completed.total }, session.controls(engine, call));
 *   for await (const hit of hits) { …; await session.notify(hit); }
 *   await session.end({ isComplete, isAnswered });
 */
export async function openJobSession<T extends Indexed>(
  call: Call<JobSessionOptions>,
  description: JobDescription | undefined,
  { isOptional = false }: JobSessionTraits = {},
): Promise<JobSession<T>> {
  const { options: given, output } = call;
  const program = given.onHit === undefined ? undefined : new HitProgram(given.onHit, output, given.onHitProcs);
  if (given.ledger === false || !description)
    return new JobSession<T>(call, description?.space ?? EMPTY_RANGE, undefined, program);
  const isRequired = given.fresh === true || program !== undefined || process.env[RESUMED_JOB_VARIABLE] !== undefined;
  const opened = await openLedger<T>(call, description, isOptional && !isRequired);
  return new JobSession<T>(call, description.space, opened, program);
}

const EMPTY_RANGE: Range = { start: 0n, length: 0n };

export interface JobOutcome {
  /** Every index is done. */
  readonly isComplete: boolean;
  /** The answer is known without the remaining indices. */
  readonly isAnswered?: boolean;
  /** Why the job was left unfinished, if it was. */
  readonly reason?: string;
}

export class JobSession<T extends Indexed> {
  readonly completed: Intervals;
  /** Undefined if nothing is stored. */
  readonly ledger: JobLedger<T> | undefined;
  /** The store that holds `ledger`, until the session ends. */
  readonly store: Store | undefined;
  readonly #call: Call<JobSessionOptions>;
  readonly #space: Range;
  readonly #program: HitProgram | undefined;
  #isCancelled = false;
  #isPaused = false;
  #isOver = false;
  /** A device was there to work on the job. */
  #hasBegun = false;
  readonly #announceResumed: (() => void) | undefined;
  readonly #shownWarnings = new Set<string>();
  #lastHit: { readonly index: bigint; readonly nth: number } | undefined;

  constructor(
    call: Call<JobSessionOptions>,
    space: Range,
    opened: OpenedJob<T> | undefined,
    program: HitProgram | undefined,
  ) {
    this.#call = call;
    this.#space = space;
    this.#program = program;
    this.ledger = opened?.ledger;
    this.store = opened?.store;
    this.completed = opened?.ledger.completed ?? Intervals.none;
    if (!opened) return;
    opened.ledger.holdClock();
    call.output.hub.hasStoredHits = true;
    this.#announceResumed = announceJob(call.output, opened.ledger);
  }

  /** For `search`. */
  get searchOptions(): { readonly source?: ChunkSource<readonly T[]> } {
    return this.ledger ? { source: new LedgerSource(this.ledger, this.#space) } : {};
  }

  /**
   * Returns the answer if the ledger has it already, undefined if work is left. `limit` is the number of hits that
   * suffices.
   */
  storedAnswer(mode: SearchMode, limit = Number.POSITIVE_INFINITY): readonly T[] | undefined {
    const found = this.ledger?.storedHits ?? [];
    const frontier = this.completed.firstMissing(this.#space.start);
    const isComplete = frontier >= endOf(this.#space);
    const below =
      mode === 'any' || mode === 'arrival' ? found : found.filter(({ index }) => index < frontier || isComplete);
    // The smallest hit is final once everything below it is done, whether or not its own range is.
    const [first] = found;
    if (mode === 'first' && first && first.index <= frontier) return [first];
    if (mode === 'any' && first) return [first];
    if (isComplete && (mode === 'first' || mode === 'any')) return [];
    return isComplete || below.length >= limit ? below.slice(0, limit) : undefined;
  }

  /** For `startMonitor`, which is called when work begins. An engine that is opened later is passed as a function. */
  controls(given: Engine | (() => Engine | undefined), call: Pick<Call<object>, 'stop' | 'signal'>): MonitorControls {
    const engine = typeof given === 'function' ? given : () => given;
    const pauseControls = {
      pause: (device?: string) => engine() && enginePauseControls(engine() as Engine).pause(device),
      resume: (device?: string) => engine() && enginePauseControls(engine() as Engine).resume(device),
    };
    const { ledger } = this;
    if (!ledger) return { ...pauseControls, stop: call.stop, signal: call.signal };
    this.#announceResumed?.();
    this.#hasBegun = true;
    ledger.startClock();
    ledger.setDevices(engine()?.devices.map(({ info }) => info.id) ?? []);
    return {
      ...pauseControls,
      onPaused: (isPaused) => {
        if (isPaused === this.#isPaused || this.#isOver) return;
        this.#isPaused = isPaused;
        ledger.setPaused(isPaused).catch(() => undefined); // a failure is reported with the next hit
      },
      checkpoint: () => ledger.checkpoint(),
      restorePoint: () => {
        const { indices, atMs } = ledger.stored;
        return { done: indices, secondsAgo: (performance.now() - atMs) / 1000 };
      },
      cancel: () => this.#cancel(),
      setPriority: async (priority) => {
        await this.store?.setPriority(ledger.id, priority);
        this.#call.output.hub.publish('job', jobFields(ledger, priority));
      },
      params: shownParams(ledger.job.params),
      stop: call.stop,
      signal: call.signal,
    };
  }

  /** Starts handling requests of other processes. */
  listen(monitor: Monitor): void {
    const { output } = this.#call;
    const listener: JobListener = {
      onRequest: (request) => {
        if (request === 'cancel') this.#cancel();
        else {
          output.say(`${request === 'pause' ? 'paused' : 'resumed'} by another process`);
          monitor.pause(request === 'pause');
        }
      },
      onOutranked: (by) => {
        output.say(by === undefined ? 'resumed' : `paused: job ${by} has a higher priority`);
        monitor.pause(by !== undefined, 'outranked');
      },
      onWriteRetry: (message) => {
        if (this.#shownWarnings.has(message)) return;
        this.#shownWarnings.add(message);
        output.warn(`${message}; trying again`);
      },
    };
    this.ledger?.listen(listener);
  }

  #cancel(): void {
    this.#isCancelled = true;
    this.#call.output.say('cancelled by another process');
    this.#call.stop(Exit.stopped);
  }

  /**
   * Handles a hit that was shown. The program of `--on-hit` runs once per hit; if it failed or was interrupted, again in
   * the next run. The next hit waits until the program has been started, so that hits do not accumulate here.
   */
  notify(hit: T): Promise<void> | undefined {
    const nth = this.#lastHit?.index === hit.index ? this.#lastHit.nth + 1 : 0;
    this.#lastHit = { index: hit.index, nth };
    if (this.ledger?.isNotified(hit.index, nth)) return undefined;
    const variables = (): Record<string, string> => hitVariables(hit, nth, this.ledger?.id ?? '');
    return this.#program?.run(variables, () => this.ledger?.markNotified(hit.index, nth));
  }

  /** Writes everything and releases the job. Throws if the job should be complete and is not. */
  async end({ isComplete, isAnswered = false, reason }: JobOutcome): Promise<void> {
    await this.#program?.end();
    const state = this.#isCancelled ? 'cancelled' : isComplete ? 'complete' : isAnswered ? 'answered' : 'open';
    await this.#finish(state, reason);
  }

  /**
   * Releases the job after an error, or if `end` was not called for another reason. A new job that no device has begun,
   * because the one that was named is missing, is removed.
   */
  async close(reason?: string): Promise<void> {
    try {
      await this.#finish('open', reason);
    } catch (error) {
      this.#call.output.warn(`the latest work could not be stored and will be repeated: ${firstLine(error)}`);
    }
  }

  async #finish(state: 'open' | 'complete' | 'answered' | 'cancelled', reason?: string): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      const isUnused = state === 'open' && !this.#hasBegun && this.ledger?.previous === undefined;
      if (isUnused) await this.ledger?.discard();
      else await this.ledger?.finish(state, reason);
    } finally {
      await this.store?.close().catch(() => undefined);
    }
  }
}

export function parsePriority(text: string): number {
  if (/^[+-]?\d{1,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from -9999 to 9999.');
}
