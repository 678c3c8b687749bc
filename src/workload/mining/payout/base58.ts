import { doubleHash } from '../double-hash.js';

/** Decodes Base58Check and removes its checksum. Undefined if the text is not valid. */
export function decodeBase58Check(text: string): Uint8Array | undefined {
  if (text.length === 0 || text.length > MAX_LENGTH) return undefined;
  let number = 0n;
  for (const digit of text) {
    const value = DIGITS.indexOf(digit);
    if (value < 0) return undefined;
    number = number * 58n + BigInt(value);
  }
  const hex = number === 0n ? '' : number.toString(16);
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  const all = Buffer.concat([Buffer.alloc(zeros), Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')]);
  if (all.length < 5) return undefined;
  const data = all.subarray(0, -4);
  return all.subarray(-4).equals(checksumOf(data)) ? data : undefined;
}

const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** An address has at most 35 digits. */
const MAX_LENGTH = 64;

const checksumOf = (data: Uint8Array): Uint8Array => doubleHash(data).subarray(0, 4);
