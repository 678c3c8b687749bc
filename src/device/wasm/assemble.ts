import { api } from './api.js';
import type { Wabt } from './wabt.js';

/** Assembled text, newest last: the same kernel is often compiled again, by another job or device. */
const known = new Map<string, Uint8Array<ArrayBuffer>>();
const KNOWN = 64;

let started: Promise<Wabt> | undefined;

/** wabt itself takes about 20 ms to start: done once, and early. */
export function startWabt(): Promise<Wabt> {
  started ??= import('wabt').then(({ default: start }) => start());
  return started;
}

const FEATURES = { simd: true, threads: true, bulk_memory: true, sat_float_to_int: true, sign_extension: true };

/** A module's bytes. wabt's own words, with the line, where it refuses the text. */
export async function assemble(
  name: string,
  text: string,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly cached: boolean }> {
  const before = known.get(text);
  if (before) return { bytes: before, cached: true };
  const wabt = await startWabt();
  const module = wabt.parseWat(`${name}.wat`, text, FEATURES);
  try {
    const bytes = new Uint8Array(module.toBinary({}).buffer);
    if (!api.validate(bytes)) module.validate(FEATURES); // throws, and says where
    known.set(text, bytes);
    const [oldest] = known.keys();
    if (known.size > KNOWN && oldest !== undefined) known.delete(oldest);
    return { bytes, cached: false };
  } finally {
    module.destroy();
  }
}
