import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The hand-written C files, in the build and in the sources. */
const folder = fileURLToPath(new URL('../runtime/', import.meta.url));

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

export const runtimeHeader = (): string => read('millrace_runtime.h');

/** The runtime as one file: its parts in the order of their numbers, with what they share at the top. */
export function runtimeSource(): string {
  const parts = readdirSync(folder)
    .filter((name) => /^\d+-.*\.c$/.test(name))
    .sort()
    .map((name) => read(name).replace('#include "internal.h"\n', ''));
  return [read('internal.h'), ...parts].join('\n');
}
