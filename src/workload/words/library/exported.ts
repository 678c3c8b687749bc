import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ExportedFile, ExportKernel } from '../../../export/request.js';
import { wordPieces } from '../kernel/kernel.js';

/** The hand-written C files, in the build and in the sources. */
const folder = fileURLToPath(new URL('.', import.meta.url));

const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

/** The kernel for `millrace export`, and beside it the functions of `wordlist_generator.h`. */
export const exportedWords = (): ExportKernel => ({
  source: 'words',
  cpu: { kernel: wordPieces(16), itemBytes: 256 },
  gpu: { kernel: wordPieces(1), itemBytes: 16 },
  interface: generatorFiles,
});

/**
 * Returns the C interface of gpu-scatter-gather with an example: `wordlist_generator.h`, and its parts joined to `wordlist_generator.c`, in
 * the order of their numbers. They use the exported kernel, whose functions begin with `name`.
 */
function generatorFiles(name: string, version: string): ExportedFile[] {
  const parts = readdirSync(folder)
    .filter((file) => /^\d+-.*\.c$/.test(file))
    .sort()
    .map((file) => read(file).replace('#include "internal.h"\n', ''));
  const source = [
    read('internal.h').replace('#include <pthread.h>', `#define WG_VERSION "${version}"\n\n$&`),
    ...parts,
  ];
  return [
    { path: 'example.c', text: read('example.c') },
    { path: 'wordlist_generator.h', text: read('wordlist_generator.h') },
    { path: 'wordlist_generator.c', text: source.join('\n').replaceAll(KERNEL_NAMES, name) },
  ];
}

/** The prefix of what the generated header declares. */
const KERNEL_NAMES = /\bwords(?=_(?:job|chunk|buffers|params_from_job|launch)\b|\.h")/g;
