import { FleetClient, FleetSearch, type FleetSearchOptions } from '../../fleet/client/index.js';
import { inviteFor } from '../../fleet/local.js';
import { type PackedJob, signingKey } from '../../fleet/manifest/index.js';
import { Bus } from '../../fleet/nats/index.js';
import type { Call } from '../command/action.js';
import { announce } from '../live/announce.js';
import type { MonitorControls } from '../monitor/monitor.js';
import type { Output } from '../output/output.js';
import { registerSecret } from '../output/redact.js';
import type { FleetOptions } from './place.js';

/** Connects a command to its fleet for as long as `work` takes. */
export async function withFleet<Result>(
  call: Call<FleetOptions>,
  name: string,
  work: (jobs: FleetJobs) => Promise<Result>,
): Promise<Result> {
  const { fleet, dataDir } = call.options;
  const invite = inviteFor(fleet, dataDir);
  registerSecret(invite.seed);
  const bus = await Bus.connect(invite, `millrace ${name}`);
  const announcement = announce(dataDir, call.output);
  try {
    const ended = bus.ended.then((why): never => {
      throw why;
    });
    return await Promise.race([work(new FleetJobs(new FleetClient(bus), call.output, call.signal)), ended]);
  } finally {
    announcement.end();
    await bus.close();
  }
}

/** The jobs that a command has on a fleet. */
export class FleetJobs {
  readonly #client: FleetClient;
  readonly #output: Output;
  readonly #signal: AbortSignal;
  readonly #key = signingKey();
  readonly #said = new Set<string>();
  readonly #running = new Set<FleetSearch>();
  #isPaused = false;
  #workers = 0;

  constructor(client: FleetClient, output: Output, signal: AbortSignal) {
    this.#client = client;
    this.#output = output;
    this.#signal = signal;
  }

  /** The most workers that were seen on a job. */
  get workers(): number {
    for (const one of this.#running) this.#workers = Math.max(this.#workers, one.workers);
    return this.#workers;
  }

  /** Submits a job when the result is iterated. */
  search(packed: PackedJob, { signal = this.#signal, ...options }: FleetJobOptions = {}): FleetSearch {
    const say = (text: string): void => {
      if (this.#said.has(text)) return;
      this.#said.add(text);
      this.#output.say(text);
    };
    const search: FleetSearch = new FleetSearch(this.#client, packed, this.#key, signal, {
      ...options,
      say,
      onStart: () => {
        this.#running.add(search);
        if (this.#isPaused) search.pause(true);
      },
      onEnd: () => {
        this.#workers = this.workers;
        this.#running.delete(search);
      },
    });
    return search;
  }

  /** For `startMonitor`. The devices are those of the workers: the fleet pauses them. */
  controls({ stop, signal }: Pick<Call<object>, 'stop' | 'signal'>): MonitorControls {
    const onPaused = (isPaused: boolean): void => {
      this.#isPaused = isPaused;
      for (const search of this.#running) search.pause(isPaused);
    };
    return { onPaused, stop, signal };
  }
}

export type FleetJobOptions = Pick<FleetSearchOptions, 'onProgress' | 'verify'> & {
  readonly signal?: AbortSignal;
};
