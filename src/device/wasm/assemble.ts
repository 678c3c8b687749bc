import { api } from './api.js';
import type { Wabt } from './wabt.js';

/** Assembled modules by text, newest last: the same kernel is often compiled again, by another job or device. */
const assembled = new Map<string, Uint8Array<ArrayBuffer>>();
const MAX_ASSEMBLED = 64;

let startingWabt: Promise<Wabt> | undefined;

/** Starts wabt, which takes about 20 ms: once, and early. */
export function startWabt(): Promise<Wabt> {
  startingWabt ??= import('wabt').then(({ default: start }) => start());
  return startingWabt;
}

const FEATURES = { simd: true, threads: true, bulk_memory: true, sat_float_to_int: true, sign_extension: true };

/** Returns a module's bytes. Throws wabt's error, with the line, if it rejects the text. */
export async function assemble(
  name: string,
  text: string,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly cached: boolean }> {
  const before = assembled.get(text);
  if (before) return { bytes: before, cached: true };
  const wabt = await startWabt();
  const module = wabt.parseWat(`${name}.wat`, text, FEATURES);
  try {
    const bytes = new Uint8Array(module.toBinary({}).buffer);
    if (!api.validate(bytes)) module.validate(FEATURES); // throws an error with the line
    assembled.set(text, bytes);
    const [oldest] = assembled.keys();
    if (assembled.size > MAX_ASSEMBLED && oldest !== undefined) assembled.delete(oldest);
    return { bytes, cached: false };
  } finally {
    module.destroy();
  }
}
