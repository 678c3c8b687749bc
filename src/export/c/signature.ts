import { MillraceError } from '../../kernel/error.js';
import { type BufferDecl, type Field, type Program, type Type, wordsOf } from '../../kernel/index.js';
import type { ExportRequest } from '../request.js';

/** A kernel's declarations as C sees them. */
export interface Signature {
  /** The prefix of all names. */
  readonly name: string;
  readonly kernel: string;
  readonly isTiles: boolean;
  readonly job: readonly CField[];
  readonly chunk: readonly CField[];
  readonly hit: readonly CField[];
  readonly buffers: readonly CBuffer[];
  readonly shapes: readonly ('search' | 'generate' | 'transform')[];
}

export interface CField {
  readonly name: string;
  readonly type: Type;
  readonly length: number;
  readonly array: boolean;
}

export interface CBuffer {
  readonly name: string;
  readonly kind: 'read' | 'rw' | 'atomic';
  readonly type: BufferDecl['type'] | 'i64';
  /** Bytes of a row for each index, if always the same. */
  readonly rowBytes: number | undefined;
}

/** An f16 is a float for callers: job values are rounded, hits are exact. */
export const cTypes: Readonly<Record<Type, string>> = {
  u32: 'uint32_t',
  i32: 'int32_t',
  u64: 'uint64_t',
  i64: 'int64_t',
  f16: 'float',
  f32: 'float',
  f64: 'double',
  bool: 'uint32_t',
};

/** Words of a field, as hits and parameters hold it. */
export const fieldWords = ({ type, length }: CField): number => length * wordsOf(type);

export function signatureOf({ kernel, name }: ExportRequest): Signature {
  // A CPU's kernel may declare floats where a GPU's stores words: callers see the floats.
  const program = kernel.cpu.kernel.trace();
  const buffers = program.buffers.filter(({ name: own }) => own !== 'ring');
  for (const { kernel: other } of [kernel.gpu, ...(kernel.armSha2 ? [kernel.armSha2] : [])])
    checkSame(program, other.trace());
  checkExportable(program);
  const own = buffers.map(
    ({ name: buffer, kind, type }): CBuffer => ({
      name: identifier(buffer),
      kind: kind as CBuffer['kind'],
      type: kernel.cpu.kernel.signature.buffers?.[buffer]?.type === 'i64' ? 'i64' : type,
      rowBytes: kernel.rowBytes?.[buffer],
    }),
  );
  const writes = own.some(({ kind }) => kind === 'rw');
  const reads = own.some(({ kind }) => kind === 'read');
  const hasRows = own.every(({ rowBytes }) => rowBytes !== undefined);
  return {
    name,
    kernel: program.name,
    isTiles: program.kind === 'tiles',
    job: program.job.map(fieldOf),
    chunk: program.chunk.filter(({ name: field }) => !field.startsWith('.')).map(fieldOf),
    hit: program.hit.map(fieldOf),
    buffers: own,
    shapes: [
      ...(program.hit.length > 0 ? (['search'] as const) : []),
      // Where all buffers have rows, nothing is the same for all indices.
      ...(program.hit.length === 0 && writes && !(reads && hasRows) ? (['generate'] as const) : []),
      ...(program.hit.length === 0 && writes && reads ? (['transform'] as const) : []),
    ],
  };
}

const fieldOf = ({ name, type, length, array }: Field): CField => ({ name: identifier(name), type, length, array });

/** Declares a field of a struct. */
export const declaration = ({ name, type, length, array }: CField): string =>
  `${cTypes[type]} ${name}${array ? `[${length}]` : ''};`;

/** Converts an author's name to a C identifier; keywords of C and C++ get an underscore. */
export function identifier(name: string): string {
  const plain = name.replaceAll(/\W/g, '_');
  return keywords.has(plain) || /^\d/.test(plain) ? `${plain}_` : plain;
}

const keywords = new Set(
  [
    'alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const const_cast',
    'consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit export extern',
    'false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq',
    'private protected public register reinterpret_cast requires restrict return short signed sizeof static static_assert',
    'static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned',
    'using virtual void volatile wchar_t while xor xor_eq index unix linux',
  ].flatMap((line) => line.split(' ')),
);

/** Processors may have different kernels, but callers see one. */
function checkSame(a: Program, b: Program): void {
  const declared = ({ job, chunk, hit, buffers }: Program): string =>
    JSON.stringify([job, chunk, hit, buffers.map(({ name, kind }) => [name, kind])]);
  if (declared(a) !== declared(b)) throw new TypeError(`the variants of ${a.name} have different declarations`);
}

function checkExportable({ name, buffers }: Program): void {
  if (!buffers.some(({ prints }) => prints !== undefined)) return;
  throw new MillraceError({
    code: 'usage',
    message: `kernel ${name} calls print(), which an exported library cannot show`,
    asked: `to export ${name}`,
    advice: 'remove the calls of print()',
  });
}
