import type { BoundJob, Completion, Device, DeviceBuffer, DeviceProgram, Stream } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';

/** Enqueues one chunk of nonces on the slot's stream; the promise resolves with its hits. */
export function scan(
  { stream, ring, words }: ScanSlot,
  job: BoundJob,
  { base, count }: NonceRange,
): Promise<ScanResult> {
  stream.fill(ring, 0, 0, job.program.ring.headerWords * 4);
  stream.launch({ job, base: BigInt(base), count, ring });
  stream.read(ring, words);
  const result = collect(stream.mark(), words, job.program);
  // Several chunks may fail at once and only one is awaited first; the others must not count as unhandled rejections.
  result.catch(() => {});
  return result;
}

/** Consecutive nonces. */
export interface NonceRange {
  readonly base: number;
  readonly count: number;
}

export interface ScanResult {
  /** Ascending; undefined if the ring overflowed. */
  readonly hits: readonly number[] | undefined;
  /** Time on the device. */
  readonly seconds: number;
}

/** The resources of one chunk: its stream, its ring on the device, and the ring's copy in host memory. */
export interface ScanSlot {
  readonly stream: Stream;
  readonly ring: DeviceBuffer;
  readonly words: Uint32Array;
}

/** Capacity of a ring, in hits. */
const RING_HITS = 1024;
export const NONCES = 2 ** 32;

export async function openSlot(device: Device, program: DeviceProgram, stream: Stream): Promise<ScanSlot> {
  const words = program.ring.headerWords + RING_HITS * program.ring.recordWords;
  return { stream, ring: await device.alloc(words * 4), words: new Uint32Array(words) };
}

/** The job's values as the kernel declares them. */
export function jobValues(prefix: Uint8Array, target: bigint): { header: number[]; target: number[] } {
  return { header: headerWords(prefix), target: targetWords(target) };
}

async function collect(completion: Completion, words: Uint32Array, program: DeviceProgram): Promise<ScanResult> {
  const report = await completion.done;
  if (!report.complete) {
    const { id } = program.device.info;
    throw new MillraceError({
      code: 'device-failed',
      message: `${id} stopped a chunk before its end`,
      asked: `a whole chunk on ${id}`,
      advice: 'run it again; nothing of the chunk was counted',
    });
  }
  const seconds = Number(report.endedNs - report.startedNs) / 1e9;
  const { headerWords: header, recordWords: record } = program.ring;
  const found = words[0] ?? 0;
  if (found > RING_HITS) return { hits: undefined, seconds };
  // A record is the item's number, then the nonce.
  const hits = Array.from({ length: found }, (_, at) => words[header + at * record + 1] ?? 0);
  return { hits: hits.sort((a, b) => a - b), seconds };
}

/** SHA-256 reads its message as big-endian words. */
export function headerWords(prefix: Uint8Array): number[] {
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  return Array.from({ length: 19 }, (_, at) => view.getUint32(at * 4));
}

/** Most significant word first. */
export function targetWords(target: bigint): number[] {
  return Array.from({ length: 8 }, (_, at) => Number((target >> BigInt(32 * (7 - at))) & 0xffffffffn));
}
