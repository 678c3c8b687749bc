export type { Challenge } from './flow.js';
export { type Answer as ProofAnswer, createProver, type Mined, type Prover, type ProverOptions } from './prover.js';
export { hash as uhash, meets as meetsDifficulty, type Proof, verify as verifyProof } from './reference.js';
