/**
 * Decides which job is served next on a device. Jobs rotate: the one served longest ago is served next. While a job
 * waits, no other job gets two turns. This is what "never more than one chunk behind" means when chunk times vary.
 *
 * A turn may still skip a waiting job: there is a slot, but it does not fit the job (its buffers need memory that other
 * jobs hold). Each skipped turn is a round the job has waited. Past `2 × active` rounds no other job is served until
 * this one fits, and the other jobs' chunks are halved to free memory (rule C5). So no job waits more than `2 × active +
 * 1` rounds.
 */

/** The jobs that have work for a device, the one served longest ago first. */
export type Rotation = readonly Turn[];

export interface Turn {
  readonly job: string;
  /** Turns of other jobs it has waited for. */
  readonly rounds: number;
}

/** Adds a job behind all others. */
export function join(rotation: Rotation, job: string): Rotation {
  return rotation.some((turn) => turn.job === job) ? rotation : [...rotation, { job, rounds: 0 }];
}

export function leave(rotation: Rotation, job: string): Rotation {
  return rotation.filter((turn) => turn.job !== job);
}

export interface ServeResult {
  /** The job that gets the slot. Undefined if no job wants it, or if the longest waiter does not fit yet. */
  readonly job: string | undefined;
  readonly rotation: Rotation;
  /** True if a job has just passed the limit: halve the chunks of all others (`halved` in chunk-size.ts). */
  readonly mustHalveOthers: boolean;
}

/**
 * Gives a free slot to a job. `wants`: the job could use a slot now (it has indices left, is below its limit of chunks
 * in flight by rule C7, and has a free buffer set); a job that does not want a slot does not wait. `fits`: the job can
 * use this slot. A condition of the job itself, for example a consumer that is behind, belongs in `wants`: in `fits` it
 * would block all other jobs once this job is the longest waiter.
 */
export function serve(
  rotation: Rotation,
  wants: (job: string) => boolean,
  fits: (job: string) => boolean = () => true,
): ServeResult {
  const waiting = rotation.filter(({ job }) => wants(job));
  const limit = 2 * rotation.length;
  const longestWaiting = waiting.reduce<Turn | undefined>(
    (longest, turn) => (turn.rounds > (longest?.rounds ?? -1) ? turn : longest),
    undefined,
  );
  const isForced = longestWaiting !== undefined && longestWaiting.rounds > limit;
  const chosen = (isForced ? [longestWaiting] : waiting).find(({ job }) => fits(job));
  if (chosen === undefined) return { job: undefined, rotation, mustHalveOthers: false };
  const waits = new Set(waiting.map(({ job }) => job));
  const others = rotation
    .filter(({ job }) => job !== chosen.job)
    .map(({ job, rounds }): Turn => ({ job, rounds: waits.has(job) ? rounds + 1 : 0 }));
  return {
    job: chosen.job,
    rotation: [...others, { job: chosen.job, rounds: 0 }],
    mustHalveOthers: others.some(({ rounds }) => rounds === limit + 1),
  };
}

/** Returns the rounds a job has waited, for telemetry. */
export function roundsOf(rotation: Rotation, job: string): number {
  return rotation.find((turn) => turn.job === job)?.rounds ?? 0;
}
