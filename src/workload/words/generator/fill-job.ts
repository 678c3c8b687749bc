import type { Engine } from '../../../engine/engine.js';
import type { Job } from '../../../engine/job.js';
import type { Partition } from '../../../engine/run/partition.js';
import { MemorySource } from '../../../engine/work/source.js';
import { between } from '../../../engine/work/space.js';
import type { Plan } from '../kernel/plan.js';
import { type ReferenceJob, referenceRow } from '../kernel/reference.js';
import type { PooledFlow } from './pooled-flow.js';

export interface FillRequest {
  readonly flow: PooledFlow;
  readonly plan: Plan;
  readonly reference: ReferenceJob;
  readonly start: bigint;
  readonly count: number;
  /** At least `count` words long. */
  readonly into: Uint8Array;
  /** How devices share the words. Default: each device pulls. */
  readonly partition?: Partition | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Fills memory with words from all devices of an engine. Each part is stored as soon as it arrives. */
export async function fillFromDevices(engine: Engine, request: FillRequest): Promise<void> {
  const { flow, plan, reference, start, count, into, partition, signal } = request;
  if (count === 0) return;
  const { stride } = plan;
  const job: Job<Uint8Array> = {
    name: 'words',
    flow: flow.startingAt(start),
    source: new MemorySource(between(0n, BigInt(count))),
    keepsSlot: true,
    ...(partition && { partition }),
    ...(signal && { signal }),
    verify: async (piece, bytes) => {
      const ends = [0, piece.count - 1];
      for (const at of ends) {
        const row = bytes.subarray(at * stride, (at + 1) * stride);
        const verdict = referenceRow(reference, { index: start + piece.start + BigInt(at), bytes: row });
        if (verdict !== true) return { checked: 2, wrong: verdict };
      }
      return { checked: ends.length };
    },
    part: (piece, bytes, part) => {
      const from = Number(part.start - piece.start) * stride;
      return bytes.subarray(from, from + part.count * stride);
    },
    deliver: ({ piece, result, release }) => {
      into.set(result, Number(piece.start) * stride);
      release();
    },
  };
  const run = engine.run(job);
  const outcome = await run.outcome;
  await run.drained;
  if (outcome.kind === 'failed') throw outcome.error;
}
