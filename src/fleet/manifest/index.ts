/** What travels between the machines of a fleet: a job's manifest, its attachments and its signature. */
export { type KernelJob, type PackedJob, packKernelJob, unpackKernelJob } from './kernel-job.js';
export {
  type Attachment,
  type Attachments,
  attachedBytes,
  attachmentOf,
  attachmentsOf,
  decodeManifest,
  encodeManifest,
  type KernelWork,
  type Manifest,
  manifestId,
  type WorkloadWork,
} from './manifest.js';
export {
  openSignedManifest,
  openSignedManifestAnywhere,
  type SignedManifest,
  type SigningKey,
  signingKey,
  signManifest,
} from './signature.js';
export { decodeValues, encodeValues, type PlainRecord, type PlainValue, plainValue } from './values.js';
export { packWorkloadJob } from './workload-job.js';
