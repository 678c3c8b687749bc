import { type FieldReader, fieldReader } from '../../../network/fields.js';
import type { Reply } from '../../../network/json-lines.js';
import { errorText } from '../../mining/server/stratum.js';
import { targetFromBits } from '../kernel/reference.js';
import { targetOfDifficulty } from './difficulty.js';
import type { Work } from './work.js';

/** The connection's part of every coinbase, and the number of bytes that the miner chooses. */
export interface Extranonce {
  readonly start: Uint8Array;
  readonly bytes: number;
}

/** The fields of `mining.notify`. */
export interface Notice {
  readonly id: string;
  readonly previous: Uint8Array;
  readonly coinbaseStart: Uint8Array;
  readonly coinbaseEnd: Uint8Array;
  readonly branch: readonly Uint8Array[];
  readonly version: number;
  readonly bits: number;
  readonly time: number;
  readonly isClean: boolean;
}

/** The answer to `mining.subscribe`: `[subscriptions, extranonce1, extranonce2_size]`. */
export function parseSubscription({ result, error }: Reply): Extranonce {
  const read = fieldReader('the answer to mining.subscribe');
  if (result === null && error !== null) throw new Error(`mining.subscribe was refused: ${errorText(error)}`);
  const [, start, bytes] = read.list(result, 'it', 16);
  return extranonceIn(read, start, bytes);
}

/** `mining.set_extranonce [extranonce1, extranonce2_size]`. */
export function parseExtranonce(params: unknown): Extranonce {
  const read = fieldReader('mining.set_extranonce');
  const [start, bytes] = read.list(params, 'params', 16);
  return extranonceIn(read, start, bytes);
}

function extranonceIn(read: FieldReader, start: unknown, bytes: unknown): Extranonce {
  return {
    start: Buffer.from(read.hex(start, 'extranonce1', { max: 64 }), 'hex'),
    bytes: read.integer(bytes, 'extranonce2_size', 0, 32),
  };
}

/** The target of `mining.set_difficulty [d]`. */
export function parseDifficulty(params: unknown): { readonly difficulty: number; readonly target: bigint } {
  const read = fieldReader('mining.set_difficulty');
  const [given] = read.list(params, 'params', 16);
  const difficulty = read.positive(given, 'the difficulty');
  return { difficulty, target: targetOfDifficulty(difficulty) };
}

export function parseNotice(params: unknown): Notice {
  const read = fieldReader('mining.notify');
  const all = read.list(params, 'params', 32);
  const [id, previous, start, end, branch, version, bits, time, isClean] = all;
  const notice = {
    id: read.text(id, 'the job', 256),
    previous: wordsReversed(read.hex(previous, 'prevhash', { min: 32, max: 32 })),
    coinbaseStart: Buffer.from(read.hex(start, 'coinb1', { max: MAX_COINBASE_BYTES }), 'hex'),
    coinbaseEnd: Buffer.from(read.hex(end, 'coinb2', { max: MAX_COINBASE_BYTES }), 'hex'),
    branch: read
      .list(branch, 'merkle_branch', 32)
      .map((one) => Buffer.from(read.hex(one, 'merkle_branch', { min: 32, max: 32 }), 'hex')),
    version: read.hex32(version, 'version'),
    bits: read.hex32(bits, 'nbits'),
    time: read.hex32(time, 'ntime'),
    isClean: isClean === true,
  };
  targetFromBits(notice.bits); // throws if they are invalid
  return notice;
}

/** `mining.set_version_mask [hex]`. */
export function parseMask(params: unknown): number {
  const read = fieldReader('mining.set_version_mask');
  const [mask] = read.list(params, 'params', 16);
  return read.hex32(mask, 'the mask');
}

/** The mask that both sides agree on; 0 if the server does not roll versions. */
export function agreedMask({ result }: Reply, requested: number): number {
  if (typeof result !== 'object' || result === null) return 0;
  const { 'version-rolling': isOn, 'version-rolling.mask': mask } = result as Readonly<Record<string, unknown>>;
  if (isOn !== true) return 0;
  return (fieldReader('the answer to mining.configure').hex32(mask, 'version-rolling.mask') & requested) >>> 0;
}

/** Builds the work from a job notice. */
export function workOfNotice(notice: Notice, extranonce: Extranonce, target: bigint, mask: number): Work {
  const { isClean: _, coinbaseStart, ...same } = notice;
  return {
    ...same,
    coinbaseStart: Buffer.concat([coinbaseStart, extranonce.start]),
    extranonceBytes: extranonce.bytes,
    mask,
    latestTime: Math.min(notice.time + ROLLED_SECONDS, 0xffffffff),
    target,
    blockTarget: targetFromBits(notice.bits),
  };
}

/** Seconds after a job's time that are tried: pools accept shares up to two hours ahead of the real time. */
const ROLLED_SECONDS = 600;
/** Bytes; a transaction of 100 kB is the largest that nodes relay. */
const MAX_COINBASE_BYTES = 100_000;

/** Stratum sends the eight words of a previous hash in the opposite byte order to headers. */
function wordsReversed(hex: string): Uint8Array {
  return Buffer.from(hex, 'hex').swap32();
}
