export { type CandidateOptions, type Candidates, candidateFlow } from './job/candidates.js';
export { type FoundGap, type GapFlowOptions, gapFlow, type PieceWork } from './job/flow.js';
export { type Gap, type GapRequest, searchGaps } from './job/search.js';
export type { HostSieve, HostWindow, Numbers as GapNumbers } from './job/sieve-stage.js';
export {
  difficulty as gapDifficulty,
  difficultyOf as proofDifficulty,
  merit as gapMerit,
  type ProofOfWork,
} from './kernel/reference.js';
export type { BitmapLayout } from './kernel/sieve-kernels.js';
