import { writtenType } from '../language/expr.js';
import type { Value } from '../language/types.js';
import type { Node, Program, Statement } from './program.js';

/** Values of a running kernel as text, for people. */

/** The value that a statement computes or stores; undefined if it has none of interest. */
export function statementValue(
  statement: Statement,
  { hit }: Pick<Program, 'hit'>,
  read: (node: Node) => Value,
): string | undefined {
  const list = (nodes: readonly Node[]): string => nodes.map((node) => valueText(node, read)).join(', ');
  switch (statement.kind) {
    case 'let':
      return valueText(statement.node, read);
    case 'get':
    case 'sum':
    case 'scan':
      return valueText(statement.result, read);
    case 'cell':
    case 'set':
      return valueText(statement.value, read);
    case 'load':
    case 'invoke':
      return list(statement.results);
    case 'store':
      return list(statement.values);
    case 'atomic':
      return statement.result && `${valueText(statement.result, read)} before`;
    case 'break':
      return valueText(statement.condition, read);
    case 'return':
      return 'the item ends';
    case 'emit': {
      const values = [...statement.values];
      const fields = hit.map(({ name, length }) => `${name} = ${list(values.splice(0, length))}`);
      return `hit ${fields.join(', ')}`;
    }
    default:
      return undefined;
  }
}

/** Returns a value as the kernel's author knows it: in the program an i64 has no sign. Large integers are in hex too. */
export function valueText(node: Node, read: (node: Node) => Value): string {
  const bits = read(node);
  const value = typeof bits === 'bigint' && writtenType(node) === 'i64' ? BigInt.asIntN(64, bits) : bits;
  const isLarge = typeof value === 'bigint' ? value > 0xffffn : Number.isInteger(value) && Number(value) > 0xffff;
  return isLarge ? `${value} (0x${value.toString(16)})` : Object.is(value, -0) ? '-0' : String(value);
}
