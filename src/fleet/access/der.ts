/** ASN.1 values as DER (X.690): what certificates are made of. */
export type Der = Uint8Array;

const value = (tag: number, ...contents: readonly Uint8Array[]): Der => {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
};

function lengthOf(length: number): Uint8Array {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = bigEndian(length);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function bigEndian(number: number): number[] {
  return number < 0x100 ? [number] : [...bigEndian(Math.floor(number / 0x100)), number % 0x100];
}

export const sequence = (...parts: readonly Der[]): Der => value(0x30, ...parts);
export const setOf = (...parts: readonly Der[]): Der => value(0x31, ...parts);
export const octets = (bytes: Uint8Array): Der => value(0x04, bytes);
export const boolean = (is: boolean): Der => value(0x01, Buffer.from([is ? 0xff : 0]));
export const utf8 = (text: string): Der => value(0x0c, Buffer.from(text));
/** A tag of the surrounding structure's own: `explicit` around a whole value, `implicit` instead of its tag. */
export const explicit = (tag: number, ...parts: readonly Der[]): Der => value(0xa0 | tag, ...parts);
export const implicit = (tag: number, content: Uint8Array): Der => value(0x80 | tag, content);

/** An integer that is not negative: a leading 1 bit gets a zero byte before it. */
export const integer = (bytes: Uint8Array): Der =>
  value(0x02, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.from([0]), bytes]));

export const bits = (bytes: Uint8Array, unused = 0): Der => value(0x03, Buffer.from([unused]), bytes);

/** An object identifier: the first two numbers share a byte, the others have 7 bits in each byte. */
export function oid(text: string): Der {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return value(0x06, Buffer.from([40 * first + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const high = (rest: number): number[] => (rest === 0 ? [] : [...high(Math.floor(rest / 128)), 0x80 | (rest % 128)]);
  return [...high(Math.floor(number / 128)), number % 128];
}

/** A time in whole seconds: two digits of the year until 2049, four from then on, as RFC 5280 wants it. */
export function time(at: Date): Der {
  const digits = `${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`;
  return at.getUTCFullYear() < 2050 ? value(0x17, Buffer.from(digits.slice(2))) : value(0x18, Buffer.from(digits));
}
