import { api } from './api.js';
import type { Wabt } from './wabt.js';

/** Keeps assembled modules for later processes. Neither method throws: a module that is not kept is assembled again. */
export interface ModuleStore {
  get(text: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  put(text: string, bytes: Uint8Array): Promise<void>;
}

/** Assembled modules by text, newest last: the same kernel is often compiled again, by another job or device. */
const assembled = new Map<string, Uint8Array<ArrayBuffer>>();
const MAX_ASSEMBLED = 64;

let startingWabt: Promise<Wabt> | undefined;

/** Starts wabt, once. It takes about 20 ms, and 100 ms of all cores. */
export function startWabt(): Promise<Wabt> {
  startingWabt ??= import('wabt').then(({ default: start }) => start());
  return startingWabt;
}

export const FEATURES = { simd: true, threads: true, bulk_memory: true, sat_float_to_int: true, sign_extension: true };

/**
 * Modules that took longer are stored. The first of a process includes wabt's start. Writing the others, of which a
 * process may have thousands, would take as long as assembling them.
 */
const MIN_STORED_MS = 20;

/** Returns a module's bytes. Throws wabt's error, with the line, if it rejects the text. */
export async function assemble(
  name: string,
  text: string,
  store?: ModuleStore,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly cached: boolean }> {
  const before = assembled.get(text) ?? (await store?.get(text));
  if (before) {
    remember(text, before);
    return { bytes: before, cached: true };
  }
  const started = performance.now();
  const wabt = await startWabt();
  const module = wabt.parseWat(`${name}.wat`, text, FEATURES);
  try {
    const bytes = new Uint8Array(module.toBinary({}).buffer);
    if (!api.validate(bytes)) module.validate(FEATURES); // throws an error with the line
    remember(text, bytes);
    if (performance.now() - started >= MIN_STORED_MS) await store?.put(text, bytes);
    return { bytes, cached: false };
  } finally {
    module.destroy();
  }
}

function remember(text: string, bytes: Uint8Array<ArrayBuffer>): void {
  assembled.delete(text);
  assembled.set(text, bytes);
  const [oldest] = assembled.keys();
  if (assembled.size > MAX_ASSEMBLED && oldest !== undefined) assembled.delete(oldest);
}
