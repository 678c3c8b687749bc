import type { SearchMode } from '../../engine/makers/reorder-buffer.js';
import type { Range } from '../../engine/work/space.js';
import { ringLayout } from '../../kernel/abi/harness.js';
import { decodeKernel, encodeKernel } from '../../kernel/codec/index.js';
import { MillraceError } from '../../kernel/error.js';
import type { KernelLimits } from '../../kernel/ir/limits.js';
import { type FieldValues, fieldValues } from '../../kernel/language/params.js';
import type { Kernel } from '../../kernel/language/signature.js';
import { type Attachments, attachedBytes, attachmentOf, type KernelWork, type Manifest } from './manifest.js';
import { type PlainRecord, plainValue } from './values.js';

/** A search with a user's kernel, as `search` takes it. */
export interface KernelJob {
  readonly kernel: Kernel;
  readonly job: FieldValues;
  readonly buffers: Readonly<Record<string, ArrayBufferView>>;
  /** Job values with which the kernel also hits at near-misses, so that work can be checked. */
  readonly witness?: FieldValues;
  readonly ring?: number;
  readonly min?: number;
  readonly max?: number;
  readonly granularity?: number;
}

export interface PackedJob {
  readonly manifest: Manifest;
  readonly attachments: Attachments;
}

/** Packs a search with a user's kernel for other machines. */
export function packKernelJob(job: KernelJob, space: Range, mode: SearchMode): PackedJob {
  const { kernel, ring, min, max, granularity } = job;
  const program = kernel.trace();
  checkRing(kernel, ring);
  if (program.chunk.some(({ name }) => !name.startsWith('.'))) {
    throw new MillraceError({
      code: 'usage',
      message: `kernel ${kernel.name} has chunk values: a function computes them, and functions do not travel`,
      asked: `to run kernel ${kernel.name} on a fleet`,
      advice: 'compute them in the kernel from its index and its job values',
    });
  }
  const attachments = new Map<string, Uint8Array>();
  const attach = (bytes: Uint8Array) => {
    const attachment = attachmentOf(bytes);
    attachments.set(attachment.digest, bytes);
    return attachment;
  };
  const { buffers } = job;
  const attached = Object.keys(buffers).map((name) => [name, attach(bytesOf(buffers[name]))] as const);
  const work: KernelWork = {
    kind: 'kernel',
    kernel: attach(encodeKernel(kernel)),
    job: checkedValues(kernel, job.job),
    ...(job.witness && { witness: checkedValues(kernel, { ...job.job, ...job.witness }) }),
    buffers: Object.fromEntries(attached),
    ...(ring !== undefined && { ring }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(granularity !== undefined && { granularity }),
  };
  return { manifest: { work, space, mode }, attachments };
}

/**
 * Unpacks a search that came from another machine. Everything is checked: digests, the kernel by the language's own
 * checker, job values against its fields. Devices compile the kernel `checked`.
 */
export function unpackKernelJob(work: KernelWork, attachments: Attachments, limits?: Partial<KernelLimits>): KernelJob {
  const kernel = decodeKernel(attachedBytes(work.kernel, attachments, 'the kernel'), limits ? { limits } : {});
  const job = checkedValues(kernel, work.job as FieldValues);
  checkRing(kernel, work.ring);
  const witness = work.witness && checkedValues(kernel, work.witness as FieldValues);
  const declared = kernel.signature.buffers ?? {};
  const buffers = Object.entries(work.buffers).map(([name, attachment]) => {
    if (Object.hasOwn(declared, name)) return [name, attachedBytes(attachment, attachments, `buffer ${name}`)] as const;
    throw new MillraceError({
      code: 'input-format',
      message: `the job has a buffer ${name}, which kernel ${kernel.name} does not declare`,
      advice: `its buffers are ${Object.keys(declared).join(', ') || 'none'}`,
    });
  });
  const { ring, min, max, granularity } = work;
  return {
    kernel,
    job: job as FieldValues,
    ...(witness && { witness: witness as FieldValues }),
    buffers: Object.fromEntries(buffers),
    ...(ring !== undefined && { ring }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(granularity !== undefined && { granularity }),
  };
}

/** The memory for hits is the only one that a job asks for without sending as much. */
function checkRing(kernel: Kernel, ring = 0): void {
  const bytes = ring * 4 * ringLayout(kernel.trace()).recordWords;
  if (bytes <= MAX_RING_BYTES) return;
  throw new MillraceError({
    code: 'kernel-budget',
    message: `a ring of ${ring} hits takes ${bytes} bytes, the limit is ${MAX_RING_BYTES}`,
    asked: `to run kernel ${kernel.name} on a fleet`,
    advice: 'give a smaller ring: a chunk with more hits is run again in smaller pieces',
  });
}

const MAX_RING_BYTES = 64 << 20;

/** Returns the job values in the types of their fields, so that 1, 1n and a typed array with 1 are one job. */
function checkedValues(kernel: Kernel, values: FieldValues): PlainRecord {
  const fields = kernel.trace().job;
  const lists = fieldValues(kernel.name, 'job', fields, values);
  return plainValue(
    Object.fromEntries(fields.map(({ name, array }, at) => [name, array ? lists[at] : lists[at]?.[0]])),
  ) as PlainRecord;
}

function bytesOf(view: ArrayBufferView | undefined): Uint8Array {
  return view ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength) : new Uint8Array();
}
