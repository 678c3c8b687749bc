export type { Challenge } from './job/flow.js';
export {
  type Answer as ProofAnswer,
  createProver,
  type MinedProof,
  type Prover,
  type ProverOptions,
} from './job/prover.js';
export { hash as uhash, meets as meetsDifficulty, type Proof, verify as verifyProof } from './kernel/reference.js';
