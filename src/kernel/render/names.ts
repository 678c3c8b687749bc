import type { Node, TableDecl } from '../ir/program.js';

/**
 * Names in generated text. A name from a kernel's author has a prefix, `b_` for buffers and `p_` for job and chunk values,
 * and underscores instead of dashes. It is therefore never a keyword, a function of the language, or a name that a printer
 * generates. Generated names have neither prefix, except the parameters that `hoist` names and the ring, whose name authors
 * cannot use.
 */
export const bufferName = ({ name, kind }: NamedBuffer): string =>
  kind === 'near' || kind === 'array' ? name : `b_${name.replaceAll('-', '_')}`;

export interface NamedBuffer {
  readonly name: string;
  readonly kind: string;
}

/** The number of a buffer's elements, in checked builds. */
export const lengthName = (buffer: NamedBuffer): string => `length_${bufferName(buffer)}`;

/** A job or chunk value. `hoist` has made equal names distinct. */
export const parameterName = ({ detail }: Node): string => `p_${detail.name}`;

export const tableName = (table: TableDecl): string => `table_${table.id}`;
