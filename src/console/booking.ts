import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  type ChunkSource,
  type Engine,
  endOf,
  type Indexed,
  Intervals,
  type Mode,
  type Range,
} from '../engine/index.js';
import { shareOf } from '../engine/space.js';
import { MillraceError } from '../kernel/error.js';
import { type JobLedger, type JobSpec, openStore, type Store } from '../store/index.js';
import type { Call } from './action.js';
import { Exit } from './exit.js';
import { age, duration, percent, plural } from './format.js';
import { type Controls, holding, type Monitor } from './monitor.js';
import { HitProgram, hitVariables } from './on-hit.js';
import { flag, options, valued } from './options.js';
import { isSecretName, redactArguments } from './redact.js';

/** What the command line says of a job in the ledger. */
export interface BookingOptions {
  readonly dataDir: string;
  /** False with `--no-ledger`. */
  readonly ledger?: boolean;
  readonly fresh?: boolean;
  readonly priority?: number;
  readonly onHit?: string;
}

/** Gives a command these options. */
export function withBookingOptions(command: Command): Command {
  return command
    .addOption(options.dataDir())
    .addOption(flag('--fresh', 'begin from nothing, whatever the ledger knows'))
    .addOption(new Option('--no-ledger', 'keep nothing: no progress, no hits'))
    .addOption(
      valued('--priority <n>', 'jobs with a lower one pause on devices that both use (default: 0)').argParser(
        priorityGiven,
      ),
    )
    .addOption(valued('--on-hit <program>', 'start a program for each hit, which it finds in MILLRACE_HIT_…'));
}

/** What a command says of its job; the rest is the same for all. */
export type Booked = Omit<JobSpec, 'call' | 'priority' | 'fresh'>;

/**
 * A job of a command in the ledger: opened before the devices are, told of in words, ended with the command. Without a
 * ledger it does nothing, so that a command need not ask.
 *
 *   const booking = await openBooking<Hit>(call, { command: 'run', name, params, kernel, space });
 *   search(kernel, { …, ...booking.search });
 *   startMonitor(output, given, { …, before: booking.completed.total }, booking.controls(engine, call));
 *   for await (const hit of hits) { …; booking.told(hit); }
 *   await booking.end({ isComplete, isAnswered });
 */
