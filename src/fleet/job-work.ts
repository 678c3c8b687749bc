import type { Hit } from '../engine/flow/ring.js';
import { search } from '../engine/makers/search.js';
import type { ChunkSource } from '../engine/work/source.js';
import type { Fields, Kernel } from '../kernel/language/signature.js';
import { HitChecker } from './hit-checker.js';
import {
  type Attachments,
  type KernelWork,
  type Manifest,
  type PlainRecord,
  unpackKernelJob,
} from './manifest/index.js';
import type { FoundHit } from './protocol/index.js';
import { type FleetWorkload, findWorkload, type WorkloadRun } from './workload.js';

/** What a job computes, on every machine of a fleet alike. With `bits` it has a weaker condition, for witnesses. */
export interface JobWork {
  readonly name: string;
  /** The kernel of a user's job. */
  readonly kernel?: Kernel;
  readonly witnesses: WitnessKind | undefined;
  search(running: WorkloadRun, bits: number | undefined): AsyncIterable<unknown>;
  /** Says what is wrong with hits; undefined if nothing is. */
  check(hits: readonly FoundHit[]): Promise<string | undefined>;
  /** The same for witnesses, none of which may be a hit. */
  checkWitnesses(witnesses: readonly FoundHit[], bits: number): Promise<string | undefined>;
  /** Divides what a search with the weaker condition has found. */
  divide(found: readonly FoundHit[], bits: number): Promise<DividedHits>;
}

/** `graded`: about one in 2^bits indices is one. `fixed`: the job says how many, whatever the bits. */
export type WitnessKind = 'graded' | 'fixed';

export interface DividedHits {
  readonly hits: readonly FoundHit[];
  readonly witnesses: readonly FoundHit[];
}

/** Prepares a job's work. Throws if it cannot run here. */
export function jobWork({ work }: Manifest, attachments: Attachments, workloads: readonly FleetWorkload[]): JobWork {
  return work.kind === 'kernel'
    ? kernelWork(work, attachments)
    : workloadWork(findWorkload(workloads, work), work.params);
}

function workloadWork(workload: FleetWorkload, params: PlainRecord): JobWork {
  const weaker = (bits: number): PlainRecord => workload.relax?.(params, bits) ?? params;
  const isHit = async (hit: FoundHit): Promise<boolean> => (await workload.check(params, [hit])) === undefined;
  return {
    name: workload.name,
    witnesses: workload.relax?.(params, 0) ? 'graded' : undefined,
    search: (running, bits) => workload.search(bits === undefined ? params : weaker(bits), running),
    check: (hits) => workload.check(params, hits),
    checkWitnesses: async (witnesses, bits) => {
      for (const witness of witnesses) if (await isHit(witness)) return leftOut(witness.index);
      return workload.check(weaker(bits), witnesses);
    },
    divide: async (found) => {
      const [hits, witnesses]: [FoundHit[], FoundHit[]] = [[], []];
      for (const hit of found) ((await isHit(hit)) ? hits : witnesses).push(hit);
      return { hits, witnesses };
    },
  };
}

function kernelWork(work: KernelWork, attachments: Attachments): JobWork {
  const { kernel, witness, ...options } = unpackKernelJob(work, attachments);
  const { buffers, ring } = options;
  const checker = (job: typeof options.job): HitChecker =>
    new HitChecker({ kernel, job, buffers, ...(ring !== undefined && { ring }) });
  const strict = checker(options.job);
  const weaker = { ...options.job, ...witness };
  const weak = checker(weaker);
  return {
    name: kernel.name,
    kernel,
    witnesses: witness && 'fixed',
    search: ({ source, ...running }, bits) => {
      const job = bits === undefined ? options.job : weaker;
      const hits = source as ChunkSource<readonly Hit<Fields>[]>;
      return search(kernel, { ...options, ...running, source: hits, job, mode: 'arrival', checked: true });
    },
    check: (hits) => strict.check(hits),
    checkWitnesses: async (witnesses) => {
      for (const [index, hits] of await strict.hitsAt(witnesses.map((one) => one.index)))
        if (hits.length > 0) return leftOut(index);
      return weak.check(witnesses);
    },
    divide: async (found) => {
      const right = await strict.hitsAt([...new Set(found.map(({ index }) => index))]);
      return {
        hits: [...right.values()].flat(),
        witnesses: found.filter(({ index }) => (right.get(index) ?? []).length === 0),
      };
    },
  };
}

const leftOut = (index: bigint): string => `index ${index} is a hit, and was reported as a witness`;
