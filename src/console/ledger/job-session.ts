import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ChunkSource, Engine, Indexed, Mode } from '../../engine/index.js';
import { Intervals } from '../../engine/work/intervals.js';
import { endOf, type Range } from '../../engine/work/space.js';
import { firstLine } from '../../kernel/error.js';
import { BookSource, type JobLedger, type JobListener, type JobSpec, type Store } from '../../store/index.js';
import type { Call } from '../command/action.js';
import { Exit } from '../command/exit.js';
import { type Controls, holding, type Monitor } from '../monitor/monitor.js';
import { flag, options, valued, wholeNumber } from '../options/options.js';
import { announce, type Opened, openLedger, RESUMED } from './job-opening.js';
import { HitProgram, hitVariables } from './on-hit.js';

/** Options of the command line for a job in the ledger. */
export interface BookingOptions {
  readonly dataDir: string;
  /** False with `--no-ledger`. */
  readonly ledger?: boolean;
  readonly fresh?: boolean;
  readonly priority?: number;
  readonly onHit?: string;
  readonly onHitProcs?: number;
}

/** Adds these options to a command. `hits`: the command finds hits, which `--on-hit` can report to a program. */
export function withBookingOptions(command: Command, { hits = true } = {}): Command {
  const hasFolder = command.options.some(({ long }) => long === '--data-dir');
  if (!hasFolder) command.addOption(options.dataDir());
  command
    .addOption(flag('--fresh', 'begin from nothing, whatever the ledger knows'))
    .addOption(new Option('--no-ledger', 'keep nothing: no progress, no hits'))
    .addOption(
      valued('--priority <n>', 'jobs with a lower one pause on devices that both use (default: 0)').argParser(
        priorityGiven,
      ),
    );
  if (!hits) return command;
  return command
    .addOption(valued('--on-hit <program>', 'start a program for each hit, which it finds in MILLRACE_HIT_…'))
    .addOption(
      valued('--on-hit-procs <n>', 'how many of them run at a time; the search waits (default: 1)').argParser(
        wholeNumber(1, MAX_PROCS),
      ),
    );
}

/** A command's description of its job; the other fields are the same for all commands. */
export type Booked = Omit<JobSpec, 'call' | 'priority' | 'fresh'> & {
  /** True if the output of the finished work is still in its file. If not, the job restarts from the beginning. */
  isThere?(completed: Intervals): boolean | Promise<boolean>;
};

export interface BookingManner {
  /** The answer does not depend on the ledger: failing to open it is only a warning, unless an option requires it. */
  readonly isOptional?: boolean;
}
const MAX_PROCS = 1024;

/**
 * Opens a command's job session in the ledger. It is opened before the devices, announces the job, and ends with the
 * command. Without a ledger, or if `booked` is undefined, the session does nothing, so that a command need not check.
 *
 *   const booking = await openBooking<Hit>(call, { command: 'run', name, params, kernel, space });
 *   search(kernel, { …, ...booking.search });
 *   startMonitor(output, given, { …, before: booking.completed.total }, booking.controls(engine, call));
 *   for await (const hit of hits) { …; await booking.told(hit); }
 *   await booking.end({ isComplete, isAnswered });
 */
export async function openBooking<T extends Indexed>(
  call: Call<BookingOptions>,
  booked: Booked | undefined,
  { isOptional = false }: BookingManner = {},
): Promise<Booking<T>> {
  const { options: given, output } = call;
  const program = given.onHit === undefined ? undefined : new HitProgram(given.onHit, output, given.onHitProcs);
  if (given.ledger === false || !booked) return new Booking<T>(call, booked?.space ?? NOTHING, undefined, program);
  const isWanted = given.fresh === true || program !== undefined || process.env[RESUMED] !== undefined;
  const opened = await openLedger<T>(call, booked, isOptional && !isWanted);
  return new Booking<T>(call, booked.space, opened, program);
}

const NOTHING: Range = { start: 0n, length: 0n };

export interface BookingEnd {
  /** Every index is done. */
  readonly isComplete: boolean;
  /** The answer is known without the remaining indices. */
  readonly isAnswered?: boolean;
  /** Why the job was left unfinished, if it was. */
  readonly reason?: string;
}

