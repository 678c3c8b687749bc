import { addHits, type Indexed, startReorderBuffer, takeReady } from '../../engine/makers/reorder-buffer.js';
import type { JobProgress } from '../../engine/run/run.js';
import { displayText } from '../../network/fields.js';
import type { PackedJob, SigningKey } from '../manifest/index.js';
import type { FoundHit } from '../protocol/index.js';
import type { FleetClient, PolledJob } from './client.js';

/**
 * A search on a fleet. Like `search` it is iterated once and delivers hits in the order of its mode. When it is aborted the
 * job is paused, and stays in the coordinator's ledger.
 */
export class FleetSearch implements AsyncIterable<FleetHit> {
  readonly #client: FleetClient;
  readonly #packed: PackedJob;
  readonly #key: SigningKey;
  readonly #signal: AbortSignal;
  readonly #say: (message: string) => void;
  readonly #said = new Set<string>();
  #before: bigint | undefined;
  #last: PolledJob | undefined;
  #job: string | undefined;
  #workers = 0;

  /** `say` tells the user why the job does not go on. */
  constructor(
    client: FleetClient,
    packed: PackedJob,
    key: SigningKey,
    signal: AbortSignal,
    say: (message: string) => void = () => undefined,
  ) {
    this.#client = client;
    this.#packed = packed;
    this.#key = key;
    this.#signal = signal;
    this.#say = say;
  }

  /** The job's id, once it is submitted. */
  get job(): string | undefined {
    return this.#job;
  }

  get last(): PolledJob | undefined {
    return this.#last;
  }

  /** The most workers that were seen on the job. */
  get workers(): number {
    return this.#workers;
  }

  /** Indices that were done before this command. */
  get before(): bigint {
    return this.#before ?? 0n;
  }

  get isOver(): boolean {
    return this.#last?.outcome !== undefined;
  }

  get progress(): JobProgress | undefined {
    if (this.#last === undefined) return undefined;
    const { done, frontier, outcome } = this.#last;
    const { length } = this.#packed.manifest.space;
    const isWhole = outcome === 'complete';
    return {
      done: done - this.before,
      held: 0n,
      waiting: length - done,
      frontier: isWhole ? undefined : frontier,
    };
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FleetHit, void, undefined> {
    const { space, mode } = this.#packed.manifest;
    this.#job = await this.#client.submit(this.#packed, this.#key);
    let buffer = startReorderBuffer<FleetHit>(mode);
    let [term, after] = [0, 0];
    const received = new ReceivedHits();
    try {
      while (!this.#signal.aborted) {
        const polled = await this.#client.poll(this.#job, term, after);
        this.#last = polled;
        this.#before ??= polled.done;
        this.#workers = Math.max(this.#workers, polled.workers);
        this.#notice(polled);
        if (polled.from === 0) received.restart();
        const fresh = polled.hits.map(hitOf).filter((hit) => received.isNew(hit));
        [term, after] = [polled.term, polled.from + polled.hits.length];
        buffer = addHits(buffer, fresh, [space]).buffer;
        // Hits below the frontier may be in the part that has not been sent.
        const isOver = polled.outcome !== undefined && !polled.more;
        const frontier = isOver ? undefined : polled.more ? space.start : polled.frontier;
        const ready = takeReady(buffer, frontier);
        buffer = ready.buffer;
        yield* ready.hits;
        if (isOver || buffer.isOver) return;
        if (!polled.more) await pause(POLL_MS, this.#signal);
      }
    } finally {
      if (!this.isOver) await this.#client.control(this.#job, 'paused').catch(() => undefined); // it stays as it is
    }
  }

  #notice({ fleetWorkers, refusals, outcome }: PolledJob): void {
    const notes = refusals.map(([worker, reason]) => `worker ${worker} cannot run this job: ${displayText(reason)}`);
    if (fleetWorkers === 0 && outcome === undefined) notes.push('the fleet has no workers: the job waits');
    for (const note of notes) {
      if (this.#said.has(note)) continue;
      this.#said.add(note);
      this.#say(note);
    }
  }
}

export type FleetHit = Indexed & Readonly<Record<string, unknown>>;

const hitOf = ({ index, fields }: FoundHit): FleetHit => ({ ...fields, index });

/** Tells hits apart from those that came before. A coordinator that was started later sends all hits again. */
class ReceivedHits {
  readonly #received = new Map<string, number>();
  #passed = new Map<string, number>();

  /** The coordinator begins with its first hit. */
  restart(): void {
    this.#passed = new Map();
  }

  /** Several hits of one index may have equal values: they are counted. */
  isNew(hit: FleetHit): boolean {
    const text = JSON.stringify(hit, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
    const nth = (this.#passed.get(text) ?? 0) + 1;
    this.#passed.set(text, nth);
    if (nth <= (this.#received.get(text) ?? 0)) return false;
    this.#received.set(text, nth);
    return true;
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });

const POLL_MS = 200;
