import { readCoverage, readFleetAction, readWorkerPage, readWorkerQuery } from '../../fleet/view/read.js';
import type { WorkerPage } from '../../fleet/view/rows.js';
import { MillraceError } from '../../kernel/error.js';
import type { LiveFleet } from './event-hub.js';
import { askProcess, type LiveProcess } from './processes.js';

/** Requests about a fleet on the socket of its coordinator's process: one line of JSON, answered by one event. */

export async function answerFleet(fleet: LiveFleet, request: object): Promise<object> {
  const { workers, coverage, control } = request as { workers?: unknown; coverage?: unknown; control?: unknown };
  if (workers !== undefined) return { event: 'fleet_workers', ...(await fleet.workers(readWorkerQuery(workers))) };
  if (typeof coverage === 'string') return { event: 'coverage', id: coverage, ...(await fleet.coverage(coverage)) };
  const what = await fleet.control(readFleetAction(control));
  return { event: 'changed', id: String(process.pid), what };
}

/** The fleet that another process coordinates. */
export function fleetOfProcess(directory: string, other: LiveProcess): LiveFleet {
  const ask = async (request: object): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await askProcess(directory, other, { request: 'fleet', ...request });
    if (answer.event !== 'error') return answer;
    throw new MillraceError({ code: 'usage', message: String(answer.message), asked: `process ${other.pid}` });
  };
  return {
    workers: async (query): Promise<WorkerPage> => readWorkerPage(await ask({ workers: query })),
    coverage: async (job) => readCoverage(await ask({ coverage: job })),
    control: async (action) => String((await ask({ control: action })).what),
  };
}
