import type { Node, Table } from '../ir/program.js';

/**
 * Names in generated text. A name that a kernel's author chose has a prefix, `b_` for buffers and `p_` for job and chunk
 * values, and underscores for its dashes. So it is never a keyword, a function of the language, or a name that a printer
 * makes up: those have neither prefix, but for the parameters that `hoist` names and the ring, whose name is refused.
 */
export const bufferName = ({ name, kind }: NamedBuffer): string =>
  kind === 'near' ? name : `b_${name.replaceAll('-', '_')}`;

export interface NamedBuffer {
  readonly name: string;
  readonly kind: string;
}

/** Checked builds: how many elements a buffer has. */
export const lengthName = (buffer: NamedBuffer): string => `length_${bufferName(buffer)}`;

/** A job or chunk value. Two of the same name were told apart by `hoist`. */
export const parameterName = ({ detail }: Node): string => `p_${detail.name}`;

export const tableName = (table: Table): string => `table_${table.id}`;
