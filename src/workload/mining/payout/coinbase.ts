import { doubleHash } from '../double-hash.js';

/** A coinbase transaction before and after the extranonce, without its witness, as hashed for the merkle tree. */
export interface Coinbase {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
}

export interface CoinbaseSpec {
  readonly height: number;
  /** In satoshi. */
  readonly value: bigint;
  readonly script: Uint8Array;
  /** The output script that commits to the witnesses; left out if no transaction has one. */
  readonly commitment?: Uint8Array | undefined;
  /** Bytes between the parts, without `minerTag`. */
  readonly extranonceBytes: number;
  /** Bytes before the extranonce that make this miner's coinbase unique. */
  readonly minerTag: Uint8Array;
}

/** Puts height (BIP 34), extranonce and a name into the input, and payout and commitment (BIP 141) into the outputs. */
export function buildCoinbase({
  height,
  value,
  script,
  commitment,
  extranonceBytes,
  minerTag,
}: CoinbaseSpec): Coinbase {
  const extranonceLength = minerTag.length + extranonceBytes;
  const scriptStart = Buffer.concat([heightPush(height), Uint8Array.of(extranonceLength), minerTag]);
  const scriptEnd = Buffer.concat([Uint8Array.of(NAME.length), NAME]);
  const scriptBytes = scriptStart.length + extranonceBytes + scriptEnd.length;
  const outputs = [output(value, script), ...(commitment ? [output(0n, commitment)] : [])];
  return {
    start: Buffer.concat([
      uint32(2),
      Uint8Array.of(1),
      Buffer.alloc(32),
      uint32(0xffffffff),
      compactSize(scriptBytes),
      scriptStart,
    ]),
    end: Buffer.concat([scriptEnd, uint32(0xffffffff), compactSize(outputs.length), ...outputs, uint32(0)]),
  };
}

const NAME = Buffer.from('/millrace/');

/** The coinbase as it stands in a block that commits to witnesses: with marker, flag and a witness of 32 zeros. */
export function withWitness(stripped: Uint8Array): Uint8Array {
  const [version, body, lockTime] = [stripped.subarray(0, 4), stripped.subarray(4, -4), stripped.subarray(-4)];
  return Buffer.concat([version, Uint8Array.of(0, 1), body, Uint8Array.of(1, 32), Buffer.alloc(32), lockTime]);
}

/** The output script that commits to a root of witness ids (BIP 141). */
export function commitmentScript(witnessRoot: Uint8Array): Uint8Array {
  const hash = doubleHash(Buffer.concat([witnessRoot, Buffer.alloc(32)]));
  return Buffer.concat([Buffer.from('6a24aa21a9ed', 'hex'), hash]);
}

/** Encodes a height as Script pushes a number, in the shortest form. BIP 34: a coinbase begins with it. */
export function heightPush(height: number): Uint8Array {
  if (height === 0) return Uint8Array.of(0);
  if (height <= 16) return Uint8Array.of(0x50 + height);
  const bytes: number[] = [];
  for (let rest = height; rest > 0; rest = Math.floor(rest / 256)) bytes.push(rest % 256);
  // The top bit is the sign.
  if ((bytes.at(-1) ?? 0) >= 0x80) bytes.push(0);
  return Uint8Array.of(bytes.length, ...bytes);
}

/** Encodes a length as in transactions and blocks. */
export function compactSize(value: number): Uint8Array {
  if (value < 0xfd) return Uint8Array.of(value);
  const bytes = Buffer.alloc(value <= 0xffff ? 3 : 5);
  bytes[0] = value <= 0xffff ? 0xfd : 0xfe;
  bytes.writeUIntLE(value, 1, bytes.length - 1);
  return bytes;
}

function output(value: bigint, script: Uint8Array): Uint8Array {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64LE(value);
  return Buffer.concat([amount, compactSize(script.length), script]);
}

function uint32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
