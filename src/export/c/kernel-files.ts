import { type HostText, renderHost } from '../../kernel/render/c/host.js';
import type { ExportedFile } from '../request.js';
import type { Signature } from './signature.js';
import type { Variant } from './variants.js';

/** The files of a kernel's variants: texts, machine code, and the host part, of which there may be several. */
export interface KernelFiles {
  readonly files: readonly ExportedFile[];
  /** The initializers of the variants' table, each with the condition under which it is compiled. */
  readonly table: readonly { readonly when: string | undefined; readonly text: string }[];
  /** Declarations of what the table refers to. */
  readonly declarations: readonly string[];
}

export function kernelFiles(signature: Signature, variants: readonly Variant[], head: string): KernelFiles {
  const { name } = signature;
  const hosts: string[] = [];
  const files: ExportedFile[] = [];
  const declarations: string[] = [];
  const table = variants.map((variant) => {
    const body = hostBody(signature, variant);
    if (!hosts.includes(body)) hosts.push(body);
    const host = `${name}_host_${hosts.indexOf(body) + 1}`;
    const path = `${name}_${variant.id}.c`;
    files.push({ path, text: variant.kind === 'cpu' ? cpuFile(name, variant, head) : textFile(name, variant, head) });
    declarations.push(...declared(name, variant));
    return { when: variant.set?.when, text: initializer(name, variant, host) };
  });
  hosts.forEach((body, at) => {
    const own = `${name}_host_${at + 1}`;
    files.push({ path: `${own}.c`, text: hostFile(signature, own, body, head) });
    declarations.push(
      `void ${own}_job(const void *job, uint32_t *words);`,
      `void ${own}_chunk(const void *job, const void *chunk, const mr_place *place, uint32_t *words);`,
    );
  });
  return { files, table, declarations };
}

/** The host part with neutral function names, so that equal ones are found. */
function hostBody({ name, job, chunk }: Signature, { program, use }: Variant): string {
  const fields = { job, chunk };
  // Fields of the harness come first among those of the chunk.
  const hidden = program.chunk.length - chunk.length;
  const text: HostText = renderHost(program, {
    field: (kind, field, element) => {
      const own = fields[kind][kind === 'chunk' ? field - hidden : field];
      if (!own) throw new TypeError(`kernel ${use.kernel.name} has no ${kind} field ${field}`);
      return `${kind}->${own.name}${own.array ? `[${element}]` : ''}`;
    },
    base: 'place->base',
    ringCapacity: 'place->ring_capacity',
    size: (slot) => `place->sizes[${slot}]`,
  });
  const cast = (kind: 'job' | 'chunk'): string[] =>
    fields[kind].length > 0 ? [`const ${name}_${kind} *const ${kind} = given_${kind};`] : [];
  const unused = (...names: string[]): string[] => names.map((each) => `(void)${each};`);
  return [
    ...text.prelude.filter((line) => !line.startsWith('#include')),
    '',
    'void HOST_job(const void *given_job, uint32_t *words) {',
    ...indented([...cast('job'), ...unused('given_job', 'words', ...(job.length > 0 ? ['job'] : [])), ...text.job]),
    '}',
    '',
    'void HOST_chunk(const void *given_job, const void *given_chunk, const mr_place *place, uint32_t *words) {',
    ...indented([
      ...cast('job'),
      ...cast('chunk'),
      ...unused(
        'given_job',
        'given_chunk',
        'place',
        'words',
        ...(job.length > 0 ? ['job'] : []),
        ...(chunk.length > 0 ? ['chunk'] : []),
      ),
      ...text.chunk,
    ]),
    '}',
  ].join('\n');
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? '' : `  ${line}`));

const hostFile = ({ name }: Signature, own: string, body: string, head: string): string =>
  `${head}
/* What depends on the job or the launch alone, computed once on the host: the kernel reads it as parameter words. */
#include "${name}.h"
#include "${name}_kernel.h"

${body.replaceAll('HOST_', `${own}_`)}
`;

