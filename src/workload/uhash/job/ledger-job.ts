import type { JobDescription } from '../../../console/ledger/job-session.js';
import type { ChunkSource, Range } from '../../../engine/index.js';
import { LedgerSource, partOf, type WorkLog } from '../../../store/index.js';
import { hex } from '../options.js';
import type { Challenge, NonceDigest } from './flow.js';

/** Mining as a job in the ledger: an index is a nonce. Undefined if there are no nonces to try. */
export function miningJob({ header, difficulty }: Challenge, space: Range): JobDescription | undefined {
  if (space.length === 0n) return undefined;
  return {
    command: 'uhash mine',
    name: `uhash mine -d ${difficulty}`,
    params: { challenge: hex(header), difficulty },
    kernel: 'uhash 1',
    space,
    restartIfFinished: true,
  };
}

/** A proof in the ledger. */
export interface LedgerProof {
  readonly index: bigint;
  readonly hash: string;
}

export function proofSource(workLog: WorkLog<LedgerProof>, space: Range): ChunkSource<readonly NonceDigest[]> {
  const part = partOf<LedgerProof, NonceDigest>(workLog, {
    space,
    offset: 0n,
    toStored: ({ hash }) => ({ hash: hex(hash) }),
    fromStored: ({ hash }, index) => ({ index, hash: Uint8Array.from(Buffer.from(hash, 'hex')) }),
  });
  return new LedgerSource(part, space);
}
