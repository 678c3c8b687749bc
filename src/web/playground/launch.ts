import type { Device, DeviceBuffer, DeviceProgram, Stream } from '../../device/device.js';
import { elementBytes } from '../../engine/flow/arrays.js';
import { Overflow } from '../../engine/flow/flow.js';
import { leaseProgram } from '../../engine/flow/programs.js';
import { type Hit, hitsIn } from '../../engine/flow/ring.js';
import { firstPiece, launchBase, type Piece } from '../../engine/work/space.js';
import { MillraceError } from '../../kernel/error.js';
import type { FieldRecord, HitData, RunData } from './messages.js';
import { headOf, type Task, type TaskBuffer } from './task.js';

export interface LaunchOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (tried: bigint) => void;
  /** No launch starts after this time. */
  readonly limitMs?: number;
}

/**
 * Runs a task on a device. A kernel that writes buffers knows its items by their number in a launch, so that it gets one
 * launch; others get launches that grow until they take a noticeable time. The kernel came as data, so every device runs
 * it with checks.
 */
export async function launchTask(device: Device, task: Task, options: LaunchOptions = {}): Promise<RunData> {
  const { signal } = options;
  const started = performance.now();
  const { program, release } = await leaseProgram(device, task.kernel);
  const memory = await openMemory(device, program, task.buffers);
  const abort = (): void => memory.stream.cancel();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    const { hits, tried, cut } = await launchAll(program, task, memory, options);
    const buffers = cut === 'stopped' ? [] : await readBack(memory);
    const seconds = (performance.now() - started) / 1000;
    return { device: device.info.id, tried, seconds, hits, buffers, ...(cut && { cut }) };
  } finally {
    signal?.removeEventListener('abort', abort);
    for (const { buffer } of memory.buffers) buffer.free();
    memory.ring?.free();
    memory.stream.close();
    release();
  }
}

/** Hits after which a run ends. */
const MAX_HITS = 1000;
/** Hits of one launch. */
const CAPACITY = 4096;
/** Items of the one launch of a kernel that writes buffers. */
const MAX_ITEMS = 2 ** 24;
const FIRST_ITEMS = 256;
/** Launches grow below this, and shrink above four times as much. */
const LAUNCH_MS = 50;
/** Elements of a buffer that are reported. */
const HEAD = 1024;

interface Memory {
  readonly stream: Stream;
  /** Absent if the kernel emits nothing. */
  readonly ring?: DeviceBuffer;
  readonly words: Uint32Array;
  readonly buffers: readonly (TaskBuffer & { readonly buffer: DeviceBuffer })[];
}

async function openMemory(device: Device, program: DeviceProgram, given: readonly TaskBuffer[]): Promise<Memory> {
  const { headerWords, recordWords } = program.ring;
  const words = new Uint32Array(headerWords + CAPACITY * recordWords);
  const stream = device.stream();
  const buffers: (TaskBuffer & { readonly buffer: DeviceBuffer })[] = [];
  for (const one of given) {
    const buffer = await device.alloc(wholeWords(one.bytes.byteLength));
    stream.write(buffer, one.bytes);
    buffers.push({ ...one, buffer });
  }
  const ring = program.hit.length > 0 ? await device.alloc(words.byteLength) : undefined;
  return { stream, words, buffers, ...(ring && { ring }) };
}

/** Devices address whole words, and no buffer is empty. */
const wholeWords = (bytes: number): number => Math.max(4, Math.ceil(bytes / 4) * 4);

async function launchAll(
  program: DeviceProgram,
  task: Task,
  memory: Memory,
  { signal, onProgress = () => undefined, limitMs = Number.POSITIVE_INFINITY }: LaunchOptions,
): Promise<{ hits: HitData[]; tried: bigint; cut?: RunData['cut'] }> {
  const isOnce = task.buffers.some(({ isWritten }) => isWritten);
  const end = task.start + task.length;
  if (isOnce && task.length > BigInt(MAX_ITEMS)) throw tooLong(task);
  const job = program.bind(task.job);
  const hits: HitData[] = [];
  const limit = performance.now() + limitMs;
  let next = task.start;
  let most = isOnce ? MAX_ITEMS : FIRST_ITEMS;
  while (next < end) {
    const piece = firstPiece({ start: next, length: end - next }, most);
    if (isOnce && BigInt(piece.count) < task.length) throw tooLong(task);
    const began = performance.now();
    if (began > limit && next > task.start) return { hits, tried: next - task.start, cut: 'time' };
    // It may have been stopped before there was a stream to cancel.
    if (signal?.aborted) return { hits, tried: next - task.start, cut: 'stopped' };
    const isComplete = await launchPiece(piece, { job, chunk: task.chunk }, memory);
    if (signal?.aborted || !isComplete) return { hits, tried: next - task.start, cut: 'stopped' };
    const found = hitsIn(piece, { words: memory.words, program, hits: CAPACITY });
    if (found instanceof Overflow) {
      if (isOnce || piece.count === 1) throw tooManyHits(task, piece);
      most = Math.max(1, piece.count >> 3);
      continue;
    }
    hits.push(...found.map(hitData));
    next += BigInt(piece.count);
    onProgress(next - task.start);
    if (hits.length >= MAX_HITS && next < end) return { hits, tried: next - task.start, cut: 'hits' };
    const took = performance.now() - began;
    most = took < LAUNCH_MS ? most * 4 : took > 4 * LAUNCH_MS ? Math.max(1, most >> 2) : most;
  }
  return { hits, tried: task.length };
}

async function launchPiece(
  piece: Piece,
  launch: Pick<Parameters<Stream['launch']>[0], 'job' | 'chunk'>,
  { stream, ring, words, buffers }: Memory,
): Promise<boolean> {
  const bound = Object.fromEntries(buffers.map(({ name, buffer }) => [name, buffer]));
  if (ring) stream.fill(ring, 0, 0, 16);
  const base = launchBase(piece).base;
  stream.launch({ ...launch, base, count: piece.count, buffers: bound, ...(ring && { ring }) });
  if (ring) stream.read(ring, words);
  return (await stream.mark().done).complete;
}

async function readBack({ stream, buffers }: Memory): Promise<RunData['buffers']> {
  const written = buffers.filter(({ isWritten }) => isWritten);
  for (const { buffer, bytes } of written) stream.read(buffer, bytes);
  await stream.mark().done;
  return written.map((one) => ({
    name: one.name,
    type: one.type,
    length: one.bytes.byteLength / elementBytes(one.type),
    head: headOf(one, HEAD),
  }));
}

function hitData({ index, ...fields }: Hit): HitData {
  return { index, fields: fields as FieldRecord };
}

const tooLong = ({ kernel: { name } }: Task): MillraceError =>
  new MillraceError({
    code: 'launch-range',
    message: `kernel ${name} writes buffers and runs in one launch, which has at most ${MAX_ITEMS} items here`,
    advice: 'give a smaller `space`, which does not cross a multiple of 2^32',
  });

const tooManyHits = ({ kernel: { name } }: Task, { start }: Piece): MillraceError =>
  new MillraceError({
    code: 'kernel-budget',
    message: `kernel ${name} emits more than ${CAPACITY} hits from index ${start} on`,
    advice: 'emit fewer hits, or give a smaller `space`',
  });
