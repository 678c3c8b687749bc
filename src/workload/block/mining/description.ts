import type { CoinDescription } from '../../mining/report.js';
import { targetText } from '../kernel/reference.js';
import { difficultyOf, expectedHashes } from './difficulty.js';
import type { Share } from './scan-work.js';
import { extranonceText } from './work.js';

/** How Bitcoin's mining is reported. */
export const BITCOIN_DESCRIPTION: CoinDescription<Share> = {
  name: 'block mine',
  unit: 'H',
  indices: 'headers of the current work',
  difficulties: ({ target, blockTarget }) => ({ share: difficultyOf(target), block: difficultyOf(blockTarget) }),
  expectedTries: ({ target, blockTarget }) => ({ share: expectedHashes(target), block: expectedHashes(blockTarget) }),
  describe: ({ work, hash, nonce, version, time, extranonce }) => {
    const difficulty = difficultyOf(BigInt(`0x${hash}`));
    const ratio = (difficulty / difficultyOf(work.target)).toFixed(6);
    return {
      hash,
      difficulty,
      fields: { nonce, version, time, extranonce: extranonceText(extranonce, work.extranonceBytes) },
      logText: `hash ${hash} target ${targetText(work.target)} difficulty ${difficulty} ratio ${ratio}`,
    };
  },
};
