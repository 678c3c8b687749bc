import { resolve } from 'node:path';
import type { JobDescription } from '../../../console/ledger/job-session.js';
import { between, type ChunkSource } from '../../../engine/index.js';
import { LedgerSource, partOf, type WorkLog } from '../../../store/index.js';
import type { FoundNonce } from '../kernel/nonce-flow.js';
import { type Block, headerPrefix } from '../kernel/reference.js';
import { NONCES } from '../kernel/scan.js';

/**
 * Many blocks as one job in the ledger: the nonces of the first block, then those of the second, and so on. An index is
 * block · nonces + nonce, counted from the first nonce that is tried.
 */
export interface BlocksJob {
  readonly jobSpec: JobDescription;
  /** The chunk source for one block's search; it records finished work in the ledger. */
  source(workLog: WorkLog<LedgerNonce>, at: number): ChunkSource<readonly FoundNonce[]>;
}

/** A nonce in the ledger. */
export interface LedgerNonce {
  readonly index: bigint;
  /** Counted from 1. */
  readonly block: number;
  readonly nonce: number;
}

export function blocksJob(
  blocks: readonly Block[],
  { from = 0, to = NONCES }: { readonly from?: number; readonly to?: number },
  { inName, outName }: { readonly inName: string; readonly outName: string },
): BlocksJob {
  const nonces = BigInt(to) - BigInt(from);
  const headers = Buffer.concat(blocks.map(headerPrefix));
  return {
    jobSpec: {
      command: 'block solve',
      name: `block solve ${inName}`,
      // The output file is part of the job's identity: two commands that solve the same blocks do not wait for each other.
      params: { blocks: blocks.length, headers, from, to, out: resolve(outName) },
      kernel: 'block 1',
      space: { start: 0n, length: BigInt(blocks.length) * nonces },
      restartIfFinished: true,
    },
    source: (workLog, at) => {
      const space = between(BigInt(from), BigInt(to));
      const part = partOf<LedgerNonce, FoundNonce>(workLog, {
        space,
        offset: BigInt(at) * nonces - BigInt(from),
        toStored: ({ nonce }) => ({ block: at + 1, nonce }),
        fromStored: ({ nonce }, index) => ({ index, nonce }),
        // The answer is the file. A search that waited for the disk with each nonce would try others meanwhile: 3,000
        // easy blocks took 550 s instead of 45.
        when: 'soon',
      });
      return new LedgerSource(part, space);
    },
  };
}
