import { MillraceError } from '../../kernel/error.js';
import type { FieldValues, Kernel } from '../../kernel/index.js';
import { arrayName, elementBytes } from '../flow/arrays.js';
import { checkReach } from '../flow/checked.js';
import { MAX_ITEMS } from '../work/space.js';

/** Returns the buffer that holds a kernel's output rows: the named one, or the only one the kernel writes. */
export function outputOf({ name, signature }: Kernel, asked: string | undefined): string {
  const written = Object.entries(signature.buffers ?? {}).flatMap(([buffer, { kind }]) =>
    kind === 'read' ? [] : buffer,
  );
  if (asked !== undefined && written.includes(asked)) return asked;
  const [only, ...others] = written;
  if (asked === undefined && only !== undefined && others.length === 0) return only;
  throw new MillraceError({
    code: 'launch-arguments',
    message: `kernel ${name} does not write ${asked === undefined ? 'exactly one buffer' : `a buffer called ${asked}`}`,
    asked: `output ${asked ?? 'by default'}`,
    advice: written.length === 0 ? 'declare an rw() buffer' : `give output: it writes ${written.join(', ')}`,
  });
}

/**
 * Returns the buffer that a kernel reads its rows from: the named one, or the only one it reads that has no data given.
 */
export function inputOf({ name, signature }: Kernel, asked: string | undefined, filled: readonly string[]): string {
  const known = Object.keys(signature.buffers ?? {});
  if (asked !== undefined && known.includes(asked)) return asked;
  const read = Object.entries(signature.buffers ?? {}).flatMap(([buffer, { kind }]) =>
    kind === 'read' && !filled.includes(buffer) ? buffer : [],
  );
  const [only, ...others] = read;
  if (asked === undefined && only !== undefined && others.length === 0) return only;
  const problem =
    asked === undefined ? 'does not read exactly one buffer without data' : `has no buffer called ${asked}`;
  throw new MillraceError({
    code: 'launch-arguments',
    message: `kernel ${name} ${problem}`,
    asked: `input ${asked ?? 'by default'}`,
    advice: `give input: its buffers are ${known.join(', ') || 'none'}`,
  });
}

/**
 * Returns the bytes of the data given for a kernel's buffers, by name. Throws `launch-arguments` if the data does not fit
 * the kernel. `made` are the buffers that the job allocates itself.
 */
export function dataSizes(
  { name: kernel, signature }: Kernel,
  data: unknown,
  made: readonly string[] = [],
): Record<string, number> {
  const declared = signature.buffers ?? {};
  const given = (data ?? {}) as Readonly<Record<string, unknown>>;
  const asked = Object.entries(given).map(([name, value]) => `${name}: ${valueName(value)}`);
  const refuse = (message: string, advice: string): MillraceError =>
    new MillraceError({
      code: 'launch-arguments',
      message: `kernel ${kernel}: ${message}`,
      asked: asked.length === 0 ? 'no buffers' : `buffers: { ${asked.join(', ')} }`,
      advice,
    });
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(declared, name));
  if (unknown !== undefined)
    throw refuse(
      `there is no buffer called ${unknown}`,
      `its buffers are ${Object.keys(declared).join(', ') || 'none'}`,
    );
  const sizes: Record<string, number> = {};
  for (const [name, { type }] of Object.entries(declared)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value === undefined && made.includes(name)) continue;
    const kind = arrayName(type);
    const form = `give a ${kind}: \`buffers: { ${name}: new ${kind}(${typeof value === 'number' ? value : '…'}) }\``;
    if (value === undefined) throw refuse(`buffer ${name} is not given`, form);
    if (!ArrayBuffer.isView(value)) {
      const advice = made.includes(name) ? 'leave it out: the job makes it' : form;
      throw refuse(`buffer ${name}: ${valueName(value)} is not a typed array`, advice);
    }
    if (!isArrayOf(type, value))
      throw refuse(
        `buffer ${name} has elements of type ${type}, not those of a ${valueName(value)}`,
        `${form}, or its bytes as a Uint8Array`,
      );
    if (value.byteLength % elementBytes(type) !== 0)
      throw refuse(
        `buffer ${name} has ${value.byteLength} bytes, which are not a whole number of ${type}`,
        `a ${type} has ${elementBytes(type)} bytes`,
      );
    sizes[name] = value.byteLength;
  }
  return sizes;
}

/** True if an array has elements of the type, or is bytes, which are taken as they are. */
function isArrayOf(type: string, array: ArrayBufferView): boolean {
  const { BYTES_PER_ELEMENT: size = 1 } = array as { readonly BYTES_PER_ELEMENT?: number };
  const name = valueName(array);
  return size === 1 || name === arrayName(type) || (type === 'f16' && name === 'Float16Array');
}

/** Names a value in messages: the class of an object, the type of a text or a function, and others as they are. */
function valueName(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Object.prototype.toString.call(value).slice(8, -1);
  return typeof value === 'string' || typeof value === 'function' ? `a ${typeof value}` : String(value);
}

/** Returns how many rows fit a batch, at most `length`. */
export function rowsPerBatch(rowBytes: number, batchBytes: number, length: bigint): number {
  if (!Number.isInteger(rowBytes) || rowBytes < 1 || rowBytes > batchBytes) {
    throw new MillraceError({
      code: 'launch-arguments',
      message: `a row of ${rowBytes} bytes does not fit a batch`,
      asked: `rows of ${rowBytes} bytes in batches of ${batchBytes}`,
      advice: 'give a whole number of bytes, and batches that hold at least one row',
    });
  }
  const fitting = Math.min(MAX_ITEMS, Math.floor(batchBytes / rowBytes));
  return length < BigInt(fitting) ? Number(length) : fitting;
}

/** Returns the buffer size for `rows` rows, a multiple of 16: kernels may store 16 bytes at a time. */
export const paddedBytes = (rows: number, rowBytes: number): number => Math.ceil((rows * rowBytes) / 16) * 16;

/**
 * Checks that the first item stays in its row of each buffer: a batch may end after any row. `rowBytes` are the bytes of a
 * row, by buffer. Rows that are not whole words share words with their neighbours and are not checked.
 */
export function checkRows(
  kernel: Kernel,
  job: unknown,
  index: bigint,
  rowBytes: Readonly<Record<string, number>>,
): void {
  const whole = Object.fromEntries(Object.entries(rowBytes).filter(([, bytes]) => bytes % 4 === 0));
  checkReach(kernel, [{ job: (job ?? {}) as FieldValues, index, item: 0 }], whole, 'a row of');
}
