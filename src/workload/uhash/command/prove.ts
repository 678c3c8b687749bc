import type { Call } from '../../../console/command/action.js';
import { Exit } from '../../../console/command/exit.js';
import { isOnFleet, OF_A_WORKER } from '../../../console/fleet/place.js';
import type { JobSessionOptions } from '../../../console/ledger/job-session.js';
import { count } from '../../../console/output/format.js';
import type { CommandResult } from '../../../console/output/output.js';
import type { Range } from '../../../engine/index.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Challenge } from '../job/flow.js';
import { miningJob, proofSource } from '../job/ledger-job.js';
import { minedNonces, NONCES, type ProofFinder } from '../job/prover.js';
import { hex } from '../options.js';
import { type ProverCommandOptions, runProver } from './run-prover.js';

interface ProveOptions extends ProverCommandOptions {
  readonly challenge: Uint8Array;
  readonly difficulty: number;
  readonly startNonce: bigint;
  readonly maxAttempts: number;
}

/** `millrace uhash prove` */
export async function prove(call: Call<ProveOptions>): Promise<CommandResult> {
  const { challenge: header, difficulty, startNonce: start, maxAttempts } = call.options;
  const challenge = { header, difficulty };
  const task = {
    name: 'uhash prove',
    challenge,
    wanted: 'first',
    length: BigInt(maxAttempts),
    // Nonces that continue at 0 are not one range.
    nonces: () => (start + BigInt(maxAttempts) <= NONCES ? { start, length: BigInt(maxAttempts) } : undefined),
    isFleet: isOnFleet(call, { batchSize: OF_A_WORKER }),
  } as const;
  return runProver(call, task, async (prover, { elapsedSeconds }) => {
    const found = await findWrapped(prover, start, BigInt(maxAttempts), call.signal);
    const common = { challenge: hex(header), difficulty, attempts: found.hashes, elapsed_s: elapsedSeconds() };
    if (found.proof === undefined) {
      call.output.line(`no proof among ${count(maxAttempts)} nonces from ${start} on`);
      return { exit: Exit.no, answer: { ...common, nonce: null, hash: null } };
    }
    const proof = { nonce: found.proof.nonce, hash: hex(found.proof.hash) };
    call.output.line(`${proof.nonce}  ${proof.hash}`);
    return { exit: Exit.ok, answer: { ...common, ...proof } };
  });
}

/** Continues at 0 after the last nonce. */
async function findWrapped(prover: ProofFinder, start: bigint, attempts: bigint, signal: AbortSignal) {
  const first = await prover.find({ start, count: attempts, signal });
  const left = start + attempts - NONCES;
  if (first.proof !== undefined || left <= 0n) return first;
  const second = await prover.find({ start: 0n, count: left, signal });
  return { ...second, hashes: first.hashes + second.hashes };
}

interface MineCommandOptions extends ProverCommandOptions, JobSessionOptions {
  readonly challenge: Uint8Array;
  readonly difficulty: number;
  readonly startNonce: bigint;
  readonly maxBatches: number;
  readonly stopOnProof?: boolean;
}

/** `millrace uhash mine` */
export async function mine(call: Call<MineCommandOptions>): Promise<CommandResult> {
  const { challenge: header, difficulty, startNonce: start, maxBatches, stopOnProof = false } = call.options;
  const challenge = { header, difficulty };
  const countOf = ({ batch }: ProofFinder): { readonly count?: bigint } =>
    maxBatches === 0 ? {} : { count: BigInt(maxBatches) * BigInt(batch) };
  const nonces = (prover: ProofFinder): Range => minedNonces(start, countOf(prover).count);
  const jobSpec = (prover: ProofFinder) => miningJob(challenge, nonces(prover));
  const isFleet = isMinedOnFleet(call);
  const task = { name: 'uhash mine', challenge, wanted: 'all', nonces, jobSpec, isFleet } as const;
  return runProver(call, task, async (prover, { elapsedSeconds, setProofCount, session, resumeHint }) => {
    const { ledger } = session;
    const before = prover.hashes;
    let proofs = 0;
    const answer = () => {
      const elapsed = elapsedSeconds();
      const total = prover.hashes - before;
      return { hashes_total: total, elapsed_s: elapsed, hashrate: Number(total) / elapsed };
    };
    const source = ledger && { source: (_: Challenge, space: Range) => proofSource(ledger, space) };
    try {
      for await (const proof of prover.mine({ start, ...countOf(prover), ...source, signal: call.signal })) {
        proofs += 1;
        setProofCount(proofs);
        call.output.event('proof_found', { nonce: proof.nonce, hash: hex(proof.hash), ...answer() });
        call.output.line(`${proof.nonce}  ${hex(proof.hash)}`);
        await session.notify({ index: proof.nonce, hash: hex(proof.hash) });
        if (stopOnProof) break;
      }
    } catch (error) {
      if (!call.signal.aborted) throw error;
    }
    const isAnswered = stopOnProof && proofs > 0;
    const isStopped = call.signal.aborted && !isAnswered;
    const reason = isStopped ? { reason: 'stopped' } : {};
    await session.end({ isComplete: !isStopped && !isAnswered, isAnswered, ...reason });
    const hint = resumeHint();
    if (isStopped && hint !== undefined) call.output.say(`stopped; ${hint}`);
    const exit = isStopped ? (call.stopped ?? Exit.stopped) : proofs > 0 ? Exit.ok : Exit.no;
    return { exit, answer: { proofs, ...answer() } };
  });
}

/** Without a limit, batches do not matter. With one, a batch has a size that does not depend on the workers. */
function isMinedOnFleet(call: Call<MineCommandOptions>): boolean {
  const { maxBatches, batchSize } = call.options;
  const isFleet = isOnFleet(call, maxBatches === 0 ? { batchSize: OF_A_WORKER } : {});
  if (!isFleet || maxBatches === 0 || batchSize !== undefined) return isFleet;
  throw new MillraceError({
    code: 'usage',
    message: '--max-batches counts batches, and the workers of a fleet have different ones',
    asked: `--max-batches ${maxBatches} with --fleet`,
    advice: 'give --batch-size, the number of nonces that counts as a batch',
  });
}
