import { fieldReader } from '../../../network/fields.js';
import type { WorkBase } from '../../mining/source.js';
import { bitsOf, difficulty, type Header, hashOf, minGapForTarget, parseHeader, startOf } from '../kernel/reference.js';

/** Work to mine: a header in which the nonce and, after all nonces, the time are free. */
export interface Work extends WorkBase {
  readonly header: FixedHeader;
  /** The latest time that is tried. */
  readonly latestTime: number;
  /** The minimum difficulty of a share, in fixed point; that of a block is the header's. */
  readonly target: bigint;
  /** Set for a template: the first transaction under the header's merkle root. */
  readonly coinbase?: Uint8Array;
}

export type FixedHeader = Omit<Header, 'nonce' | 'shift' | 'adder'>;

/** A header whose hash has 256 bits. */
export interface HashedHeader {
  readonly nonce: number;
  readonly time: number;
  readonly hash: bigint;
}

/** A proof of work, checked. A candidate for the log may be below the share target. */
export interface Share {
  readonly work: Work;
  readonly nonce: number;
  readonly time: number;
  readonly shift: number;
  readonly adder: bigint;
  readonly hash: bigint;
  readonly start: bigint;
  readonly end: bigint;
  readonly difficulty: bigint;
  readonly isBlock: boolean;
}

/** Header number `index` of a work: all nonces, then a second later. Undefined if its hash has fewer than 256 bits. */
export function headerAt(work: Work, index: bigint): HashedHeader | undefined {
  const nonce = Number(index & 0xffffffffn);
  const time = work.header.time + Number(index >> 32n);
  const hash = hashOf({ ...work.header, time, nonce });
  return bitsOf(hash) === 256 ? { nonce, time, hash } : undefined;
}

/** The number of headers of a work. */
export const headerCount = ({ header, latestTime }: Work): bigint => BigInt(latestTime - header.time + 1) << 32n;

/** The whole header of a share. */
export const headerOf = ({ work, nonce, time, shift, adder }: Share): Header => ({
  ...work.header,
  nonce,
  time,
  shift,
  adder,
});

/**
 * Computes the difficulty of two consecutive primes by the chain's arithmetic. Undefined if hash, shift and adder break its
 * rules: every node refuses an adder of more than `shift` bits.
 */
export function shareOf(
  work: Work,
  { nonce, time, hash }: HashedHeader,
  shift: number,
  gap: { readonly offset: bigint; readonly end: bigint },
): Share | undefined {
  const { offset: adder, end } = gap;
  const start = startOf({ hash, shift, adder });
  if (start === undefined || end <= start) return undefined;
  const reached = difficulty(start, end);
  const isBlock = reached >= work.header.difficulty;
  return { work, nonce, time, shift, adder, hash, start, end, difficulty: reached, isBlock };
}

/** The shortest gap to search for, capped: no gap of a merit above 70 has ever been seen, at any size of numbers. */
export const minGapToSearch = (start: bigint, target: bigint): number =>
  Math.min(Math.max(2, minGapForTarget(start, target)), MAX_GAP);
const MAX_GAP = 2 ** 16;

/** `{ data, difficulty }` of getwork and of pools: the first 80 bytes of a header, and the share target. */
export interface GetworkData {
  readonly header: FixedHeader;
  readonly target: bigint;
}

export function parseGetworkData(what: string, value: unknown): GetworkData {
  const read = fieldReader(what);
  const { data, difficulty: target } = read.object(value, 'it');
  const hex = read.hex(data, 'data', { min: HEADER_BYTES, max: MAX_HEADER_BYTES });
  const { nonce: _, shift: __, adder: ___, ...header } = parseHeader(hex.slice(0, 2 * HEADER_BYTES));
  return { header, target: read.bigInteger(target, 'difficulty', 1n, MAX_TARGET) };
}

/** Builds the work from getwork's or a pool's data. */
export const workOfGetworkData = ({ header, target }: GetworkData, id: string): Work => ({
  id,
  header,
  target,
  latestTime: Math.min(header.time + ROLLED_SECONDS, 0xffffffff),
});

/** Without the nonce. */
const HEADER_BYTES = 80;
const MAX_HEADER_BYTES = 1024;
export const MAX_TARGET = 2n ** 64n - 1n;
/** Seconds after a work's time that are tried: pools and nodes accept two hours after the real time. */
const ROLLED_SECONDS = 600;
