import { belowTarget, items, sha256, u32, when } from '../../kernel/index.js';

/**
 * Tries one nonce per item: SHA-256d of an 80-byte header, below the target. Written out in full; that the first block's
 * state and the first rounds of the second depend on the job only is the language's business. `topWordZero` is for
 * targets below 2^224, where the digest's top word must be zero and one compare rejects all but one nonce in 2^32.
 */
export const headerScan = (spec: { readonly topWordZero: boolean }) =>
  items(
    'block',
    {
      // the header's first 76 bytes as message words; the target's words, most significant first
      job: { header: [u32, 19], target: [u32, 8] },
      hit: { nonce: u32 },
    },
    ({ job, index, emit }) => {
      const nonce = index.lo;
      const digest = sha256.double([...job.header, nonce.byteSwap()]);
      const top = digest[7];
      const maybe = spec.topWordZero ? top.eq(0) : top.byteSwap().le(job.target[0]);
      when(maybe, () => when(belowTarget(digest, job.target), () => emit({ nonce })));
    },
  );
