/** A witness program's address, in Bech32 (version 0) or Bech32m (all later versions): BIP 173 and 350. */
export interface SegwitAddress {
  readonly hrp: string;
  readonly version: number;
  readonly program: Uint8Array;
}

/** Undefined if the text is invalid: mixed case, wrong checksum, wrong encoding for its version, wrong length. */
export function decodeSegwit(text: string, isAlwaysBech32m = false): SegwitAddress | undefined {
  const lower = text.toLowerCase();
  if (text.length > 90 || (text !== lower && text !== text.toUpperCase())) return undefined;
  const at = lower.lastIndexOf('1');
  const hrp = lower.slice(0, at);
  const values = [...lower.slice(at + 1)].map((digit) => DIGITS.indexOf(digit));
  if (at < 1 || values.length < 7 || values.includes(-1) || !/^[\x21-\x7e]+$/.test(hrp)) return undefined;
  const [version = 0] = values;
  if (polymod([...expandHrp(hrp), ...values]) !== (version === 0 && !isAlwaysBech32m ? 1 : BECH32M)) return undefined;
  const program = bytesFromGroups(values.slice(1, -6));
  if (!program || version > 16 || program.length < 2 || program.length > 40) return undefined;
  if (version === 0 && program.length !== 20 && program.length !== 32) return undefined;
  return { hrp, version, program };
}

const DIGITS = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const BECH32M = 0x2bc830a3;
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3];

/** The remainder of the values as a polynomial over the field of 32 elements. */
function polymod(values: readonly number[]): number {
  let rest = 1;
  for (const value of values) {
    const top = rest >>> 25;
    rest = ((rest & 0x1ffffff) << 5) ^ value;
    for (const [bit, term] of GENERATOR.entries()) if ((top >>> bit) % 2 === 1) rest ^= term;
  }
  return rest >>> 0;
}

function expandHrp(hrp: string): number[] {
  const codes = [...hrp].map((letter) => letter.charCodeAt(0));
  return [...codes.map((code) => code >>> 5), 0, ...codes.map((code) => code & 31)];
}

/** Converts groups of five bits to bytes. Leftover bits must be fewer than a group, and zero. */
function bytesFromGroups(groups: readonly number[]): Uint8Array | undefined {
  const bytes: number[] = [];
  let [accumulator, bits] = [0, 0];
  for (const group of groups) {
    accumulator = (accumulator << 5) | group;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push(accumulator >>> bits);
    accumulator &= (1 << bits) - 1;
  }
  return bits < 5 && accumulator === 0 ? Uint8Array.from(bytes) : undefined;
}
