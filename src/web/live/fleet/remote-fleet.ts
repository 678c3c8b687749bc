import type { LiveFleet } from '../../../console/live/event-hub.js';
import type { FleetClient } from '../../../fleet/client/index.js';
import { act } from '../../../fleet/view/act.js';
import { MillraceError } from '../../../kernel/error.js';
import { newProcess, type ProcessModel, reduce } from '../reduce.js';
import type { WatchedProcess } from '../watched-process.js';

const POLL_MS = 1000;

/** Follows the coordinator of a fleet through NATS: its process may be on another machine. */
export function watchRemoteFleet(client: FleetClient): WatchedProcess {
  let model: ProcessModel = newProcess(0);
  let isAsking = false;
  const poll = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    try {
      model = reduce(model, { event: 'fleet', ...(await client.overview()) }, Date.now());
    } catch {
      // It does not answer now; the page keeps its last figures.
    } finally {
      isAsking = false;
    }
  };
  void poll();
  const timer = setInterval(() => void poll(), POLL_MS).unref();
  return {
    get model() {
      return model;
    },
    isAlive: true,
    hits: () => ({ total: 0, rows: [] }),
    control: async () => notHere('to control a job'),
    trace: () => notHere('a trace'),
    fleet: fleetOfClient(client),
    close: () => clearInterval(timer),
  };
}

const fleetOfClient = (client: FleetClient): LiveFleet => ({
  workers: (query) => client.workers(query),
  coverage: (job) => client.coverage(job),
  control: (given) => act(client, given),
});

function notHere(asked: string): never {
  throw new MillraceError({ code: 'usage', message: 'the process is reached through its fleet only', asked });
}
