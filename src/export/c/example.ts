import type { FieldValues, Type } from '../../kernel/index.js';
import type { ExportKernel } from '../request.js';
import { commonArguments, outputBuffer, rowBuffers } from './header.js';
import { type CField, cTypes, type Signature } from './signature.js';

/** Returns `example.c`: opens the device of the command line and runs the kernel once. */
export function exampleText(signature: Signature, { example }: ExportKernel, head: string): string {
  const { name, job, shapes, chunk } = signature;
  const values = job.length > 0 ? jobText(job, example?.job) : '';
  const body = chunk.length > 0 || shapes.length === 0 ? compileOnly(signature) : runOnce(signature, example);
  return `${head}
/* Usage: example [DEVICE], as in example cuda:0 */
#include <stdio.h>
#include <stdlib.h>

#include "${name}.h"

static int failed(const char *what, mr_device *device) {
  fprintf(stderr, "%s: %s\\n", what, mr_error(device));
  mr_close(device);
  return 1;
}

int main(int count, char **arguments) {
  mr_device *device;
  mr_info info;
  if (mr_open(count > 1 ? arguments[1] : NULL, &device) != MR_OK) return failed("mr_open", NULL);
  if (mr_device_info(device, &info) != MR_OK) return failed("mr_device_info", device);
${values}${body}
  mr_close(device);
  return 0;
}
`;
}

function jobText(job: readonly CField[], values: FieldValues | undefined): string {
  const rows = job.map(({ name, array }) => {
    const given = values?.[name];
    const list =
      given === undefined ? [0] : typeof given === 'object' ? Array.from(given as ArrayLike<number>) : [given];
    const texts = list.map(literal);
    const text = array ? `{${texts.join(', ')}}` : (texts[0] ?? '0');
    return `      .${name} = ${text},`;
  });
  return `  const NAME_job job = {\n${rows.join('\n')}\n  };\n`;
}

function literal(value: number | bigint | boolean): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return value > 9 && Number.isInteger(Number(value)) ? `0x${value.toString(16)}` : String(value);
}

/** Kernels with values for each launch are driven by their caller: the example shows that they compile. */
function compileOnly(signature: Signature): string {
  const { name } = signature;
  const given = commonArguments(signature)
    .slice(1)
    .map(() => '&job');
  return replaced(
    name,
    `  mr_job *params;
  if (NAME_params_from_job(${['device', ...given, '&params'].join(', ')}) != MR_OK) return failed("NAME_params_from_job", device);
  printf("%s: kernel %s is ready\\n", info.id, NAME_kernel.name);
  mr_job_close(params);`,
  );
}

function runOnce(signature: Signature, example: ExportKernel['example']): string {
  const { name, job, shapes, hit, buffers } = signature;
  const own = job.length > 0 ? ['&job'] : [];
  const [shape] =
    shapes.includes('transform') && rowBuffers(signature).length === buffers.length ? ['transform'] : shapes;
  if (shape === 'search') {
    const { start = 0n, count = 1n << 16n } = example ?? {};
    const data = buffers.length > 0 ? ['&data'] : [];
    const [first] = hit;
    const [format, type] = printed(first?.type);
    const shown = first && !first.array ? ` ${first.name} ${format}` : '';
    const value = first && !first.array ? `, (${type})hits[i].${first.name}` : '';
    return replaced(
      name,
      `${dataText(signature)}  NAME_hit hits[16];
  size_t found = 0;
  const int status = NAME_search(${['device', ...own, ...data, `${start}u`, `${count}u`, 'NULL', 'hits', '16', '&found'].join(', ')});
  if (status != MR_OK && status != MR_ERROR_CAPACITY) return failed("NAME_search", device);
  printf("%s: %zu %s\\n", info.id, found, found == 1 ? "hit" : "hits");
  for (size_t i = 0; i < found && i < 16; i++)
    printf("  index %llu${shown}\\n", (unsigned long long)hits[i].index${value});`,
    );
  }
  if (shape === 'transform') return replaced(name, transformText(signature, own));
  const output = outputBuffer(signature);
  const bytes = output?.rowBytes ?? 16;
  const size = output?.rowBytes === undefined ? [String(bytes)] : [];
  const data = buffers.length > 1 ? ['&data'] : [];
  return replaced(
    name,
    `${dataText(signature)}  static unsigned char out[16 * ${bytes}];
  if (NAME_generate(${['device', ...own, ...data, '0', '16', ...size, 'out', 'NULL'].join(', ')}) != MR_OK) return failed("NAME_generate", device);
  printf("%s: 16 rows of ${bytes} bytes, the first begins with %02x\\n", info.id, out[0]);`,
  );
}

/** How a value is printed: the format of `printf`, and the type that it is for. */
function printed(type: Type | undefined): readonly [string, string] {
  if (type === 'f16' || type === 'f32' || type === 'f64') return ['%g', 'double'];
  return type === 'i32' || type === 'i64' ? ['%lld', 'long long'] : ['%llu', 'unsigned long long'];
}

const EXAMPLE_ROWS = 4;

function transformText(signature: Signature, own: readonly string[]): string {
  const rows = rowBuffers(signature);
  const bytes = (rowBytes: number | undefined): number => rowBytes ?? 16;
  const arrays = rows.map(
    ({ name, type, rowBytes }) => `  ${cTypes[type]} *${name} = calloc(${EXAMPLE_ROWS}, ${bytes(rowBytes)});`,
  );
  const given = rows.flatMap(({ name, rowBytes }) => [name, ...(rowBytes === undefined ? ['16'] : [])]);
  const input = rows.find(({ kind }) => kind === 'read');
  const output = rows.findLast(({ kind }) => kind === 'rw');
  const elements = (type: string, rowBytes: number | undefined): string =>
    `${EXAMPLE_ROWS} * ${bytes(rowBytes)} / sizeof(${type})`;
  return `${arrays.join('\n')}
  if (${rows.map(({ name }) => `${name} == NULL`).join(' || ')}) return failed("calloc", device);
${input ? `  for (size_t i = 0; i < ${elements(cTypes[input.type], input.rowBytes)}; i++) ${input.name}[i] = (${cTypes[input.type]})(i % 7 + 1);\n` : ''}  if (NAME_transform(${['device', ...own, ...given, String(EXAMPLE_ROWS), 'NULL'].join(', ')}) != MR_OK) return failed("NAME_transform", device);
  printf("%s: ${EXAMPLE_ROWS} rows, the first value is %g\\n", info.id, (double)${output?.name ?? ''}[0]);
${rows.map(({ name }) => `  free(${name});`).join('\n')}`;
}

/** Small arrays of zeros for buffers that are the same for all indices. */
function dataText({ buffers }: Signature): string {
  if (buffers.length === 0) return '';
  return `  const NAME_data data = {\n${buffers
    .map(({ name }) => `      .${name} = {NULL, 1 << 20}, /* zeros */`)
    .join('\n')}\n  };\n`;
}

const replaced = (name: string, text: string): string => text.replaceAll('NAME', name);
