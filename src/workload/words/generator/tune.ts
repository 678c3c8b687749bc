import { createHash, type Hash } from 'node:crypto';
import type { Device, DeviceInfo } from '../../../device/device.js';
import { Engine } from '../../../engine/engine.js';
import { batches } from '../../../engine/makers/batches.js';
import { type Axis, settingText, type Trial, type Tunable } from '../../../engine/tune/tune.js';
import { MemorySource } from '../../../engine/work/source.js';
import { between } from '../../../engine/work/space.js';
import { MillraceError } from '../../../kernel/error.js';
import { Plan } from '../kernel/plan.js';
import { referenceRow } from '../kernel/reference.js';
import { parseMask, widthOf } from '../space/mask.js';
import { kernelOn, type WordSetting, wordFlow } from './flow.js';

/**
 * The choices for words, tried on nine letters and a line feed each. Every 4,093rd byte of the output must be the same for
 * all candidates. Before that, all bytes of the first 100,003 words must be, and the reference checks the first and the
 * last word of each batch.
 */
export const wordsTunable: Tunable<WordSetting> = {
  name: 'words',
  unit: 'B',
  kernels: (info) => [kernelOn({ info }).kernel],
  axes,
  audit,
  open,
};

function axes({ kind, processor, limits }: DeviceInfo): readonly Axis<WordSetting>[] {
  if (kind === 'interpreter') return [];
  const sizes = (...bytes: readonly number[]) => bytes.map((batchBytes) => ({ batchBytes }));
  if (processor === 'cpu') {
    return [
      { name: 'quads per item', changes: [{ quads: 8 }, { quads: 128 }], measured: 'job' },
      { name: 'batch', changes: sizes(2 << 20, 4 << 20, 16 << 20, 64 << 20), measured: 'job' },
    ];
  }
  const lanes = [64, 128, 256, 512].filter((one) => one <= limits.lanes);
  return [
    { name: 'quads per item', changes: [{ quads: 2 }, { quads: 4 }], measured: 'job' },
    { name: 'workgroup', changes: lanes.map((one) => ({ lanes: one })), measured: 'job' },
    { name: 'batch', changes: sizes(8 << 20, 16 << 20, 64 << 20), measured: 'job' },
  ];
}

const mask = parseMask('?l?l?l?l?l?l?l?l?l');
const SEPARATOR = '\n';
const stride = (widthOf(mask) ?? 0) + SEPARATOR.length;
let plan: Plan | undefined;

/** Prime, so that pieces begin at every offset. */
const AUDITED_WORDS = 100_003n;

async function audit(device: Device, setting: WordSetting): Promise<string> {
  const sum = createHash('sha256');
  await generateWords(device, setting, AUDITED_WORDS, (bytes, start) => {
    for (const at of [0, bytes.length / stride - 1]) {
      const row = { index: start + BigInt(at), bytes: bytes.subarray(at * stride, (at + 1) * stride) };
      const verdict = referenceRow({ mask, separator: SEPARATOR }, row);
      if (verdict !== true) throw wrongWord(device, setting, verdict);
    }
    sum.update(bytes);
  });
  return sum.digest('hex');
}

async function open(device: Device, setting: WordSetting): Promise<Trial> {
  const words = BigInt(Math.ceil((await trialBytesFor(device)) / stride));
  return {
    close: () => undefined,
    run: async () => {
      const sum = createHash('sha256');
      const timed = await generateWords(device, setting, words, (bytes, first) =>
        sample(sum, bytes, Number(first) * stride),
      );
      return { ...timed, digest: sum.digest('hex') };
    },
  };
}

const SAMPLE_STEP = 4093;

function sample(sum: Hash, bytes: Uint8Array, position: number): void {
  const seen: number[] = [];
  for (let at = (SAMPLE_STEP - (position % SAMPLE_STEP)) % SAMPLE_STEP; at < bytes.length; at += SAMPLE_STEP)
    seen.push(bytes[at] ?? 0);
  sum.update(Uint8Array.from(seen));
}

/**
 * Makes words as a job does and calls `see` with each batch in order. Time counts from the first batch on: before it, memory is
 * page-locked, which a job does once.
 */
async function generateWords(
  device: Device,
  setting: WordSetting,
  words: bigint,
  see: (bytes: Uint8Array, start: bigint) => void,
): Promise<{ readonly work: number; readonly seconds: number }> {
  plan ??= new Plan(mask, 'canonical', SEPARATOR);
  const engine = new Engine([device]);
  try {
    const made = batches({
      flow: wordFlow(plan, { words, tuned: async () => setting }),
      options: { engine, rowBytes: stride },
      source: () => new MemorySource(between(0n, words)),
      row: (index, bytes) => ({ index, bytes }),
    });
    let [work, begun, first] = [0, 0, 0];
    for await (const batch of made) {
      begun ||= performance.now();
      first ||= batch.bytes.length;
      work += batch.bytes.length;
      see(batch.bytes, batch.start);
      batch.release();
    }
    return { work: work - first, seconds: (performance.now() - begun) / 1000 };
  } finally {
    await engine.close();
  }
}

const trialBytes = new WeakMap<Device, Promise<number>>();

/** Returns the number of bytes that take about half a second. */
function trialBytesFor(device: Device): Promise<number> {
  const measured = async (): Promise<number> => {
    for (let bytes = 1 << 20; ; bytes *= 4) {
      const { work, seconds } = await generateWords(device, {}, BigInt(Math.ceil(bytes / stride)), () => undefined);
      if (seconds >= RUN_SECONDS / 4) return Math.ceil((work * RUN_SECONDS) / seconds);
    }
  };
  const known = trialBytes.get(device) ?? measured();
  trialBytes.set(device, known);
  return known;
}

const RUN_SECONDS = 0.5;

function wrongWord({ info: { id } }: Device, setting: WordSetting, reason: string): MillraceError {
  return new MillraceError({
    code: 'device-failed',
    message: `candidate ${settingText(setting)} made a wrong word on ${id}: ${reason}`,
    asked: `words on ${id}`,
    advice: `run \`millrace selftest --device ${id}\`; no setting was saved`,
  });
}
