import type { BenchCase, WorkloadBench } from '../../../bench/case.js';
import { MillraceError } from '../../../kernel/error.js';
import { recordedDigests } from './digests.js';
import { pipeCandidates } from './peers.js';
import { digestOf, hostRate, residentRate, scalingJob } from './rate.js';

const resident = (characters: number): BenchCase => ({
  name: `${characters} characters, packed, left on the device`,
  checkedBy: 'words made by the host, in four windows',
  unitBytes: 1,
  bound: { limit: 'write', perUnit: 1 },
  unsupportedReason: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes minutes for it' : undefined),
  open: (device, { runs }) => residentRate(device, characters, runs),
});

/** Words of 10 characters. The digest of the first million (of all words in a full run) must match the recorded one. */
const toHost = (millions: number): BenchCase => ({
  name: `${millions} M words of 10, to host memory`,
  checkedBy: 'the recorded SHA-256 of the first million, with --full of all',
  unitBytes: 1,
  bound: { limit: 'to host', perUnit: 1 },
  unsupportedReason: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes minutes for it' : undefined),
  open: async (device, { runs, isFull }) => {
    const words = (isFull ? millions : 1) * 1_000_000;
    const known = recordedDigests.find((one) => one.words === words && one.layout === 'packed');
    const made = await digestOf(device, words, 'packed');
    if (made !== known?.sha256) {
      throw new MillraceError({
        code: 'device-failed',
        message: `${device.info.id}: the first ${words} words have the digest ${made}, not ${known?.sha256}`,
        asked: `the words kernel on ${device.info.id}`,
        advice: `run \`millrace selftest --device ${device.info.id}\`; a figure for wrong results is worth nothing`,
      });
    }
    return hostRate(device, millions * 1_000_000, 'async', runs);
  },
});

export const wordsCases: WorkloadBench = {
  workload: 'words',
  cases: [
    resident(8),
    ...[10, 12, 16].map((characters) => ({ ...resident(characters), isLong: true })),
    toHost(10),
    ...[50, 100].map((millions) => ({ ...toHost(millions), isLong: true })),
  ],
  sized: scalingJob,
  async *peers(device, { runs, isFull }) {
    if (device.info.kind !== 'native' && device.info.kind !== 'wasm') return;
    // 832 MB, or 320 MB with the peers that take ten times as long.
    const mask = isFull ? '?l?l?l?l?d?d' : '?l?l?l?l?l?d';
    const { candidates, absent } = await pipeCandidates(mask, { device: device.info.id, runs, isFull });
    const slow = isFull ? [] : ['hashcat and crunch (ten times as slow: with --full)'];
    yield { title: 'Whole commands through a pipe', candidates, absent: [...absent, ...slow] };
  },
};
