import { merkleRootOf } from '../../mining/server/template.js';
import { displayOf, hashHeader, numberOf } from '../kernel/reference.js';
import { rolledVersion } from '../kernel/version-rolling.js';

/** Work to mine: a header in which version bits, the coinbase's extranonce, the time and the nonce are free. */
export interface Work {
  /** The pool's or the node's id of the work. */
  readonly id: string;
  readonly height?: number;
  readonly version: number;
  /** The version bits that are free. */
  readonly mask: number;
  /** In header order. */
  readonly previous: Uint8Array;
  /** The coinbase before and after the extranonce. */
  readonly coinbaseStart: Uint8Array;
  readonly coinbaseEnd: Uint8Array;
  readonly extranonceBytes: number;
  /** The merkle branch of the coinbase, lowest level first. */
  readonly branch: readonly Uint8Array[];
  readonly bits: number;
  readonly time: number;
  /** The latest time that is tried. */
  readonly latestTime: number;
  /** A hash up to this target is a share. */
  readonly target: bigint;
  /** A hash up to this target is a block. */
  readonly blockTarget: bigint;
}

/** One header of a work. */
export interface HeaderFields {
  readonly version: number;
  readonly extranonce: bigint;
  readonly time: number;
  readonly nonce: number;
}

/** The coinbase with an extranonce, without its witness. */
export function coinbaseWith({ coinbaseStart, coinbaseEnd, extranonceBytes }: Work, extranonce: bigint): Uint8Array {
  return Buffer.concat([coinbaseStart, Buffer.from(extranonceText(extranonce, extranonceBytes), 'hex'), coinbaseEnd]);
}

/** An extranonce as the hex that stands in the coinbase, most significant first. */
export const extranonceText = (extranonce: bigint, bytes: number): string =>
  bytes === 0 ? '' : extranonce.toString(16).padStart(2 * bytes, '0');

/** The first 76 bytes of the header. */
export function prefixOf(work: Work, { version, extranonce, time }: Omit<HeaderFields, 'nonce'>): Uint8Array {
  const bytes = Buffer.alloc(76);
  bytes.writeUInt32LE(version, 0);
  bytes.set(work.previous, 4);
  bytes.set(merkleRootOf(coinbaseWith(work, extranonce), work.branch), 36);
  bytes.writeUInt32LE(time, 68);
  bytes.writeUInt32LE(work.bits, 72);
  return bytes;
}

/** Builds the header of a try again and hashes it by node:crypto, independent of the device's result. */
export function evaluate(work: Work, tried: HeaderFields): Evaluation {
  const digest = hashHeader(prefixOf(work, tried), tried.nonce);
  const number = numberOf(digest);
  return { hash: displayOf(digest), isShare: number <= work.target, isBlock: number <= work.blockTarget };
}

export interface Evaluation {
  /** In display order. */
  readonly hash: string;
  readonly isShare: boolean;
  readonly isBlock: boolean;
}

/** The numbering of a work's headers: nonces first, then version bits, then extranonces, then seconds. */
export class HeaderSpace {
  readonly length: bigint;
  /** Versions that one index tries. */
  readonly perItem: number;
  readonly #work: Work;
  readonly #versionGroups: bigint;
  readonly #extranonces: bigint;
  readonly #firstExtranonce: bigint;

  /** `first`: the extranonce to start with; wraps to 0 after the last. */
  constructor(work: Work, perItem: number, first = 0n) {
    this.#work = work;
    this.perItem = perItem;
    this.#versionGroups = BigInt(versionCount(work.mask) / perItem);
    this.#extranonces = 1n << BigInt(8 * Math.min(work.extranonceBytes, COUNTED_BYTES));
    this.#firstExtranonce = first % this.#extranonces;
    this.length = (this.#versionGroups * this.#extranonces * BigInt(work.latestTime - work.time + 1)) << 32n;
  }

  /** The header of an index; `which` of its versions. */
  at(index: bigint, which = 0): HeaderFields {
    const { version, mask, time } = this.#work;
    const group = (index >> 32n) % this.#versionGroups;
    const turn = this.segmentAt(index);
    return {
      nonce: Number(index & 0xffffffffn),
      version: rolledVersion(version, mask, Number(group) * this.perItem + which),
      extranonce: (this.#firstExtranonce + (turn % this.#extranonces)) % this.#extranonces,
      time: time + Number(turn / this.#extranonces),
    };
  }

  /** The number of extranonces before this index's. */
  segmentAt(index: bigint): bigint {
    return (index >> 32n) / this.#versionGroups;
  }
}

/** Bytes of an extranonce that are counted; those before them stay zero. 2^64 extranonces are enough. */
const COUNTED_BYTES = 8;

/** The number of versions that a mask allows. */
export function versionCount(mask: number): number {
  let bits = 0;
  for (let rest = mask >>> 0; rest !== 0; rest &= rest - 1) bits++;
  return 2 ** bits;
}
