import { createHash } from 'node:crypto';
import { buildVersion } from '../../console/command/version.js';
import { type Kernel, MillraceError } from '../../kernel/index.js';
import type { CuPipeline, ExportedFile, ExportRequest } from '../request.js';
import { deviceText } from './device-text.js';
import { errors } from './text/errors.js';
import { files } from './text/files.js';
import { gpu, main } from './text/main.js';
import { persistent } from './text/persistent.js';
import { poll } from './text/poll.js';
import { search } from './text/search.js';
import { sha256 } from './text/sha256.js';

/** Exports the CUDA program of a kernel that has one: a single file. */
export function exportCu({ kernel, name, pipeline = 'poll' }: ExportRequest): readonly ExportedFile[] {
  if (kernel.program) {
    const text = cuText({ kernel: kernel.program, pipeline, name, version: buildVersion() });
    return [{ path: `${name}.cu`, text }];
  }
  throw new MillraceError({
    code: 'usage',
    message: `${kernel.source} cannot be exported as a CUDA program`,
    asked: `${kernel.source} with --language cu`,
    advice: 'export block, or leave out --language cu: the C library runs on CUDA too',
  });
}

interface CuRequest {
  /** The kernel `midstateScan` for all targets: this program's host code fits no other. */
  readonly kernel: Kernel;
  readonly pipeline: CuPipeline;
  /** The file's name without its extension. */
  readonly name: string;
  /** The version of Millrace, for the file's head. */
  readonly version: string;
}

/** Returns the text of a CUDA program that solves the course's files: one file, which needs nothing but nvcc. */
export function cuText({ kernel, pipeline, name, version }: CuRequest): string {
  const device = deviceText(kernel, pipeline);
  const digest = createHash('sha256').update(device.kernel).digest('hex').slice(0, 16);
  return [
    head(name, pipeline, version, digest),
    '',
    includes[pipeline],
    '',
    device.types,
    section('1', 'Errors', errors),
    section('2', 'SHA-256 on the host', sha256),
    section('3', 'Blocks and files', files),
    section('4', 'The kernel and its words', launchText(device.words, device.declaration)),
    section('5', 'The search of a block', search),
    section('6', 'The GPU', gpu),
    section('7', `The pipeline: ${titles[pipeline]}`, pipeline === 'poll' ? poll : persistent),
    section('8', 'The program', main.replace('usage: block', `usage: ${name}`)),
    section(
      '9',
      'Generated code',
      generated(device.hostPart, pipeline === 'persistent' ? `${pragma}\n${device.kernel}` : device.kernel),
    ),
    '',
  ].join('\n');
}

const titles: Readonly<Record<CuPipeline, string>> = {
  poll: 'launches on four streams',
  persistent: 'a grid that stays on the GPU',
};

function head(name: string, pipeline: CuPipeline, version: string, digest: string): string {
  return `// ${name}.cu: finds the nonces of Bitcoin block headers on an NVIDIA GPU.
//
//   nvcc -O3 -arch=native -o ${name} ${name}.cu      for the GPU of this machine
//   nvcc -O3 -arch=all-major -o ${name} ${name}.cu   for every GPU from compute capability 7.5 on
//   ./${name} IN OUT
//
// Needs CUDA 12 or later; with CUDA 11.7 or later, add -std=c++17 (GPUs from compute capability 7.0 on).
//
// IN   the number of blocks; then for each: version, previous hash, time, nbits, the number of transactions, the
//      transactions' ids. Counts are decimal, everything else is hex as a block explorer shows it: 8 digits, 64 for hashes.
// OUT  the number of blocks; then for each its smallest valid nonce, as the four bytes that stand in the header. 00000000 if
//      it has none. OUT is replaced as a whole, at the end.
//
// Exit status: 0 all solved, 1 a block without a nonce, 64 usage, 69 no GPU, 70 internal error, 74 a file that cannot be
// read, written or parsed, 76 the GPU failed or gave a wrong result.
//
// Contents: 1 errors, 2 SHA-256 on the host, 3 blocks and files, 4 the kernel and its words, 5 the search of a block,
// 6 the GPU, 7 the pipeline (${pipeline}), 8 main, 9 the generated code.
//
// Written by millrace ${version}: millrace export block --language cu${pipeline === 'poll' ? '' : ` --pipeline ${pipeline}`}
// Kernel ${digest}. SPDX-License-Identifier: Apache-2.0`;
}

const commonHeaders =
  'algorithm array cerrno chrono cmath cstdio cstring filesystem fstream map memory random set string thread vector';

const includeLines = (headers: string): string =>
  [
    ...headers
      .split(' ')
      .sort()
      .map((header) => `#include <${header}>`),
    '',
    '#include <cuda_runtime.h>',
  ].join('\n');

const includes: Readonly<Record<CuPipeline, string>> = {
  poll: includeLines(commonHeaders),
  persistent: includeLines(`${commonHeaders} atomic`),
};

const section = (number: string, title: string, text: string): string =>
  `\n// ${'-'.repeat(117)}\n// ${number}. ${title}\n\n${text}`;

const launchText = (words: string, declaration: string): string => `${declaration}
constexpr u32 THREADS = 256;  // of a thread block

${words}

// Computes the words of a block that do not depend on the nonce: see the end of the file.
static void job_words(const u32 *state, const u32 *tail, const u32 *target, u32 *words);

// Returns the words of a launch that are the same for all nonces. SHA-256 reads a header as two blocks of 16 words. The
// nonce is in the second: the state after the first, and three rounds of the second, are computed here once.
static Launch make_launch(const Block &block, u32 ring_capacity) {
  u32 header[19];
  for (int i = 0; i < 19; i++) header[i] = load_word(block.header + 4 * i);
  const State state = compress(INITIAL_STATE, header);
  Launch launch = {};
  job_words(state.data(), header + 16, block.target, launch.words + JOB);
  launch.words[RING_CAPACITY] = ring_capacity;
  launch.words[ONE] = 1;
  return launch;
}`;

const pragma = '#pragma nv_diag_suppress 186  // here "least" is always 0, and comparing it is pointless';

const generated = (
  hostPart: string,
  kernel: string,
): string => `// Millrace made the rest of this file from a description of SHA-256d. Whatever does not depend on the nonce is in job_words;
// the kernel is left with about 1,800 shifts, rotations and logic operations and 1,050 additions for each nonce.
//
// An NVIDIA multiprocessor has a pipe for integers and one for multiply-adds. Rotations and logic fill the first. So some
// additions x + y are written x * one + y, where one is 1, but known only when the kernel runs. The second pipe does them.

static void job_words(const u32 *state, const u32 *tail, const u32 *target, u32 *words) {
${hostPart}
}

${kernel}`;
