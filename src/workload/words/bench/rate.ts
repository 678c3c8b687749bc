import { createHash } from 'node:crypto';
import type { Candidate } from '../../../bench/measure.js';
import { findMaxWork, type ScalableWork } from '../../../bench/scaling.js';
import type { Device } from '../../../device/device.js';
import { MillraceError } from '../../../kernel/error.js';
import { DeviceRing } from '../generator/device-ring.js';
import { createGenerator, type Generator } from '../generator/generator.js';
import { Plan } from '../kernel/plan.js';
import type { Layout } from '../space/layout.js';
import { parseMask } from '../space/mask.js';
import { wordsOf } from '../space/words.js';

/** The mask of the figures: letters, then up to four digits. */
const maskOf = (characters: number): string => {
  const digits = characters > 8 ? 4 : 0;
  return '?l'.repeat(characters - digits) + '?d'.repeat(digits);
};

/** A candidate that counts bytes, with the number of bytes per word. */
export interface WordRate extends Candidate {
  readonly wordBytes: number;
  close(): Promise<void>;
}

/**
 * Measures packed words that stay on the device: device time of several consecutive launches. Windows of the last batch
 * are read back and compared with the host's words.
 */
export async function residentRate(device: Device, characters: number, runs: number): Promise<WordRate> {
  const mask = parseMask(maskOf(characters));
  const plan = new Plan(mask, 'canonical', '');
  const launches = 4;
  const ring = await DeviceRing.open(device, plan, launches); // no launch waits for another to end
  const stream = device.stream();
  const { processor, limits } = device.info;
  // Leaves room for the last item, which is always written whole.
  const bytes = processor === 'gpu' ? Math.min(2 ** 32, limits.bufferBytes - 2 ** 16) : 2 ** 26;
  const words = Math.floor(bytes / plan.stride);
  const run = async () => {
    const batches = [];
    for (let k = 0; k < launches; k++) batches.push(await ring.launch(stream, BigInt(k * words), words, 'packed'));
    const reports = await Promise.all(batches.map(({ ready }) => ready.done));
    const [first, last] = [reports[0], reports.at(-1)];
    const seconds = Number((last?.endedNs ?? 0n) - (first?.startedNs ?? 0n)) / 1e9;
    return { seconds, work: launches * words * plan.stride, digest: await sampled() };
  };
  const sampled = async (): Promise<string> => {
    const batch = await ring.launch(stream, 1n, words, 'packed');
    const hash = createHash('sha256');
    for (const share of [0, 0.37, 0.7, 1]) {
      const count = 20_000;
      const from = Math.floor(share * (words - count));
      const [got, expected] = [new Uint8Array(count * plan.stride), new Uint8Array(count * plan.stride)];
      // A copy must begin at a multiple of 4 bytes.
      const lead = (from * plan.stride) % 4;
      const block = new Uint8Array(Math.ceil((got.length + lead) / 4) * 4);
      stream.read(batch.buffer, block, from * plan.stride - lead);
      await stream.mark().done;
      got.set(block.subarray(lead, lead + got.length));
      wordsOf(mask).fill(expected, 1n + BigInt(from), count, '');
      if (!Buffer.from(got).equals(expected))
        throw wrongWords(device, `words ${from} to ${from + count - 1} of the batch`);
      hash.update(got);
    }
    return hash.digest('hex');
  };
  const close = async (): Promise<void> => {
    await ring.close();
    stream.close();
  };
  const name = `${characters} characters, packed, left on ${device.info.id}`;
  return { name, unit: 'B', runs, run, wordBytes: plan.stride, close };
}

export type TransferMode = 'sync' | 'async' | 'direct';

/**
 * Measures words copied to host memory, page-locked if the device supports it, and seen as views: one chunk at a time,
 * several, or all in one.
 */
