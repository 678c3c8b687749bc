import { belowTarget, type Expr, items, loop, sha256, u32, when } from '../../../kernel/index.js';

/**
 * Tries one nonce per item: SHA-256d of an 80-byte header, compared with the target. Written out in full: the compiler
 * hoists the first block's state and the first rounds of the second, which depend on the job only.
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
      const first = perThread === 1 ? index.lo : index.lo.mul(perThread);
      const nonces = Array.from({ length: perThread }, (_, at) => (at === 0 ? first : first.add(at)));
      const headerOf = (nonce: Expr<'u32'>) => [...job.header, nonce.byteSwap()];
      const maybe = (last: Expr<'u32'>) => maybeBelow(last, job.target, topWordZero);
      const tryNonce = (nonce: Expr<'u32'>) => {
        const digest = sha256.double(headerOf(nonce));
        when(maybe(digest[7]), () => when(belowTarget(digest, job.target), () => emit({ nonce })));
      };
      const lasts = sha256.doubleLastWords(nonces.map(headerOf));
      if (!lasts) for (const nonce of nonces) tryNonce(nonce);
      else
        when(lasts.map(maybe).reduce(or), () =>
          loop(perThread, (at) => tryNonce(perThread === 1 ? first : first.add(at))),
        );
    },
  );

export interface ScanSpec {
  /**
   * For targets below 2^224: the digest's top word must be zero, and one compare rejects all but one nonce in 2^32.
   * Otherwise the top word is compared with the target's.
   */
  readonly topWordZero: boolean;
  /**
   * Nonces per item: item i tries i·perThread and the next ones. Default 1: two, one after the other, were slower on a
   * core with AVX-512 (23.0 MH/s instead of 29.0) and on WebAssembly (2.3 instead of 2.8). A device with its own
   * implementation of `doubleLastWords` gets all of an item's nonces at once.
   */
  readonly perThread?: number;
}

/**
 * The same search, given the state after the header's first block. Its text for a device is that of `headerScan`; its host
 * part is short enough to be read, which `millrace export --language cu` needs.
 */
export const midstateScan = ({ topWordZero }: Pick<ScanSpec, 'topWordZero'>) =>
  items(
    'block',
    {
      // bytes 64 to 76 of the header as message words
      job: { state: [u32, 8], tail: [u32, 3], target: [u32, 8] },
      hit: { nonce: u32 },
    },
    ({ job, index, emit }) => {
      const nonce = index.lo;
      const block = [...job.tail, nonce.byteSwap(), ...sha256.padding(640)];
      const digest = sha256.hash(sha256.compress(job.state, block));
      when(maybeBelow(digest[7], job.target, topWordZero), () =>
        when(belowTarget(digest, job.target), () => emit({ nonce })),
      );
    },
  );

/**
 * Tries one nonce with several versions of the header per item. The versions differ in the first block only. The message
 * schedule of the second block depends on the nonce, not on the version, and is computed once for all: of the 1,804
 * shifts, rotations and logic of a hash 304 are shared, so that 1,652 are left with two versions and 1,576 with four. The
 * states after the first block are chunk values (`midstate`): computed from the versions by the kernel's host part, they
 * would take 1,850 operations and 0.9 ms for every launch.
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
        when(maybeBelow(digest[7], job.target, topWordZero), () =>
          when(belowTarget(digest, job.target), () => emit({ nonce, version })),
        );
      }
    },
  );

export interface VersionSpec extends Pick<ScanSpec, 'topWordZero'> {
  /** Versions per item; a hit's `version` is an index into them. */
  readonly versions: number;
}

const or = (a: Expr<'bool'>, b: Expr<'bool'>) => a.or(b);

/** False for nearly all digests that are not below the target, judged by the top word alone (the digest's last). */
function maybeBelow(top: Expr<'u32'>, target: readonly Expr<'u32'>[], topWordZero: boolean): Expr<'bool'> {
  const limit = target[0] as Expr<'u32'>;
  return topWordZero ? top.eq(0) : top.byteSwap().le(limit);
}
