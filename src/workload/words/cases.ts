import type { Benched } from '../../bench/case.js';
import { MillraceError } from '../../kernel/error.js';
import { recordedDigests } from './digests.js';
import { pipes } from './peers.js';
import { digestOf, hostRate, residentRate, sizedOn } from './rate.js';

/** Words of the recorded digest that comes before each figure; the larger ones are `bench words`' own. */
const RECORDED = 1_000_000;

export const wordsCases: Benched = {
  workload: 'words',
  cases: [
    {
      name: '8 characters, packed, left on the device',
      checkedBy: 'words made by the host, in four windows',
      unitBytes: 1,
      bound: { limit: 'write', perUnit: 1 },
      open: (device, { runs }) => residentRate(device, 8, runs),
    },
    {
      name: '10 M words of 10, to host memory',
      checkedBy: 'the recorded SHA-256 of the first million',
      unitBytes: 1,
      bound: { limit: 'to host', perUnit: 1 },
      lacks: ({ kind }) => (kind === 'interpreter' ? 'the interpreter takes minutes for it' : undefined),
      open: async (device, { runs }) => {
        const known = recordedDigests.find(({ words, layout }) => words === RECORDED && layout === 'newline');
        const made = await digestOf(device, RECORDED, 'newline');
        if (made !== known?.sha256) {
          throw new MillraceError({
            code: 'device-failed',
            message: `${device.info.id}: the first ${RECORDED} words have the digest ${made}, not ${known?.sha256}`,
            asked: `the words kernel on ${device.info.id}`,
            advice: `run \`millrace selftest --device ${device.info.id}\`; a figure for wrong results is worth nothing`,
          });
        }
        return hostRate(device, 10_000_000, 'async', runs);
      },
    },
  ],
  sized: sizedOn,
  peers: async (device, { runs, isFull }) => {
    const mask = '?l?l?l?l?l?d';
    const { candidates, absent } = await pipes(mask, { device: device.info.id, runs, isFull });
    return { title: 'Whole commands through a pipe', candidates, absent, close: () => {} };
  },
};
