import { openEngine } from '../../../engine/devices.js';
import type { DeviceSelection } from '../../../engine/index.js';
import { tunedStreams } from '../../../engine/tune/tuning-store.js';
import { MillraceError } from '../../../kernel/error.js';
import { header as wholeHeader } from '../kernel/reference.js';
import { NONCES } from '../kernel/scan.js';
import { solveVersions, type VersionRolling, withVersion } from '../kernel/version-rolling.js';
import { solveOn } from './solve.js';
import { blockTunable } from './tune.js';

/**
 * Finds the smallest nonce with which SHA-256d of a block header is below the target; null if there is none.
 *
 *   const header = Uint8Array.from([...version, ...previous, ...merkleRoot(ids), ...time, ...bits]);
 *   const found = await mineHeader(header, targetFromBits(0x1d00ffff), { devices: 'cuda:0,cpu' });
 *
 * The header is 80 bytes, of which the last four are ignored, or the first 76. Every nonce that a device reports is
 * recomputed by node:crypto before it is returned.
 */
export async function mineHeader(
  header: Uint8Array,
  target: bigint,
  options: MineOptions = {},
): Promise<MinedHeader | null> {
  const { nonces, versions, mode, orEqual = false, signal, onProgress, ...where } = options;
  const prefix = prefixOf(header);
  const request = {
    prefix,
    target: exclusiveTarget(target, orEqual),
    ...(mode && { mode }),
    ...(signal && { signal }),
    ...(onProgress && { onProgress }),
  };
  const range = rangeOf(nonces, versions);
  signal?.throwIfAborted();
  const { engine, close } = await openEngine(where, (devices) => tunedStreams(devices, blockTunable));
  try {
    if (versions === undefined) {
      const found = await solveOn(engine, { ...request, ...range });
      return found && { ...found, version: versionOf(prefix), header: wholeHeader(prefix, found.nonce) };
    }
    const found = await solveVersions(engine, { ...request, rolling: versions });
    return found && { ...found, header: wholeHeader(withVersion(prefix, found.version), found.nonce) };
  } finally {
    await close();
  }
}

/** Devices are selected as for every job: `devices` by name or opened, or an `engine` that several searches share. */
export type MineOptions = DeviceSelection & {
  /** Tries only these nonces; `to` is exclusive. Default: all 2^32. */
  readonly nonces?: { readonly from?: number; readonly to?: number };
  /** Also tries other versions of the header, each with all nonces. */
  readonly versions?: VersionRolling;
  /** `first` (default): the smallest nonce, lowest versions first. `any`: the first that any device finds. */
  readonly mode?: 'first' | 'any';
  /** Accepts a hash equal to the target as well: the rule of consensus and pools. Default: strictly below. */
  readonly orEqual?: boolean;
  readonly signal?: AbortSignal;
  /** Called after each chunk with the number of headers tried so far. */
  readonly onProgress?: (tried: number) => void;
};

export interface MinedHeader {
  readonly nonce: number;
  readonly version: number;
  /** All 80 bytes. */
  readonly header: Uint8Array;
  /** In display order, leading zeros first. */
  readonly hash: string;
  /** Headers tried, including those beyond the result. */
  readonly tried: number;
}

const versionOf = (prefix: Uint8Array): number => Buffer.from(prefix).readUInt32LE(0);

function prefixOf(header: Uint8Array): Uint8Array {
  if (header.length === 80 || header.length === 76) return Uint8Array.from(header.subarray(0, 76));
  throw wrong(
    `not a block header: expected 80 bytes, or 76 without the nonce, got ${header.length}`,
    `a header of ${header.length} bytes`,
  );
}

/** The exclusive limit for a hash. At the largest target with `orEqual` one hash of 2^256, all ones, is left out. */
function exclusiveTarget(target: bigint, orEqual: boolean): bigint {
  if (target < 0n || target >= TARGET_END || (target === 0n && !orEqual)) {
    throw wrong(`target out of range: expected 1 to 2^256 − 1, got ${target}`, `target ${target}`);
  }
  return orEqual && target + 1n < TARGET_END ? target + 1n : target;
}
const TARGET_END = 1n << 256n;

function rangeOf(nonces: MineOptions['nonces'], versions: VersionRolling | undefined): { from: number; to: number } {
  const { from = 0, to = NONCES } = nonces ?? {};
  if (nonces && versions)
    throw wrong(
      '`nonces` and `versions` exclude each other: every version is tried with all nonces',
      'versions with a range of nonces',
    );
  if ([from, to].every((end) => Number.isInteger(end) && end >= 0 && end <= NONCES)) return { from, to };
  throw wrong(`nonces out of range: expected 0 to 2^32, got ${from} to ${to}`, `nonces ${from} to ${to}`);
}

const wrong = (message: string, asked: string): MillraceError =>
  new MillraceError({ code: 'usage', message, asked, advice: 'see MineOptions' });