export async function openBooking<T extends Indexed>(call: Call<BookingOptions>, booked: Booked): Promise<Booking<T>> {
  const { options: given, output } = call;
  const program = given.onHit === undefined ? undefined : new HitProgram(given.onHit, output);
  if (given.ledger === false) return new Booking<T>(call, booked.space, undefined, undefined, program);
  const store = await openStore(given.dataDir);
  try {
    await checkResumed(store, booked);
    const ledger = await store.open<T>({
      ...booked,
      call: { args: resumable(process.argv.slice(2)), folder: process.cwd(), environment: settings(process.env) },
      ...(given.priority !== undefined && { priority: given.priority }),
      ...(given.fresh !== undefined && { fresh: given.fresh }),
    });
    for (const notice of store.notices) output.warn(notice);
    return new Booking<T>(call, booked.space, store, ledger, program);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** How a command's work on its job ended. */
export interface BookingEnd {
  /** Every index is done. */
  readonly isComplete: boolean;
  /** What was asked is known without the rest. */
  readonly isAnswered?: boolean;
  /** Why it was left, where it was. */
  readonly reason?: string;
}

export class Booking<T extends Indexed> {
  readonly ledger: JobLedger<T> | undefined;
  readonly completed: Intervals;
  readonly #call: Call<BookingOptions>;
  readonly #space: Range;
  readonly #store: Store | undefined;
  readonly #program: HitProgram | undefined;
  #isCancelled = false;
  #isPaused = false;
  #isOver = false;
  readonly #tellResumed: () => void;
  readonly #troubles = new Set<string>();
  #last: { readonly index: bigint; readonly nth: number } | undefined;

  constructor(
    call: Call<BookingOptions>,
    space: Range,
    store: Store | undefined,
    ledger: JobLedger<T> | undefined,
    program: HitProgram | undefined,
  ) {
    this.#call = call;
    this.#space = space;
    this.#store = store;
    this.ledger = ledger;
    this.#program = program;
    this.completed = ledger?.completed ?? Intervals.none;
    this.#tellResumed = this.#announce();
  }

  /** For `search`. */
  get search(): { readonly source?: ChunkSource<readonly T[]> } {
    return this.ledger ? { source: this.ledger.source } : {};
  }

  /** What the ledger knows already, undefined where something is left to do. `limit`: so many hits are enough. */
  answer(mode: Mode, limit = Number.POSITIVE_INFINITY): readonly T[] | undefined {
    const found = this.ledger?.hits() ?? [];
    const frontier = this.completed.firstMissing(this.#space.start);
    const isComplete = frontier >= endOf(this.#space);
    const below =
      mode === 'any' || mode === 'arrival' ? found : found.filter(({ index }) => index < frontier || isComplete);
    // The smallest hit is known when everything below it is done, whether or not it is itself.
    const [first] = found;
    if (mode === 'first' && first && first.index <= frontier) return [first];
    if (mode === 'any' && first) return [first];
    if (isComplete && (mode === 'first' || mode === 'any')) return [];
    return isComplete || below.length >= limit ? below.slice(0, limit) : undefined;
  }

  /** For `startMonitor`. */
  controls(engine: Engine, call: Pick<Call<object>, 'stop' | 'signal'>): Controls {
    const { ledger } = this;
    const held = holding(engine);
    if (!ledger) return { ...held, stop: call.stop, signal: call.signal };
    this.#tellResumed();
    ledger.uses(engine.devices.map(({ info }) => info.id));
    const note = (): void => {
      if (engine.isPaused === this.#isPaused || this.#isOver) return;
      this.#isPaused = engine.isPaused;
      ledger.paused(this.#isPaused).catch(() => undefined); // a ledger that cannot be written says so by its next hit
    };
    return {
      pause: (device) => {
        held.pause(device);
        note();
      },
      resume: (device) => {
        held.resume(device);
        note();
      },
      checkpoint: () => ledger.checkpoint(),
      stop: call.stop,
      signal: call.signal,
    };
  }

  /** From now on it does what other processes ask for. */
  listen(monitor: Monitor): void {
    const { output, stop } = this.#call;
    this.ledger?.listen({
      asked: (request) => {
        if (request === 'cancel') {
          this.#isCancelled = true;
          output.say('cancelled by another process');
          stop(Exit.stopped);
        } else {
          output.say(`${request === 'pause' ? 'paused' : 'goes on'}: another process asked for it`);
          monitor.pause(request === 'pause');
        }
      },
      outranked: (by) => {
        output.say(by === undefined ? 'goes on' : `paused: job ${by} is more important`);
        monitor.pause(by !== undefined, 'outranked');
      },
      troubled: (message) => {
        if (this.#troubles.has(message)) return;
        this.#troubles.add(message);
        output.warn(`${message}; trying again`);
      },
    });
  }

  /** A hit is shown. `--on-hit` hears of each once; where that failed, or was cut short, again in the next run. */
  told(hit: T): void {
    const nth = this.#last?.index === hit.index ? this.#last.nth + 1 : 0;
    this.#last = { index: hit.index, nth };
    if (this.ledger?.isTold(hit.index, nth)) return;
    const variables = (): Record<string, string> => hitVariables(hit, nth, this.ledger?.id ?? '');
    this.#program?.run(variables(), () => this.ledger?.tell(hit.index, nth));
  }

  /** Everything is written, and the job is let go of. Throws where it should be complete and is not. */
  async end({ isComplete, isAnswered = false, reason }: BookingEnd): Promise<void> {
    await this.#program?.end();
    const state = this.#isCancelled ? 'cancelled' : isComplete ? 'complete' : isAnswered ? 'answered' : 'open';
    await this.#finish(state, reason);
  }

  /** After an error, or whatever else has kept `end` from being called. */
  async close(reason?: string): Promise<void> {
    try {
      await this.#finish('open', reason);
    } catch (error) {
      const [why = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
      this.#call.output.warn(`what was done last could not be written down, and will be scanned again: ${why}`);
    }
  }

  async #finish(state: 'open' | 'complete' | 'answered' | 'cancelled', reason?: string): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      await this.ledger?.finish(state, reason);
    } finally {
      await this.#store?.close().catch(() => undefined);
    }
  }

  /** Says which job it is; what it gives says that it goes on, once there is work for it. */
  #announce(): () => void {
    const { ledger, completed } = this;
    if (!ledger) return () => undefined;
    const { output } = this.#call;
    const { before, id, job } = ledger;
    const done = completed.total;
    const hits = ledger.hits().length;
    const isResumed = before !== undefined && before.id === id && done > 0n;
    output.event('job', {
      id,
      name: job.name,
      isResumed,
      done,
      length: job.space.length,
      hits,
      elapsedSeconds: job.elapsedMs / 1000,
    });
    if (!isResumed) return () => undefined;
    const share = percent(shareOf(done, job.space.length));
    const time = duration(job.elapsedMs / 1000);
    return () =>
      output.say(
        `job ${id} goes on where it was ${age(Date.now() - before.activeMs)} ago: ${share} done in ${time}, ${plural(hits, 'hit')}`,
      );
  }
}

/** `jobs resume` says which job it means: a command that describes another by now must not begin that one silently. */
async function checkResumed(store: Store, booked: Booked): Promise<void> {
  const wanted = process.env[RESUMED];
  if (wanted === undefined) return;
  const known = await store.known(booked);
  if (known?.id === wanted) return;
  throw new MillraceError({
    code: 'usage',
    message: `the command of job ${wanted} describes another job now: its file, its parameters or Millrace have changed`,
    asked: `to go on with job ${wanted}`,
    advice: 'put the file back as it was, or run the command itself to begin the new job',
  });
}

/** Set by `jobs resume` for the command it runs. */
export const RESUMED = 'MILLRACE_RESUMED_JOB';

/** What a job is gone on with: as it was called, without what would begin it anew, and without credentials. */
function resumable(args: readonly string[]): string[] {
  return redactArguments(args.filter((arg) => arg !== '--fresh'));
}

/** Options that were given by the environment are as much part of a call as flags are. Credentials stay out. */
function settings(environment: NodeJS.ProcessEnv): Record<string, string> {
  const known = Object.entries(environment).filter(([name, value]) => /^MILLRACE_/.test(name) && value !== undefined);
  const kept = known.filter(([name]) => !NOT_KEPT.test(name) && !isSecretName(name)) as [string, string][];
  return Object.fromEntries(kept);
}

const NOT_KEPT = /^MILLRACE_(HOME|DATA_DIR|CACHE_DIR|FRESH|RESUMED_JOB|JSON|EVENTS|LONG)$/;

export function priorityGiven(text: string): number {
  if (/^[+-]?\d{1,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A whole number from -9999 to 9999 is needed.');
}
