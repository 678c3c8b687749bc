import type { ExportKernel } from '../request.js';
import { functions, hitWords, needsData, outputBuffer, rowBuffers } from './header.js';
import { cString, type KernelFiles } from './kernel-files.js';
import { type CField, cTypes, fieldWords, identifier, type Signature } from './signature.js';

/** Returns `NAME_kernel.h`, which the generated files share and callers do not need. */
export const kernelHeader = ({ name }: Signature, { declarations }: KernelFiles, head: string): string => `${head}
#ifndef ${name.toUpperCase()}_KERNEL_H
#define ${name.toUpperCase()}_KERNEL_H

#include "millrace_runtime.h"

${declarations.join('\n')}

#endif
`;

/** Returns `NAME.c`: the kernel's tables and its functions. */
export function sourceText(
  signature: Signature,
  files: KernelFiles,
  { digest, head, spec }: { readonly digest: string; readonly head: string; readonly spec: ExportKernel },
): string {
  return `${head}
#include "${signature.name}.h"
#include "${signature.name}_kernel.h"

#include <string.h>

${kernelTable(signature, files, digest, spec)}

${functions(signature)
  .map(({ name, text }) => `${text} ${bodyOf(signature, name)}`)
  .join('\n\n')}
`;
}

function kernelTable(signature: Signature, { table }: KernelFiles, digest: string, spec: ExportKernel): string {
  const { name, kernel, isTiles, job, chunk, hit, buffers } = signature;
  const access = { read: 'MR_READ', rw: 'MR_WRITE', atomic: 'MR_ATOMIC' };
  const bindings = buffers.map(
    (buffer) => `    {${cString(buffer.name)}, ${access[buffer.kind]}, sizeof(${cTypes[buffer.type]})},`,
  );
  const rows = table.flatMap(({ when, text }) => [
    ...(when === undefined ? [] : [`#if ${when}`]),
    `    ${text}`,
    ...(when === undefined ? [] : ['#endif']),
  ]);
  const fields = [
    '.abi = MR_ABI_VERSION',
    `.name = ${cString(kernel)}`,
    `.digest = ${cString(digest)}`,
    `.is_tiles = ${isTiles ? 1 : 0}`,
    `.job_bytes = ${job.length > 0 ? `sizeof(${name}_job)` : 0}`,
    `.chunk_bytes = ${chunk.length > 0 ? `sizeof(${name}_chunk)` : 0}`,
    `.hit_words = ${hitWords(hit)}`,
    `.index_word = ${indexWord(hit, spec.indexField)}`,
    `.buffer_count = ${buffers.length}`,
    `.buffers = ${buffers.length > 0 ? 'bindings' : 'NULL'}`,
    '.variant_count = sizeof variants / sizeof *variants',
    '.variants = variants',
  ];
  return [
    ...(buffers.length > 0 ? ['static const mr_binding bindings[] = {', ...bindings, '};', ''] : []),
    '/* The first variant that the device has the instructions for is used. */',
    'static const mr_variant variants[] = {',
    ...rows,
    '};',
    '',
    `const mr_kernel ${name}_kernel = {`,
    ...fields.map((field) => `    ${field},`),
    '};',
  ].join('\n');
}

/** The position of a field among the words of a hit. */
function indexWord(hit: readonly CField[], field: string | undefined): number {
  const at = field === undefined ? 0 : hit.findIndex(({ name }) => name === identifier(field));
  return hitWords(hit.slice(0, Math.max(0, at)));
}

