import type { Engine } from '../engine/engine.js';
import type { Indexed } from '../engine/makers/reorder-buffer.js';
import type { ChunkSource } from '../engine/work/source.js';
import { endOf, type Range } from '../engine/work/space.js';
import { MillraceError } from '../kernel/error.js';
import type { PlainRecord, WorkloadWork } from './manifest/index.js';
import type { FoundHit } from './protocol/index.js';

/** A workload that runs on fleets. It travels as its name, its version and parameters: every machine has its kernels. */
export interface FleetWorkload {
  readonly name: string;
  /** Changes whenever answers, parameters or the form of hits could. */
  readonly version: number;
  /** Does the ranges of the source until the signal is aborted. Throws if the parameters are not valid. */
  search(params: PlainRecord, running: WorkloadRun): AsyncIterable<unknown>;
  /** Checks hits by independent code. Says what is wrong with them; undefined if nothing is. */
  check(params: PlainRecord, hits: readonly FoundHit[]): Promise<string | undefined>;
  /**
   * Weakens the condition of hits, so that about one in 2^bits indices meets it, and every hit does: these are witnesses.
   * Searches then find all of them. Undefined if the job has none.
   */
  relax?(params: PlainRecord, bits: number): PlainRecord | undefined;
}

export interface WorkloadRun {
  readonly engine: Engine;
  readonly space: Range;
  readonly source: ChunkSource<readonly Indexed[]>;
  readonly signal: AbortSignal;
}

/** Throws `input-format` if a job's indices do not end at `end` or below. */
export function checkSpace(space: Range, end: bigint): void {
  if (endOf(space) <= end) return;
  throw new MillraceError({
    code: 'input-format',
    message: `the job has indices up to ${endOf(space)}, and its parameters only up to ${end}`,
    asked: 'a job of the fleet',
    advice: 'use the same version of Millrace on every machine of the fleet',
  });
}

/** Returns the workload that a job needs. Throws `usage` if this machine does not have it. */
export function findWorkload(all: readonly FleetWorkload[], { name, version }: WorkloadWork): FleetWorkload {
  const found = all.find((one) => one.name === name && one.version === version);
  if (found) return found;
  const here = all.map((one) => `${one.name}@${one.version}`).join(', ');
  throw new MillraceError({
    code: 'usage',
    message: `${name}@${version} is not here: this machine has ${here || 'no workloads'}`,
    asked: `a job of ${name}`,
    advice: 'use the same version of Millrace on every machine of the fleet',
  });
}
