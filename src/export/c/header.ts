import type { CBuffer, CField, Signature } from './signature.js';
import { cTypes, declaration, fieldWords } from './signature.js';

/** Returns `NAME.h`: the kernel's structs and functions. */
export function headerText(signature: Signature, head: string): string {
  const { name } = signature;
  const guard = `${name.toUpperCase()}_H`;
  return `${head}
#ifndef ${guard}
#define ${guard}

#include "millrace_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

${structs(signature).join('\n\n')}

${functions(signature)
  .map(({ comment, text }) => `/* ${comment} */\n${text};`)
  .join('\n\n')}

#ifdef __cplusplus
}
#endif
#endif
`;
}

/** A function of the header, with its comment. The README lists them, too. */
export interface CFunction {
  readonly name: string;
  readonly comment: string;
  /** The declaration without a semicolon. */
  readonly text: string;
}

function structs({ name, job, chunk, hit, buffers }: Signature): string[] {
  const struct = (kind: string, comment: string, lines: readonly string[]): string =>
    `/* ${comment} */\ntypedef struct ${name}_${kind} {\n${lines.map((line) => `  ${line}`).join('\n')}\n} ${name}_${kind};`;
  return [
    ...(job.length > 0 ? [struct('job', 'The values that are the same for all indices.', job.map(declaration))] : []),
    ...(chunk.length > 0 ? [struct('chunk', 'The values of one launch.', chunk.map(declaration))] : []),
    ...(hit.length > 0
      ? [struct('hit', 'What the kernel reports.', ['uint64_t index;', ...hit.map(declaration)])]
      : []),
    ...(buffers.length > 0
      ? [
          `/* The kernel's buffers, in their order. */\nenum {\n${buffers
            .map(({ name: buffer }, at) => `  ${name.toUpperCase()}_${buffer.toUpperCase()} = ${at},`)
            .join('\n')}\n  ${name.toUpperCase()}_BUFFERS = ${buffers.length}\n};`,
          struct(
            'data',
            'Contents of buffers that are the same for all indices. Those with rows stay {0}.',
            buffers.map((buffer) => `mr_data ${buffer.name};${elementComment(buffer)}`),
          ),
          struct(
            'buffers',
            'Device memory for a raw launch.',
            buffers.map((buffer) => `mr_buffer *${buffer.name};${elementComment(buffer)}`),
          ),
        ]
      : []),
    `/* The kernel's tables, for the functions of millrace_runtime.h. */\nextern const mr_kernel ${name}_kernel;`,
  ];
}

const elementComment = ({ type, kind }: CBuffer): string =>
  ` /* ${cTypes[type]}, ${{ read: 'read', rw: 'written', atomic: 'counted in' }[kind]} */`;

/** Arguments that nearly all functions begin with. */
export function commonArguments(signature: Signature, shape?: Shape): string[] {
  const { name, job } = signature;
  return [
    'mr_device *device',
    ...(job.length > 0 ? [`const ${name}_job *job`] : []),
    ...(shape && needsData(signature, shape) ? [`const ${name}_data *data`] : []),
  ];
}

export type Shape = Signature['shapes'][number];

/** True if a buffer of the kernel is the same for all indices of such a task. */
export function needsData(signature: Signature, shape: Shape): boolean {
  const output = outputBuffer(signature);
  const rows = shape === 'transform' ? rowBuffers(signature) : shape === 'generate' && output ? [output] : [];
  return signature.buffers.length > rows.length;
}

/** Buffers that have a row for each index in a typed transform: those whose rows are known, or all of two. */
export function rowBuffers({ buffers }: Signature): readonly CBuffer[] {
  const known = buffers.filter(({ rowBytes }) => rowBytes !== undefined);
  if (known.length > 0) return known;
  const [reads, writes] = ['read', 'rw'].map((kind) => buffers.filter((buffer) => buffer.kind === kind));
  return buffers.length === 2 && reads?.length === 1 && writes?.length === 1 ? buffers : [];
}

/** The arguments of a typed transform: an array for each buffer with rows, and the size of its rows if it is not known. */
export const rowArguments = (signature: Signature): string[] =>
  rowBuffers(signature).flatMap(({ name, kind, type, rowBytes }) => [
    `${kind === 'read' ? 'const ' : ''}${cTypes[type]} *${name}`,
    ...(rowBytes === undefined ? [`uint64_t ${name}_row_bytes`] : []),
  ]);

