import { type JobSpec, jobKeyOf, programText } from '../../store/index.js';
import { type JobWork, jobWork } from '../job-work.js';
import { attachmentsOf, type Manifest } from '../manifest/index.js';
import type { FleetWorkload } from '../workload.js';
import type { FleetFiles } from './files.js';

/** A job's record in the ledger, and what it computes. */
export interface DescribedJob {
  readonly name: string;
  readonly spec: JobSpec;
  /** Identifies the record in the ledger. */
  readonly key: string;
  readonly work: JobWork;
}

/** Describes a job whose attachments are all here. Throws if it cannot run. */
export function describeJob(manifest: Manifest, { files, workloads }: KnownParts): DescribedJob {
  const { work: given, space } = manifest;
  const parts = new Map(attachmentsOf(manifest).map(({ digest }) => [digest, files.part(digest)]));
  const work = jobWork(manifest, parts, workloads);
  const { name, kernel } = work;
  const own =
    given.kind === 'workload'
      ? { command: `fleet ${name}`, params: given.params, kernel: `${name} ${given.version}` }
      : { command: 'fleet run', params: { job: given.job, buffers: buffersOf() }, kernel: kernelText() };
  const spec = { ...own, name: `fleet ${name}`, space, call: { args: [], folder: '' } };
  return { name, spec, key: jobKeyOf(spec), work };

  function buffersOf(): Record<string, Uint8Array | undefined> {
    const named = given.kind === 'kernel' ? Object.entries(given.buffers) : [];
    return Object.fromEntries(named.map(([buffer, { digest }]) => [buffer, parts.get(digest)]));
  }

  function kernelText(): string {
    return kernel ? programText(kernel) : '';
  }
}

interface KnownParts {
  readonly files: FleetFiles;
  readonly workloads: readonly FleetWorkload[];
}
