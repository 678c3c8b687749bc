import type { SearchMode } from '../../engine/makers/reorder-buffer.js';
import { between, endOf, MAX_INDICES, MAX_ITEMS, type Range } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import { type FieldReader, fieldReader } from '../../network/fields.js';
import { sha256Hex } from '../digest.js';
import { decodeValues, encodeValues, type PlainRecord } from './values.js';

/**
 * A job as it travels to other machines: what to compute, for which indices, and which hits to report. Data only: code
 * never travels. Large parts are attachments, named by their SHA-256, so that the manifest stays small and its digest
 * covers them.
 */
export interface Manifest {
  readonly work: WorkloadWork | KernelWork;
  readonly space: Range;
  readonly mode: SearchMode;
}

/** A workload that every machine has: its kernels and checks are its own, of the same version. */
export interface WorkloadWork {
  readonly kind: 'workload';
  readonly name: string;
  /** Changes whenever answers, parameters or the form of hits could. */
  readonly version: number;
  readonly params: PlainRecord;
}

/** A user's kernel, traced. */
export interface KernelWork {
  readonly kind: 'kernel';
  readonly kernel: Attachment;
  readonly job: PlainRecord;
  /** Job values with a weaker condition: the kernel then hits at witnesses too. */
  readonly witness?: PlainRecord;
  readonly buffers: Readonly<Record<string, Attachment>>;
  /** Options of `search` that depend on the kernel, not on the machine. */
  readonly ring?: number;
  readonly min?: number;
  readonly max?: number;
  readonly granularity?: number;
}

/** Bytes that travel beside the manifest. */
export interface Attachment {
  /** SHA-256 as 64 hex digits. */
  readonly digest: string;
  readonly bytes: number;
}

/** The bytes of attachments, by digest. */
export type Attachments = ReadonlyMap<string, Uint8Array>;

/** A manifest larger than this is refused: values beyond it belong in buffers. */
export const MAX_MANIFEST_BYTES = 256 << 10;
/** All attachments of a job. */
export const MAX_ATTACHED_BYTES = 256 << 20;
const MAX_BUFFERS = 64;
const FORMAT = 1;
const SIZES = ['ring', 'min', 'max', 'granularity'] as const;

/** Encodes a manifest. Equal manifests have equal bytes. */
export function encodeManifest({ work, space, mode }: Manifest): Uint8Array {
  const bytes = new TextEncoder().encode(
    encodeValues({ format: FORMAT, mode, space: [String(space.start), String(endOf(space))], work: workFields(work) }),
  );
  if (bytes.length <= MAX_MANIFEST_BYTES) return bytes;
  throw new MillraceError({
    code: 'usage',
    message: `the job's values take ${bytes.length} bytes as a manifest: at most ${MAX_MANIFEST_BYTES} can travel`,
    asked: 'to run a job on a fleet',
    advice: 'pass large values in a buffer',
  });
}

/** Identifies a job: the SHA-256 of its encoded manifest, as 64 hex digits. */
export const manifestId = sha256Hex;

/** Describes bytes that travel beside the manifest. */
export const attachmentOf = (bytes: Uint8Array): Attachment => ({ digest: manifestId(bytes), bytes: bytes.length });

/** Returns a manifest's attachments, each once. */
export function attachmentsOf({ work }: Manifest): Attachment[] {
  if (work.kind === 'workload') return [];
  const all = [work.kernel, ...Object.values(work.buffers)];
  return [...new Map(all.map((attachment) => [attachment.digest, attachment])).values()];
}

/** Returns an attachment's bytes. Throws `input-format` if they are missing or are not the ones that the manifest names. */
export function attachedBytes({ digest, bytes }: Attachment, attachments: Attachments, what: string): Uint8Array {
  const found = attachments.get(digest);
  if (found?.length === bytes && manifestId(found) === digest) return found;
  throw new MillraceError({
    code: 'input-format',
    message: `${what} of the job ${found ? 'is damaged: its digest differs from the manifest' : 'has not arrived'}`,
    asked: `the attachment ${digest.slice(0, 12)}`,
    advice: 'submit the job again',
  });
}

/**
 * Decodes a manifest that may come from anywhere. It is refused with an error unless every field has its type and is
 * within its bounds, and the bytes are the ones that `encodeManifest` makes: so that one job has one identity.
 */
