import type { Type } from '../../kernel/index.js';
import type { CBuffer, CField, Signature } from '../c/signature.js';

/** A kernel's declarations with names that Python accepts. */
export interface PythonSignature {
  readonly job: readonly CField[];
  readonly chunk: readonly CField[];
  readonly hit: readonly CField[];
  readonly buffers: readonly CBuffer[];
}

/** Renames fields that are keywords, or arguments that the module's functions have anyway. */
export function pythonSignature({ job, chunk, hit, buffers }: Signature): PythonSignature {
  const renamed = <T extends { readonly name: string }>(list: readonly T[], taken: ReadonlySet<string>): T[] =>
    list.map((one) => ({ ...one, name: taken.has(one.name) ? `${one.name}_` : one.name }));
  const jobs = renamed(job, reserved);
  const used = new Set([...reserved, ...jobs.map(({ name }) => name)]);
  return { job: jobs, chunk: renamed(chunk, keywords), hit: renamed(hit, hitNames), buffers: renamed(buffers, used) };
}

/** Returns the field's type for a type checker. */
export function annotation({ type, array }: CField): string {
  const scalar = scalarType(type);
  return array ? `Sequence[${scalar}]` : scalar;
}

export const scalarType = (type: Type): string =>
  type === 'bool' ? 'bool' : type === 'f16' || type === 'f32' || type === 'f64' ? 'float' : 'int';

const keywords = new Set(
  [
    'False None True and as assert async await break class continue def del elif else except finally for from global if',
    'import in is lambda nonlocal not or pass raise return try while with yield',
  ].flatMap((line) => line.split(' ')),
);
const reserved = new Set([
  ...keywords,
  ...'start count device out row rows chunk progress max_indices ring_hits range_size'.split(' '),
]);
/** A named tuple has methods; the others begin with an underscore. */
const hitNames = new Set([...keywords, 'count', 'index']);
