export { type FoundGap, type GapFlowOptions, gapFlow, type PieceWork } from './flow.js';
export {
  difficulty as gapDifficulty,
  difficultyOf as proofDifficulty,
  merit as gapMerit,
  type ProofOfWork,
} from './reference.js';
export { type Gap, type GapRequest, searchGaps } from './search.js';