export function decodeManifest(bytes: Uint8Array): Manifest {
  const read = fieldReader('the manifest', 'submit the job again with the same version of Millrace');
  if (bytes.length > MAX_MANIFEST_BYTES) throw malformed(`it has more than ${MAX_MANIFEST_BYTES} bytes`);
  const fields = read.object(decodeValues(textOf(bytes), malformed), 'the whole');
  const format = read.integer(fields.format, 'format', 1, 2 ** 31);
  if (format !== FORMAT) throw malformed(`its format is ${format}; this version of Millrace reads ${FORMAT}`);
  const [first, end] = read.list(fields.space, 'space', 2);
  const start = read.bigInteger(first, 'space', 0n, MAX_INDICES - 1n);
  const manifest: Manifest = {
    work: readWork(read, read.object(fields.work, 'work')),
    space: between(start, read.bigInteger(end, 'space', start + 1n, MAX_INDICES)),
    mode: readMode(read.text(fields.mode, 'mode', 20)),
  };
  if (!isEqual(encodeManifest(manifest), bytes)) throw malformed('it is not in the form that Millrace writes');
  return manifest;
}

function readMode(text: string): SearchMode {
  const mode = MODES.find((known) => known === text);
  if (mode !== undefined) return mode;
  throw malformed(`mode is ${JSON.stringify(text)}: expected ${MODES.join(', ')}`);
}

const MODES: readonly SearchMode[] = ['all', 'first', 'any', 'arrival'];

function workFields(work: WorkloadWork | KernelWork): PlainRecord {
  if (work.kind === 'workload') {
    const { kind, name, version, params } = work;
    return { kind, name, version, params };
  }
  const sizes = SIZES.flatMap((name) => (work[name] === undefined ? [] : [[name, work[name]] as const]));
  const plain = ({ digest, bytes }: Attachment): PlainRecord => ({ digest, bytes });
  const buffers = Object.entries(work.buffers).map(([name, attachment]) => [name, plain(attachment)] as const);
  return {
    kind: work.kind,
    kernel: plain(work.kernel),
    job: work.job,
    ...(work.witness && { witness: work.witness }),
    buffers: Object.fromEntries(buffers),
    ...Object.fromEntries(sizes),
  };
}

function readWork(read: FieldReader, fields: Readonly<Record<string, unknown>>): WorkloadWork | KernelWork {
  const kind = read.text(fields.kind, 'work.kind', 20);
  if (kind === 'workload') {
    const name = read.text(fields.name, 'work.name', 40);
    const version = read.integer(fields.version, 'work.version', 1, 2 ** 31);
    return { kind, name, version, params: read.object(fields.params, 'work.params') as PlainRecord };
  }
  if (kind !== 'kernel') throw malformed(`work.kind is ${JSON.stringify(kind)}: expected "workload" or "kernel"`);
  const buffers = Object.entries(read.object(fields.buffers, 'work.buffers'));
  if (buffers.length > MAX_BUFFERS) throw malformed(`work.buffers has more than ${MAX_BUFFERS} entries`);
  const work: KernelWork = {
    kind,
    kernel: readAttachment(read, fields.kernel, 'work.kernel'),
    job: read.object(fields.job, 'work.job') as PlainRecord,
    ...(fields.witness !== undefined && { witness: read.object(fields.witness, 'work.witness') as PlainRecord }),
    buffers: Object.fromEntries(
      buffers.map(([name, value]) => [name, readAttachment(read, value, `work.buffers.${name}`)]),
    ),
    ...Object.fromEntries(
      SIZES.flatMap((name) =>
        fields[name] === undefined ? [] : [[name, read.integer(fields[name], `work.${name}`, 1, MAX_ITEMS)]],
      ),
    ),
  };
  const attached = [work.kernel, ...Object.values(work.buffers)].reduce((sum, { bytes }) => sum + bytes, 0);
  if (attached > MAX_ATTACHED_BYTES) throw malformed(`its attachments have more than ${MAX_ATTACHED_BYTES} bytes`);
  return work;
}

function readAttachment(read: FieldReader, value: unknown, field: string): Attachment {
  const { digest, bytes } = read.object(value, field);
  return {
    digest: read.hex(digest, `${field}.digest`, { min: 32, max: 32 }),
    bytes: read.integer(bytes, `${field}.bytes`, 0, MAX_ATTACHED_BYTES),
  };
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw malformed('it is not UTF-8', cause);
  }
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && a.every((byte, i) => byte === b[i]);

const malformed = (message: string, cause?: unknown): MillraceError =>
  new MillraceError({
    code: 'input-format',
    message: `not a manifest of a job: ${message}`,
    advice: 'submit the job again with the same version of Millrace',
    ...(cause === undefined ? {} : { cause }),
  });
