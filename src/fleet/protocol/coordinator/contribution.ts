import type { JobView, JobWork, WorkerView } from '../events.js';
import type { WorkerJob, WorkerRecord } from './roster.js';

/**
 * Who has done how much. Indices of different jobs cost different times, so that contributions are told in time: an index
 * counts as the time that the mean worker of its job takes for it. All since the coordinator started.
 */

export const newWork = (): JobWork => ({ indices: 0, ms: 0, leftIndices: 0 });

/** Counts indices that are committed. Without a worker they are of one that has left. */
export function credit(work: JobWork, known: WorkerJob | undefined, indices: number): void {
  const mean = work.indices > 0 ? work.ms / work.indices : 0;
  work.ms += known?.perMs ? indices / known.perMs : indices * mean;
  work.indices += indices;
  if (known) known.done += indices;
  else work.leftIndices += indices;
}

/** The mean worker's time for what a worker has done, in ms. */
export function contributionMs(worker: WorkerView, jobs: ReadonlyMap<string, JobView>): number {
  let ms = worker.pastMs;
  for (const [id, { done }] of worker.jobs) {
    const work = jobs.get(id)?.work;
    if (work && work.indices > 0) ms += (done * work.ms) / work.indices;
  }
  return ms;
}

/** Keeps what a worker has done of a job that is over. */
export function closeJob(worker: WorkerRecord, job: string, { indices, ms }: JobWork): void {
  const done = worker.jobs.get(job)?.done ?? 0;
  if (indices > 0) worker.pastMs += (done * ms) / indices;
  worker.jobs.delete(job);
}
