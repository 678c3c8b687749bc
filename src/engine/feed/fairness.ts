/**
 * Whose turn it is on a device. Jobs rotate: the one served longest ago is served next. While a job waits no other gets
 * two turns, which is what "never more than one chunk behind" means when chunks take all kinds of times.
 *
 * A turn may still pass a waiting job by: there is a slot, but not one that fits it (its buffers need memory that others
 * hold). Each such turn is a round it has waited. Past `2 × active` rounds nobody else is served until it fits, and the
 * others' chunks are halved, so that they get out of its way (rule C5). So no job waits more than `2 × active + 1` rounds.
 */

/** The jobs that have work for a device, the one served longest ago first. */
export type Rotation = readonly Turn[];

export interface Turn {
  readonly job: string;
  /** Turns of others that it has waited. */
  readonly rounds: number;
}

/** A job has work: it takes its place behind all others. */
export function join(rotation: Rotation, job: string): Rotation {
  return rotation.some((turn) => turn.job === job) ? rotation : [...rotation, { job, rounds: 0 }];
}

/** A job is over. */
export function leave(rotation: Rotation, job: string): Rotation {
  return rotation.filter((turn) => turn.job !== job);
}

export interface Served {
  /** Who gets the slot; undefined when nobody wants it or the longest waiter does not fit yet. */
  readonly job: string | undefined;
  readonly rotation: Rotation;
  /** Somebody has just passed the limit: halve the chunks of all others (`crowded` of chunk.ts). */
  readonly crowded: boolean;
}

/**
 * Gives a free slot to a job. `wants`: it could use one now (it has indices left, it is not at its limit of chunks in
 * flight: rule C7; not all of its own buffers are in use); a job that wants nothing does not wait. `fits`: it can use
 * this one. What holds a job up by itself, such as a consumer that is behind, belongs in `wants`: in `fits` it would
 * hold up all others once it is the longest waiter.
 */
export function serve(
  rotation: Rotation,
  wants: (job: string) => boolean,
  fits: (job: string) => boolean = () => true,
): Served {
  const waiting = rotation.filter(({ job }) => wants(job));
  const limit = 2 * rotation.length;
  const longest = waiting.reduce<Turn | undefined>(
    (most, turn) => (turn.rounds > (most?.rounds ?? -1) ? turn : most),
    undefined,
  );
  const isForced = longest !== undefined && longest.rounds > limit;
  const chosen = (isForced ? [longest] : waiting).find(({ job }) => fits(job));
  if (chosen === undefined) return { job: undefined, rotation, crowded: false };
  const waits = new Set(waiting.map(({ job }) => job));
  const others = rotation
    .filter(({ job }) => job !== chosen.job)
    .map(({ job, rounds }): Turn => ({ job, rounds: waits.has(job) ? rounds + 1 : 0 }));
  return {
    job: chosen.job,
    rotation: [...others, { job: chosen.job, rounds: 0 }],
    crowded: others.some(({ rounds }) => rounds === limit + 1),
  };
}

/** Rounds that a job has waited, for telemetry. */
export function roundsOf(rotation: Rotation, job: string): number {
  return rotation.find((turn) => turn.job === job)?.rounds ?? 0;
}
