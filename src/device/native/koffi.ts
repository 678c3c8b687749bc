import { createRequire } from 'node:module';
import { firstLine, MillraceError } from '../../kernel/error.js';
import { whyNotInstalled } from '../packages.js';
import { uninterruptible } from '../pool/threads/hold-exit.js';

type Koffi = typeof import('koffi').default;

let found: Koffi | { readonly cause: unknown } | undefined;

/**
 * Calls of C libraries. koffi is an optional package, and its binary another, so it is loaded when first needed. Throws
 * if one of them is missing.
 */
export function koffi(): Koffi {
  found ??= load();
  if (!('cause' in found)) return found;
  const { cause } = found;
  throw new MillraceError({
    code: 'device-absent',
    message: whyNotInstalled('koffi') ?? `the package koffi cannot be loaded: ${firstLine(cause)}`,
    asked: 'a function of a C library',
    advice: 'npm install koffi',
    cause,
  });
}

/** Like `koffi`, for what can be done without. */
export function koffiIfInstalled(): Koffi | undefined {
  found ??= load();
  return 'cause' in found ? undefined : found;
}

function load(): Koffi | { readonly cause: unknown } {
  try {
    return uninterruptible(() => createRequire(import.meta.url)('koffi') as Koffi);
  } catch (cause) {
    return { cause };
  }
}
