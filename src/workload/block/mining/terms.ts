import type { Terms } from '../../mining/report.js';
import { targetText } from '../kernel/reference.js';
import { difficultyOf, hashesFor } from './difficulty.js';
import type { Share } from './scan-work.js';
import { extranonceText } from './work.js';

/** How Bitcoin's mining is reported. */
export const BLOCK_TERMS: Terms<Share> = {
  name: 'block mine',
  unit: 'H',
  difficulties: ({ target, blockTarget }) => ({ share: difficultyOf(target), block: difficultyOf(blockTarget) }),
  tries: ({ target, blockTarget }) => ({ share: hashesFor(target), block: hashesFor(blockTarget) }),
  told: ({ work, hash, nonce, version, time, extranonce }) => {
    const difficulty = difficultyOf(BigInt(`0x${hash}`));
    const ratio = (difficulty / difficultyOf(work.target)).toFixed(6);
    return {
      hash,
      difficulty,
      fields: { nonce, version, time, extranonce: extranonceText(extranonce, work.extranonceBytes) },
      figures: `hash ${hash} target ${targetText(work.target)} difficulty ${difficulty} ratio ${ratio}`,
    };
  },
};
