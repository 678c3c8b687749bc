import { belowTarget, type Digest, type Expr, items, sha256, u32, when } from '../../kernel/index.js';

/**
 * Tries one nonce per item: SHA-256d of an 80-byte header, below the target. Written out in full; that the first block's
 * state and the first rounds of the second depend on the job only is the language's business.
 */
export const headerScan = ({ topWordZero, perThread = 1 }: ScanSpec) =>
  items(
    'block',
    {
      // the header's first 76 bytes as message words; the target's words, most significant first
      job: { header: [u32, 19], target: [u32, 8] },
      hit: { nonce: u32 },
    },
    ({ job, index, emit }) => {
      for (let at = 0; at < perThread; at++) {
        const nonce = perThread === 1 ? index.lo : index.lo.mul(perThread).add(at);
        const digest = sha256.double([...job.header, nonce.byteSwap()]);
        when(maybeBelow(digest, job.target, topWordZero), () =>
          when(belowTarget(digest, job.target), () => emit({ nonce })),
        );
      }
    },
  );

export interface ScanSpec {
  /**
   * For targets below 2^224: the digest's top word must be zero, and one compare rejects all but one nonce in 2^32.
   * Without it the top word is compared with the target's.
   */
  readonly topWordZero: boolean;
  /**
   * Nonces per item, one after the other: item i tries i·perThread and those that follow. Default 1: two were slower on a
   * core with AVX-512 (23.0 MH/s instead of 29.0) and on WebAssembly (2.3 instead of 2.8).
   */
  readonly perThread?: number;
}

/**
 * Tries one nonce with several versions of the header per item. The versions differ in the first block alone; what the
 * second one is expanded to depends on the nonce, not on them, and is computed once for all: of the 1,804 shifts,
 * rotations and logic of a hash 304 are shared, so that 1,652 are left with two versions and 1,576 with four. What the
 * first block leaves comes from outside (`midstate`): from the versions themselves the host would compute it for every
 * launch, 1,850 operations and 0.9 ms each.
 */
export const versionScan = ({ topWordZero, versions }: VersionSpec) =>
  items(
    'block-versions',
    {
      job: { target: [u32, 8] },
      // eight words for each version; bytes 64 to 76 of the header as message words
      chunk: { states: [u32, 8 * versions], tail: [u32, 3] },
      hit: { nonce: u32, version: u32 },
    },
    ({ job, chunk, index, emit }) => {
      const nonce = index.lo;
      const states = Array.from({ length: versions }, (_, at) => chunk.states.slice(8 * at, 8 * at + 8));
      const block = [...chunk.tail, nonce.byteSwap(), ...sha256.padding(640)];
      for (const [version, first] of sha256.compressEach(states, block).entries()) {
        const digest = sha256.hash(first);
        when(maybeBelow(digest, job.target, topWordZero), () =>
          when(belowTarget(digest, job.target), () => emit({ nonce, version })),
        );
      }
    },
  );

export interface VersionSpec extends Pick<ScanSpec, 'topWordZero'> {
  /** How many there are; a hit says which of them it is. */
  readonly versions: number;
}

/** False for nearly all digests that are not below the target, from their top word alone. */
function maybeBelow(digest: Digest, target: readonly Expr<'u32'>[], topWordZero: boolean): Expr<'bool'> {
  const [top, limit] = [digest[7], target[0] as Expr<'u32'>];
  return topWordZero ? top.eq(0) : top.byteSwap().le(limit);
}
