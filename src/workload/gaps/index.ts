export { type CandidateOptions, type Candidates, candidateFlow } from './candidates.js';
export { type FoundGap, type GapFlowOptions, gapFlow, type PieceWork } from './flow.js';
export {
  difficulty as gapDifficulty,
  difficultyOf as proofDifficulty,
  merit as gapMerit,
  type ProofOfWork,
} from './reference.js';
export { type Gap, type GapRequest, searchGaps } from './search.js';
export type { BitmapLayout } from './sieve-kernels.js';
export type { HostSieve, HostWindow, Numbers as GapNumbers } from './sieving.js';
