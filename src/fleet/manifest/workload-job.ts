import type { SearchMode } from '../../engine/makers/reorder-buffer.js';
import type { Range } from '../../engine/work/space.js';
import type { PackedJob } from './kernel-job.js';
import type { WorkloadWork } from './manifest.js';
import type { PlainRecord } from './values.js';

/** Packs a job of a workload that every machine has. It has no attachments. */
export function packWorkloadJob(
  { name, version }: Pick<WorkloadWork, 'name' | 'version'>,
  params: PlainRecord,
  space: Range,
  mode: SearchMode,
): PackedJob {
  return { manifest: { work: { kind: 'workload', name, version, params }, space, mode }, attachments: new Map() };
}
