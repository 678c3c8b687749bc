import type { CoinDescription } from '../../mining/report.js';
import { formatFixed } from '../command/number-options.js';
import { candidateLine } from '../command/report.js';
import { merit } from '../kernel/reference.js';
import type { Share } from './work.js';

/** How Gapcoin's mining is reported. Tries are integers: one in ln p is prime, and e^−d of those begin a long enough gap. */
export const gapcoinDescription = (shift: number): CoinDescription<Share> => {
  const logarithm = (256 + shift) * Math.LN2;
  const tries = (target: bigint): number => logarithm * Math.exp(Math.min(real(target), MAX_EXPONENT));
  return {
    name: 'gaps mine',
    unit: 'int',
    indices: 'numbers of the current header',
    difficulties: ({ header, target }) => ({ share: real(target), block: real(header.difficulty) }),
    expectedTries: ({ header, target }) => ({ share: tries(target), block: tries(header.difficulty) }),
    describe: (share) => {
      const { work, hash, start, end, nonce, time, adder } = share;
      const own = { nonce, version: work.header.version, time, shift: share.shift, adder };
      const gap = { gap: Number(end - start), merit: Number(formatFixed(merit(start, end))) };
      return {
        hash: hash.toString(16),
        difficulty: real(share.difficulty),
        fields: { ...own, ...gap, difficulty: share.difficulty },
        logText: figuresOf(share),
      };
    },
  };
};

/** The log line of a share, or of a candidate below the target. */
export const candidateText = ({ work, hash, adder, difficulty }: Share): string =>
  candidateLine({ offset: adder, target: work.target, reached: difficulty, hash, isValid: difficulty >= work.target });

function figuresOf({ work: { target }, hash, adder, difficulty }: Share): string {
  const ratio = (Number(difficulty) / Number(target)).toFixed(6);
  return `hash ${hash.toString(16)} adder 0x${adder.toString(16)} target ${target} difficulty ${difficulty} ratio ${ratio}`;
}

/** e to this power is still finite. */
const MAX_EXPONENT = 500;

const real = (fixed: bigint): number => Number(fixed) / 2 ** 48;
