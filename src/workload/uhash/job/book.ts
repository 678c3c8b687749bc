import type { Booked } from '../../../console/ledger/job-session.js';
import type { ChunkSource, Range } from '../../../engine/index.js';
import { BookSource, type Books, partOf } from '../../../store/index.js';
import { hex } from '../given.js';
import type { Challenge, Found } from './flow.js';

/** Mining as a job in the ledger: an index is a nonce. Undefined if there are no nonces to try. */
export function bookMining({ header, difficulty }: Challenge, space: Range): Booked | undefined {
  if (space.length === 0n) return undefined;
  return {
    command: 'uhash mine',
    name: `uhash mine -d ${difficulty}`,
    params: { challenge: hex(header), difficulty },
    kernel: 'uhash 1',
    space,
    anew: true,
  };
}

/** A proof in the ledger. */
export interface KeptProof {
  readonly index: bigint;
  readonly hash: string;
}

export function proofSource(books: Books<KeptProof>, space: Range): ChunkSource<readonly Found[]> {
  const part = partOf<KeptProof, Found>(books, {
    space,
    offset: 0n,
    kept: ({ hash }) => ({ hash: hex(hash) }),
    told: ({ hash }, index) => ({ index, hash: Uint8Array.from(Buffer.from(hash, 'hex')) }),
  });
  return new BookSource(part, space);
}
