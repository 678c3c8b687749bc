import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildVersion } from '../../../console/command/version.js';
import { createFolder } from '../../../device/cache/folder.js';
import { lower, MillraceError, plainCpu } from '../../../kernel/index.js';
import { wordPieces } from '../kernel/kernel.js';
import { header } from './header.js';
import { library } from './library.js';
import { tables } from './tables.js';

/** Writes the C library to a folder: a header, and one file that needs C11 and threads. Returns the files' names. */
export function emitC(folder: string): string[] {
  const files = { 'millrace_words.h': header, 'millrace_words.c': libraryText() };
  try {
    createFolder(folder);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  } catch (cause) {
    throw new MillraceError({
      code: 'io',
      message: `cannot write to ${folder}: ${(cause as Error).message}`,
      asked: `the C library in ${folder}`,
      advice: 'name a folder that you may write to',
      cause,
    });
  }
  return Object.keys(files).map((name) => join(folder, name));
}

const QUADS = 16;

/** Returns the text of the C file: the printed kernel and the library's functions. */
function libraryText(): string {
  // Nothing is hoisted, so that each parameter is a value of the job or of the launch.
  const { text, program } = lower(wordPieces(QUADS), {
    target: 'c',
    lanes: 1,
    hoist: false,
    checked: false,
    cpu: plainCpu,
    nativeBodies: false,
  });
  const kernel = text
    .replace('uint64_t millrace_run(', 'static uint64_t millrace_run(')
    .replace(/^ *u32 \*const b_ring = .*\n/m, ''); // the kernel has no hits
  const words = program.params.map(({ node, word }) => {
    const fields = node.op === 'job' ? program.job : program.chunk;
    const { name = '', array = false } = fields[node.detail.field as number] ?? {};
    return `  params[${word}] = ${node.op === 'job' ? jobValues[name] : `place->${name}`}${array ? `.w[${node.detail.element}]` : ''};`;
  });
  const parameters = [
    `#define PARAMETERS ${program.jobWords + program.chunkWords}`,
    '',
    '/* What a launch is told of its place. */',
    'typedef struct { uint32_t quad, shift, block, row; } place_t;',
    '',
    'static void parameters(const plan_t *plan, const place_t *place, uint32_t params[PARAMETERS]) {',
    ...words,
    '}',
  ].join('\n');
  return [intro(), kernel, tables, parameters, '', library].join('\n');
}

/** Maps the kernel's job values to fields of the plan. */
const jobValues: Readonly<Record<string, string>> = {
  block: 'plan->block_by',
  period: 'plan->period_by',
  phases: 'plan->phases_by',
  rows: 'plan->rows_by',
  periods: 'plan->block / plan->period',
  step: 'plan->step',
};

const intro = (): string => `/* Words of masks by their index, on the CPU. Made by millrace ${buildVersion()}.
   The function millrace_run is the kernel "words" as millrace prints it in C; the rest makes its tables and is the
   interface of millrace_words.h. Compile with -std=c11 -O3 -fno-strict-aliasing -pthread. */
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE
#include "millrace_words.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION "${buildVersion()}"
#define MOST_POSITIONS 256
#define MOST_DEVICES 1024
#define QUADS ${QUADS} /* that an item of the kernel makes */

/* Different bytes in their order. */
typedef struct {
  unsigned char bytes[256];
  uint32_t size;
} charset_t;

/* A charset for each position. */
typedef struct {
  const charset_t *at[MOST_POSITIONS];
  int length;
} mask_t;
`;