/** A file with the machine code of one instruction set; on other processors it is empty. */
function cpuFile(name: string, { id, text, set }: Variant, head: string): string {
  const hasHits = /b_ring/.test(text.replace(/^ *u32 \*const b_ring = .*\n/m, ''));
  const code = text
    .replace('uint64_t millrace_run(', `uint64_t ${name}_${id}(`)
    .replace(hasHits ? '' : /^ *u32 \*const b_ring = .*\n/m, '');
  const target = set?.target ?? '';
  const [begin, end] = target === '' ? ['', ''] : targetPragmas(target);
  return `${head}
#if ${set?.when}
${begin}#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wpsabi"
${code}${end}#else
typedef int ${name}_${id}_is_empty; /* a file of C has at least one declaration */
#endif
`;
}

/** Makes the compiler use instruction sets in this file alone, whatever the command line says. */
function targetPragmas(target: string): [string, string] {
  // clang knows neither the plus sign of ARM nor this way of choosing vectors.
  const clang = target.replace('+crypto', 'aes,sha2').replace(',prefer-vector-width=512', '');
  return [
    `#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("${clang}"))), apply_to = function)
#else
#pragma GCC target("${target}")
#endif
`,
    `#if defined(__clang__)
#pragma clang attribute pop
#endif
`,
  ];
}

/** A file with the text that a driver compiles. */
function textFile(name: string, { id, text, shape }: Variant, head: string): string {
  const lines = text.trimEnd().split('\n');
  const literals = lines.map((line) => `    ${cString(`${line}\n`)},`);
  const tables = shape && shape.tables.length > 0 ? tableText(name, id, shape.tables) : '';
  return `${head}
#include "${name}_kernel.h"

#include <stddef.h>

const char *const ${name}_${id}_text[] = {
${literals.join('\n')}
    NULL,
};
${tables}`;
}

function tableText(name: string, id: string, words: Uint32Array): string {
  const rows: string[] = [];
  for (let at = 0; at < words.length; at += 8)
    rows.push(`    ${[...words.subarray(at, at + 8)].map((word) => `0x${word.toString(16)}u`).join(', ')},`);
  return `
const uint32_t ${name}_${id}_tables[] = {
${rows.join('\n')}
};
`;
}

/** A string literal of C. `??` would begin a trigraph. */
export const cString = (text: string): string =>
  `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n').replaceAll('\t', '\\t').replaceAll('??', '?\\?')}"`;

function declared(name: string, { id, kind, shape }: Variant): string[] {
  if (kind === 'cpu') return [`uint64_t ${name}_${id}(const uint64_t *launch, uint64_t begin, uint64_t end);`];
  return [
    `extern const char *const ${name}_${id}_text[];`,
    ...(shape && shape.tables.length > 0 ? [`extern const uint32_t ${name}_${id}_tables[];`] : []),
  ];
}

function initializer(name: string, variant: Variant, host: string): string {
  const { id, kind, lanes, program, shape, use, needs } = variant;
  const common = {
    kind: { cpu: 'MR_CPU', cuda: 'MR_CUDA', opencl: 'MR_OPENCL' }[kind],
    lanes,
    group_items: shape?.itemsPerGroup ?? 1,
    job_words: program.jobWords,
    chunk_words: program.chunkWords,
    job: `${host}_job`,
    chunk: `${host}_chunk`,
    indices: use.indices ?? 1,
    items: use.items ?? 1,
    ...(use.itemBytes !== undefined && { item_bytes: use.itemBytes }),
    ...(needs.length > 0 && { features: cString(needs.join(' ')) }),
  };
  const own = shape
    ? {
        text: `${name}_${id}_text`,
        entry: cString(shape.entry),
        options: cString(shape.compilerOptions.join(' ')),
        dynamic_bytes: shape.dynamicBytes,
        launch_words: shape.launch.words,
        sizes_at: shape.launch.sizesAt,
        parameters_at: shape.launch.parametersAt,
        by_value: shape.launch.byValue ? 1 : 0,
        ...(shape.tables.length > 0 && { tables: `${name}_${id}_tables`, table_words: shape.tables.length }),
      }
    : {
        run: `${name}_${id}`,
      };
  const fields = Object.entries({ ...common, ...own }).map(([field, value]) => `.${field} = ${value}`);
  return `{${fields.join(', ')}},`;
}
