import { type JobSpec, jobKeyOf, programText } from '../../store/index.js';
import { type Manifest, plainValue, unpackKernelJob } from '../manifest/index.js';
import type { FoundHit } from '../protocol/index.js';
import { type FleetWorkload, findWorkload } from '../workload.js';
import type { FleetFiles } from './files.js';
import { HitChecker } from './hit-checker.js';

/** A job's record in the ledger, and how its hits are checked. */
export interface DescribedJob {
  readonly name: string;
  readonly spec: JobSpec;
  /** Identifies the record in the ledger. */
  readonly key: string;
  readonly check: HitCheck;
}

export type HitCheck = (hits: readonly FoundHit[]) => Promise<string | undefined>;

/** Describes a job whose attachments are all here. Throws if it cannot run. */
export function describeJob({ work, space }: Manifest, { files, workloads }: KnownParts): DescribedJob {
  const call = { args: [], folder: '' };
  if (work.kind === 'workload') {
    const { name, version, params } = work;
    const workload = findWorkload(workloads, work);
    const own = { command: `fleet ${name}`, name: `fleet ${name}`, params, kernel: `${name} ${version}` };
    const spec = { ...own, space, call };
    return { name, spec, key: jobKeyOf(spec), check: (hits) => workload.check(params, hits) };
  }
  const parts = [work.kernel, ...Object.values(work.buffers)];
  const kernelJob = unpackKernelJob(work, new Map(parts.map(({ digest }) => [digest, files.part(digest)])));
  const { kernel, job, buffers } = kernelJob;
  const checker = new HitChecker(kernelJob);
  const params = { job: plainValue(job), buffers };
  const own = { command: 'fleet run', name: `fleet ${kernel.name}`, params, kernel: programText(kernel) };
  const spec = { ...own, space, call };
  return { name: kernel.name, spec, key: jobKeyOf(spec), check: (hits) => checker.check(hits) };
}

interface KnownParts {
  readonly files: FleetFiles;
  readonly workloads: readonly FleetWorkload[];
}
