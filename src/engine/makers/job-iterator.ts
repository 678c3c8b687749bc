import { MillraceError } from '../../kernel/error.js';
import { type DeviceSelection, openEngine } from '../devices.js';
import type { Engine } from '../engine.js';
import type { Job } from '../job.js';
import type { Run } from '../run/run.js';
import { openVerifier, type Verifier, type Verify } from '../verify/verify.js';
import type { ChunkSource } from '../work/source.js';
import type { Outbox } from './outbox.js';

/** The parts that differ between jobs whose results are iterated. */
export interface JobIteratorSpec<T, Checked, Result> {
  /** Used in error messages: "the search x", "the output of x". */
  readonly name: string;
  readonly selection: DeviceSelection;
  readonly verify: Verify<Checked> | undefined;
  readonly signal: AbortSignal | undefined;
  /** Receives the job's results. */
  readonly outbox: Outbox<T>;
  /** Called when iteration begins, before devices are opened. Throws if the job cannot run. */
  check?(): void;
  /** Makes the job for the engine. */
  job(verifier: Verifier<Checked>): Job<Result>;
  /** Called when the run has started and no index counts yet. */
  onStart?(run: Run): void;
  /** Called when everything is done: delivers the results that were held back for order. */
  onComplete(): void;
  /** Called after the run: releases the results that the consumer has not taken. */
  cleanUp?(): void;
}

/**
 * A job that starts when its first result is requested, is iterated once, and stops when the consumer leaves the loop.
 */
export class JobIterator<T, Checked, Result> implements AsyncIterable<T> {
  readonly #spec: JobIteratorSpec<T, Checked, Result>;
  #run: Run | undefined;
  #isStarted = false;

  constructor(job: JobIteratorSpec<T, Checked, Result>) {
    this.#spec = job;
  }

  /** The run. Undefined until iteration begins. */
  get run(): Run | undefined {
    return this.#run;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const { name, selection, verify, signal, outbox } = this.#spec;
    if (this.#isStarted) throw iteratedTwiceError(name);
    this.#isStarted = true;
    signal?.throwIfAborted();
    this.#spec.check?.();
    const { engine, close } = selection.engine
      ? { engine: selection.engine, close: undefined }
      : await openEngine(selection);
    let verifier: Verifier<Checked> | undefined;
    try {
      verifier = openVerifier(verify);
      const job = this.#spec.job(verifier);
      let isFailed = false;
      try {
        const run = this.#start(engine, job);
        try {
          yield* outbox;
        } finally {
          run.stop();
          await run.drained;
          this.#spec.cleanUp?.();
        }
      } catch (error) {
        isFailed = true;
        throw error;
      } finally {
        await closeSource(job.source, isFailed);
      }
    } finally {
      verifier?.close();
      await close?.();
    }
  }

  #start(engine: Engine, job: Job<Result>): Run {
    const { outbox } = this.#spec;
    const run = engine.run(job);
    this.#run = run;
    this.#spec.onStart?.(run);
    void run.outcome.then((outcome) => {
      if (outcome.kind === 'complete') this.#spec.onComplete();
      outbox.end(outcome.kind === 'failed' ? outcome : undefined);
    });
    return run;
  }
}

/** Closes the source. If the job failed, its error takes precedence over an error from closing. */
async function closeSource(source: ChunkSource, isFailed: boolean): Promise<void> {
  try {
    await source.close?.();
  } catch (error) {
    if (!isFailed) throw error;
  }
}

function iteratedTwiceError(name: string): MillraceError {
  return new MillraceError({
    code: 'usage',
    message: `${name} has been iterated already`,
    asked: 'its results a second time',
    advice: 'call the function again for another run',
  });
}
