import type { Device } from '../../../device/device.js';
import type { Engine } from '../../../engine/engine.js';
import { type Batch, batches } from '../../../engine/makers/batches.js';
import { settingFor } from '../../../engine/tune/tuning-store.js';
import { type ChunkSource, MemorySource } from '../../../engine/work/source.js';
import { between, type Range } from '../../../engine/work/space.js';
import { Plan } from '../kernel/plan.js';
import { type ReferenceJob, referenceRow } from '../kernel/reference.js';
import type { ByteString } from '../space/charset.js';
import type { Keyspace, KeyspacePart } from '../space/keyspace.js';
import { type Layout, separatorOf } from '../space/layout.js';
import { maxWordBytes } from '../space/mask.js';
import { isRegular, maxBytes, type Words } from '../space/words.js';
import { wordFlow } from './flow.js';
import { wordsTunable } from './tune.js';

export interface WordOptions {
  readonly layout: Layout;
  /** Returns the engine to use; called only if a device has words to make. */
  readonly engine: () => Promise<Engine>;
  /** Bytes of the largest batch; default by device. */
  readonly batchBytes?: number | undefined;
  /** The host makes parts of fewer bytes than this, because a device takes longer to start. Default 4 MiB. */
  readonly minDeviceBytes?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Resolves when the host may make its next batch, for pausing a job. Undefined if it may do so at once. */
  readonly whenRunning?: (() => Promise<void> | undefined) | undefined;
  /** Hands out and records ranges. Default: in memory. */
  readonly source?: ((range: Range) => ChunkSource<Uint8Array>) | undefined;
}

/**
 * The words `[from, to)` of a space as batches of bytes, in order. A batch's bytes are a view of the memory that the device
 * copies to, page-locked if the device supports it; it is refilled after its release.
 */
export async function* wordBatches(
  space: Keyspace,
  { start, length }: Range,
  options: WordOptions,
): AsyncGenerator<Batch, void, undefined> {
  for (const part of space.parts(start, start + length)) {
    options.signal?.throwIfAborted();
    yield* isMadeByHost(part, options) ? hostBatches(part, options) : deviceBatches(part, options);
  }
}

/** True if the host makes a part itself. */
function isMadeByHost(
  { words, from, to }: KeyspacePart,
  { minDeviceBytes = MIN_DEVICE_BYTES, layout }: WordOptions,
): boolean {
  const bytes = (to - from) * BigInt(maxWordBytes(words.mask) + separatorOf(layout).length);
  return !isRegular(words) || Number(bytes) < minDeviceBytes;
}

const MIN_DEVICE_BYTES = 4 << 20;
const HOST_BATCH_BYTES = 1 << 20;

async function* hostBatches(part: KeyspacePart, options: WordOptions): AsyncGenerator<Batch, void, undefined> {
  const { words, start, from, to } = part;
  const separator = separatorOf(options.layout);
  const row = maxWordBytes(words.mask) + separator.length;
  const maxWords = Math.max(1, Math.floor((options.batchBytes ?? HOST_BATCH_BYTES) / row));
  for (let next = from; next < to; ) {
    await options.whenRunning?.();
    options.signal?.throwIfAborted();
    const count = Number(to - next < BigInt(maxWords) ? to - next : BigInt(maxWords));
    const bytes = new Uint8Array(maxBytes(words, count, separator));
    const end = words.fill(bytes, next, count, separator);
    yield { start: start + next, count, bytes: bytes.subarray(0, end), release: () => undefined };
    next += BigInt(count);
  }
}

async function* deviceBatches(part: KeyspacePart, options: WordOptions): AsyncGenerator<Batch, void, undefined> {
  const { words, start, from, to } = part;
  const separator = separatorOf(options.layout);
  const plan = new Plan(words.mask, words.order, separator);
  const reference = referenceOf(words, separator);
  // Indices count from the start of the part: the engine takes indices up to 2^128, and a mask may have more.
  const range = between(0n, to - from);
  const made = batches({
    flow: wordFlow(plan, { batchBytes: options.batchBytes, words: to - from, first: from, tuned }),
    options: {
      engine: await options.engine(),
      rowBytes: plan.stride,
      verify: (row: { readonly index: bigint; readonly bytes: Uint8Array }) =>
        referenceRow(reference, { ...row, index: from + row.index }),
      ...(options.signal && { signal: options.signal }),
    },
    source: () => options.source?.(range) ?? new MemorySource(range),
    row: (index, bytes) => ({ index, bytes }),
  });
  for await (const batch of made) {
    const { count } = batch;
    yield { start: start + from + batch.start, count, bytes: batch.bytes, release: () => batch.release() };
  }
}

const tuned = (device: Device) => settingFor(device, wordsTunable);

export function referenceOf({ mask, order }: Words, separator: ByteString): ReferenceJob {
  return { mask, separator, leftmostFastest: order === 'hashcat' };
}
