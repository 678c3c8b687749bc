import type { WorkloadBench } from '../../../bench/case.js';
import { rateOf } from './rate.js';

/** Four chains fill 512 KiB each, then visit 12,288 blocks each: 64 bytes are read, 32 written. */
const PAD_BYTES = 4 * (512 * 1024 + 12_288 * (64 + 32));

export const uhashCases: WorkloadBench = {
  workload: 'uhash',
  cases: [
    {
      name: 'nonces of a challenge',
      checkedBy: 'digests of a whole batch, seven of them by the reference',
      bound: { limit: 'copy', perUnit: PAD_BYTES },
      unsupportedReason: ({ kind }) =>
        kind === 'interpreter' ? 'the interpreter takes minutes for one hash' : undefined,
      open: (device, { runs, seconds }) => rateOf(device, { runs, seconds }),
    },
  ],
};