/** The body of a function, by its name without the prefix. */
function bodyOf(signature: Signature, full: string): string {
  const { name, job, chunk, hit, buffers } = signature;
  const own = full.slice(name.length + 1);
  const task = own.startsWith('generate') ? 'generate' : own.startsWith('transform') ? 'transform' : 'search';
  const jobValue = job.length > 0 ? 'job' : 'NULL';
  const hasData = needsData(signature, task);
  const dataValue = hasData ? '(const mr_data *)data' : 'NULL';
  const kernel = `device, &${name}_kernel, ${jobValue}, ${dataValue}`;
  const output = outputBuffer(signature);
  const rowBytes = output?.rowBytes === undefined ? 'row_bytes' : String(output.rowBytes);
  const outputNumber = output ? buffers.indexOf(output) : 0;
  const forwarded = (...list: string[]): string =>
    ['device', ...(job.length > 0 ? ['job'] : []), ...(hasData ? ['data'] : []), ...list, 'options', '&task'].join(
      ', ',
    );
  const sizeArgument = output?.rowBytes === undefined ? ['row_bytes'] : [];
  const rows = rowBuffers(signature);
  const rowNames = rows.flatMap((row) => [row.name, ...(row.rowBytes === undefined ? [`${row.name}_row_bytes`] : [])]);
  const transformArguments = rows.length > 0 ? rowNames : ['rows', 'row_buffers'];
  const wait = (start: string, finish = ''): string => `{
  mr_task *task;
  int status = ${name}_${task}_start(${start});
  if (status != MR_OK) return status;
  status = mr_task_wait(task);
${finish}  mr_task_close(task);
  return status;
}`;
  switch (own) {
    case 'search':
      return wait(
        forwarded('start', 'count'),
        `  if (status == MR_OK) status = ${name}_search_hits(task, hits, capacity, found);\n`,
      );
    case 'search_start':
      return `{\n  return mr_search_start(${kernel}, start, count, options, task);\n}`;
    case 'search_hits':
      return searchHits(hit);
    case 'generate':
      return wait(forwarded('start', 'count', ...sizeArgument, 'out'));
    case 'generate_start':
      return `{\n  return mr_generate_start(${kernel}, ${outputNumber}, ${rowBytes}, start, count, out, options, task);\n}`;
    case 'generate_each':
      return `{\n  return mr_generate_each(${kernel}, ${outputNumber}, ${rowBytes}, start, count, take, options, task);\n}`;
    case 'transform':
      return wait(forwarded(...transformArguments, 'count'));
    case 'transform_start':
      return transformStart(signature, kernel);
    case 'params_from_job':
      return `{\n  return mr_job_open(device, &${name}_kernel, ${jobValue}, params);\n}`;
    case 'launch':
      return `{
  const mr_launch launch = {
      .chunk = ${chunk.length > 0 ? 'chunk' : 'NULL'},
      .base = base,
      .count = count,
      .buffers = ${buffers.length > 0 ? '(mr_buffer *const *)buffers' : 'NULL'},
      .buffer_count = ${buffers.length > 0 ? 'buffers == NULL ? 0 : ' : ''}${buffers.length},
      .ring = ${hit.length > 0 ? 'ring' : 'NULL'},
  };
  return mr_launch_job(stream, params, &launch);
}`;
    default:
      throw new TypeError(`no body for ${full}`);
  }
}

/** Turns records of words into structs. */
function searchHits(hit: readonly CField[]): string {
  let word = 2;
  const copies = hit.map((field) => {
    const at = word;
    word += fieldWords(field);
    const address = `${field.array ? '' : '&'}hits[i].${field.name}`;
    return `    memcpy(${address}, record + ${at}, sizeof hits[i].${field.name});`;
  });
  return `{
  const uint32_t *records;
  size_t all = 0;
  if (found != NULL) *found = 0;
  const int status = mr_search_hits(task, &records, &all);
  if (status != MR_OK) return status;
  if (found == NULL || (hits == NULL && capacity > 0)) return MR_ERROR_ARGUMENT;
  for (size_t i = 0; i < all && i < capacity; i++) {
    const uint32_t *record = records + i * ${word};
    hits[i].index = (uint64_t)record[1] << 32 | record[0];
${copies.join('\n')}
  }
  *found = all;
  return all > capacity ? MR_ERROR_CAPACITY : MR_OK;
}`;
}

function transformStart(signature: Signature, kernel: string): string {
  const rows = rowBuffers(signature);
  if (rows.length === 0)
    return `{\n  return mr_transform_start(${kernel}, rows, row_buffers, count, options, task);\n}`;
  const entries = rows.map((row) => {
    const size = row.rowBytes === undefined ? `${row.name}_row_bytes` : String(row.rowBytes);
    const array = row.kind === 'read' ? `.in = ${row.name}` : `.out = ${row.name}`;
    return `      {.buffer = ${signature.buffers.indexOf(row)}, .row_bytes = ${size}, ${array}},`;
  });
  return `{
  const mr_rows rows[] = {
${entries.join('\n')}
  };
  return mr_transform_start(${kernel}, rows, ${rows.length}, count, options, task);
}`;
}