export async function hostRate(device: Device, count: number, way: TransferMode, runs: number): Promise<WordRate> {
  const characters = 10;
  const generator = await createGenerator({
    devices: device,
    mode: way === 'async' ? 'async' : 'sync',
    ...(way === 'direct' && { batchBytes: count * characters }),
  });
  configure(generator, 'packed');
  const run = async () => {
    const started = performance.now();
    let bytes = 0;
    let last = 0;
    const see = (view: Uint8Array): void => {
      bytes += view.length;
      last = view.at(-1) ?? 0;
    };
    if (way === 'direct') await generator.withBatch(0n, count, see);
    else {
      for await (const batch of generator.batches(0n, count)) {
        see(batch.bytes);
        batch.release();
      }
    }
    const seconds = (performance.now() - started) / 1000;
    return { seconds, work: bytes, digest: `${bytes} ${last}` };
  };
  const how = { sync: 'one chunk at a time', async: 'several chunks', direct: 'one call' }[way];
  const name = `${count / 1e6} M words of 10, packed, to host memory: ${how}`;
  // A GPU takes 2 ms. An engine job costs a tenth of that until V8 has compiled it, after some hundred jobs.
  const isShort = device.info.processor === 'gpu';
  const steady = isShort ? { warmup: Math.ceil(3e9 / count), runs: Math.max(runs, 31) } : { warmup: 2, runs };
  return { name, unit: 'B', ...steady, run, wordBytes: characters, close: () => generator.close() };
}

/** The job of the scaling measurement: words of 10 characters from index 0, in batches to host memory, on all devices. */
export async function scalingJob(devices: readonly Device[], maxWork?: number): Promise<ScalableWork> {
  const generator = await createGenerator({ devices: [...devices], mode: 'async' });
  configure(generator, 'packed');
  const run = async (work: number): Promise<number> => {
    const begun = performance.now();
    let bytes = 0;
    for await (const batch of generator.batches(0n, work)) {
      bytes += batch.bytes.length;
      batch.release();
    }
    if (bytes !== work * 10) throw wrongWords(devices[0] as Device, `${bytes} bytes for ${work} words`);
    return (performance.now() - begun) / 1000;
  };
  await run(1);
  return { unit: 'words', maxWork: maxWork ?? (await findMaxWork(run, 10 ** 10)), run, close: () => generator.close() };
}

/** Measures small batches, each requested separately, several at a time. */
export async function smallRate(device: Device, runs: number): Promise<WordRate> {
  const generator = await createGenerator({ devices: device, batchBytes: 1 << 16 });
  configure(generator, 'packed');
  const [batches, words, atOnce] = [10_000, 1000, 4];
  const run = async () => {
    let bytes = 0;
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < batches) {
        const at = next++;
        bytes += await generator.withBatch(BigInt(at * words), words, (view) => view.length);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
    return { work: batches, digest: String(bytes) };
  };
  const name = `batches of 1,000 words, ${atOnce} at a time`;
  return { name, unit: 'batches', runs, run, wordBytes: Number.NaN, close: () => generator.close() };
}

/** Returns the SHA-256 of the first words, for comparison with the recorded digests. */
export async function digestOf(device: Device, count: number, layout: Layout): Promise<string> {
  const generator = await createGenerator({ devices: device, mode: 'async' });
  configure(generator, layout);
  const hash = createHash('sha256');
  for await (const batch of generator.batches(0n, count)) {
    hash.update(batch.bytes);
    batch.release();
  }
  await generator.close();
  return hash.digest('hex');
}

function configure(generator: Generator, layout: Layout): void {
  generator.setCharset(1, 'abcdefghijklmnopqrstuvwxyz');
  generator.setCharset(2, '0123456789');
  generator.setMask([1, 1, 1, 1, 1, 1, 2, 2, 2, 2]);
  generator.setFormat(layout);
}

const wrongWords = ({ info: { id } }: Device, which: string): MillraceError =>
  new MillraceError({
    code: 'device-failed',
    message: `${id} made wrong words: ${which}`,
    asked: `the words kernel on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; a figure for wrong results is worth nothing`,
  });
