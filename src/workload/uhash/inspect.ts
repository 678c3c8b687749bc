import { hash, zeroBits } from './kernel/reference.js';
import { hex } from './options.js';

/** Interprets bytes: 32 may be a hash or a challenge, eight or more an input whose last eight are the nonce. */
export function inspectBytes(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const common = { kind: kindOf(bytes), bytes_len: bytes.length, hex: hex(bytes) };
  const asHash = bytes.length === 32 ? { leading_zero_bits: zeroBits(bytes) } : {};
  const asInput = { hash: hex(hash(bytes)) };
  if (bytes.length < 8) return { ...common, ...asHash, ...asInput };
  const end = bytes.length - 8;
  const nonce = new DataView(bytes.buffer, bytes.byteOffset, bytes.length).getBigUint64(end, true);
  return { ...common, ...asHash, header: hex(bytes.subarray(0, end)), nonce, ...asInput };
}

function kindOf({ length }: Uint8Array): string {
  if (length === 32) return 'hash';
  return length < 8 ? 'short input' : 'input';
}