/** The buffer that `generate` writes. */
export const outputBuffer = ({ buffers }: Signature): CBuffer | undefined => buffers.find(({ kind }) => kind === 'rw');

export function functions(signature: Signature): CFunction[] {
  const { name, shapes } = signature;
  const declare = (result: string, own: string, list: readonly string[], comment: string): CFunction => ({
    name: own,
    comment,
    text: wrapped(`${result} ${own}(`, list),
  });
  const common = (shape: Shape): string[] => commonArguments(signature, shape);
  const range = ['uint64_t start', 'uint64_t count'];
  const ending = ['const mr_task_options *options', 'mr_task **task'];
  const list: CFunction[] = [];
  if (shapes.includes('search')) {
    const places = [`${name}_hit *hits`, 'size_t capacity', 'size_t *found'];
    list.push(
      declare(
        'int',
        `${name}_search`,
        [...common('search'), ...range, 'const mr_task_options *options', ...places],
        'Searches the indices [start, start + count) and writes the hits, in ascending order. *found is their number. If it is\n   above capacity, the first ones are written and the result is MR_ERROR_CAPACITY. options may be null.',
      ),
      declare('int', `${name}_search_start`, [...common('search'), ...range, ...ending], 'The same without waiting.'),
      declare('int', `${name}_search_hits`, ['mr_task *task', ...places], 'The hits of a search that has ended.'),
    );
  }
  const output = outputBuffer(signature);
  if (shapes.includes('generate') && output) {
    const size = output.rowBytes === undefined ? ['uint64_t row_bytes'] : [];
    list.push(
      declare(
        'int',
        `${name}_generate`,
        [...common('generate'), ...range, ...size, 'void *out', 'const mr_task_options *options'],
        `Writes a row of the buffer \`${output.name}\` for each index of [start, start + count) to out. options may be null.`,
      ),
      declare(
        'int',
        `${name}_generate_start`,
        [...common('generate'), ...range, ...size, 'void *out', ...ending],
        'The same without waiting. out must stay until the task has ended.',
      ),
      declare(
        'int',
        `${name}_generate_each`,
        [...common('generate'), ...range, ...size, 'mr_take *take', ...ending],
        'The same without an array: take gets the rows of consecutive ranges, in order.',
      ),
    );
  }
  const rows = rowArguments(signature);
  if (shapes.includes('transform')) {
    const own = rows.length > 0 ? rows : ['const mr_rows *rows', 'size_t row_buffers'];
    list.push(
      declare(
        'int',
        `${name}_transform`,
        [...common('transform'), ...own, 'uint64_t count', 'const mr_task_options *options'],
        'Runs the kernel on count rows, from 0. Arrays have a row for each. options may be null.',
      ),
      declare(
        'int',
        `${name}_transform_start`,
        [...common('transform'), ...own, 'uint64_t count', ...ending],
        'The same without waiting. The arrays must stay until the task has ended.',
      ),
    );
  }
  const job = commonArguments(signature);
  list.push(
    declare(
      'int',
      `${name}_params_from_job`,
      [...job, 'mr_job **params'],
      "Computes the job's parameters for raw launches on one device, and compiles the kernel for it.",
    ),
    declare(
      'int',
      `${name}_launch`,
      [
        'mr_stream *stream',
        'mr_job *params',
        ...(signature.chunk.length > 0 ? [`const ${name}_chunk *chunk`] : []),
        ...(signature.buffers.length > 0 ? [`const ${name}_buffers *buffers`] : []),
        ...(signature.hit.length > 0 ? ['mr_buffer *ring'] : []),
        'uint64_t base',
        'uint64_t count',
      ],
      `Queues a raw launch of count ${signature.isTiles ? 'tiles' : 'items'}, of which number 0 has the index base.`,
    ),
  );
  return list;
}

/** Breaks a list of parameters into lines of at most 120 columns. */
export function wrapped(head: string, list: readonly string[], end = ')'): string {
  const lines: string[] = [];
  let line = head;
  list.forEach((item, at) => {
    const text = `${item}${at === list.length - 1 ? end : ', '}`;
    if (line.length + text.trimEnd().length > 118 && line.trim() !== '') {
      lines.push(line.trimEnd());
      line = ' '.repeat(head.length);
    }
    line += text;
  });
  return [...lines, line].join('\n');
}

/** The number of words of a hit's fields. */
export const hitWords = (hit: readonly CField[]): number => hit.reduce((sum, field) => sum + fieldWords(field), 0);