export class Booking<T extends Indexed> {
  readonly completed: Intervals;
  /** Undefined if nothing is stored. */
  readonly ledger: JobLedger<T> | undefined;
  /** The store that holds `ledger`, until the session ends. */
  readonly store: Store | undefined;
  readonly #call: Call<BookingOptions>;
  readonly #space: Range;
  readonly #program: HitProgram | undefined;
  #isCancelled = false;
  #isPaused = false;
  #isOver = false;
  #tellResumed: () => void = () => undefined;
  readonly #troubles = new Set<string>();
  #last: { readonly index: bigint; readonly nth: number } | undefined;

  constructor(
    call: Call<BookingOptions>,
    space: Range,
    opened: Opened<T> | undefined,
    program: HitProgram | undefined,
  ) {
    this.#call = call;
    this.#space = space;
    this.#program = program;
    this.ledger = opened?.ledger;
    this.store = opened?.store;
    this.completed = opened?.ledger.completed ?? Intervals.none;
    if (opened) this.#tellResumed = announce(call.output, opened.ledger);
  }

  /** For `search`. */
  get search(): { readonly source?: ChunkSource<readonly T[]> } {
    return this.ledger ? { source: new BookSource(this.ledger, this.#space) } : {};
  }

  /**
   * Returns the answer if the ledger has it already, undefined if work is left. `limit` is the number of hits that
   * suffices.
   */
  answer(mode: Mode, limit = Number.POSITIVE_INFINITY): readonly T[] | undefined {
    const found = this.ledger?.found ?? [];
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

  /** For `startMonitor`. An engine that is opened later is passed as a function. */
  controls(given: Engine | (() => Engine | undefined), call: Pick<Call<object>, 'stop' | 'signal'>): Controls {
    const engine = typeof given === 'function' ? given : () => given;
    const held = {
      pause: (device?: string) => engine() && holding(engine() as Engine).pause(device),
      resume: (device?: string) => engine() && holding(engine() as Engine).resume(device),
    };
    const { ledger } = this;
    if (!ledger) return { ...held, stop: call.stop, signal: call.signal };
    this.#tellResumed();
    ledger.uses(engine()?.devices.map(({ info }) => info.id) ?? []);
    return {
      ...held,
      paused: (isPaused) => {
        if (isPaused === this.#isPaused || this.#isOver) return;
        this.#isPaused = isPaused;
        ledger.paused(isPaused).catch(() => undefined); // a failure is reported with the next hit
      },
      checkpoint: () => ledger.checkpoint(),
      stop: call.stop,
      signal: call.signal,
    };
  }

  /** Starts handling requests of other processes. */
  listen(monitor: Monitor): void {
    const { output, stop } = this.#call;
    const listener: JobListener = {
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
    };
    this.ledger?.listen(listener);
  }

  /**
   * Handles a hit that was shown. The program of `--on-hit` runs once per hit; if it failed or was interrupted, again in
   * the next run. The next hit waits until the program has been started, so that hits do not accumulate here.
   */
  told(hit: T): Promise<void> | undefined {
    const nth = this.#last?.index === hit.index ? this.#last.nth + 1 : 0;
    this.#last = { index: hit.index, nth };
    if (this.ledger?.isTold(hit.index, nth)) return undefined;
    const variables = (): Record<string, string> => hitVariables(hit, nth, this.ledger?.id ?? '');
    return this.#program?.run(variables, () => this.ledger?.tell(hit.index, nth));
  }

  /** Writes everything and releases the job. Throws if the job should be complete and is not. */
  async end({ isComplete, isAnswered = false, reason }: BookingEnd): Promise<void> {
    await this.#program?.end();
    const state = this.#isCancelled ? 'cancelled' : isComplete ? 'complete' : isAnswered ? 'answered' : 'open';
    await this.#finish(state, reason);
  }

  /** Releases the job after an error, or if `end` was not called for another reason. */
  async close(reason?: string): Promise<void> {
    try {
      await this.#finish('open', reason);
    } catch (error) {
      const why = `what was done last could not be written down, and will be done again: ${firstLine(error)}`;
      this.#call.output.warn(why);
    }
  }

  async #finish(state: 'open' | 'complete' | 'answered' | 'cancelled', reason?: string): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      await this.ledger?.finish(state, reason);
    } finally {
      await this.store?.close().catch(() => undefined);
    }
  }
}

export function priorityGiven(text: string): number {
  if (/^[+-]?\d{1,4}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('A whole number from -9999 to 9999 is needed.');
}
