import { type FileMetaData, parquetSchema } from 'hyparquet';
import type { Precision } from '../../encoding.js';
import { badFile, badType } from '../source.js';
import type { Depth } from './page.js';

/** The one column that a file of samples has, and how deep its values lie. Others are refused. */
export function columnOf(path: string, metadata: FileMetaData): { depth: Depth; precision: Precision } {
  const columns = parquetSchema(metadata).children;
  const [column] = columns;
  if (column === undefined || columns.length !== 1) {
    throw badFile(path, `it has ${columns.length} columns`, 'write a file with one: a list of floats in each row');
  }
  const chains = chainsOf(column);
  const [chain = []] = chains;
  const types = chains.map((one) => one.at(-1)?.element.type ?? 'nothing');
  const lists = chain.filter(isRepeated).length;
  // A list is a group in which something repeats, or what repeats itself. Other groups are structs.
  const isList = chain.length === 1 || (chain.length <= 3 && chain.findIndex(isRepeated) === 1);
  const [type] = types;
  if (types.length > 1 || lists > 1 || !isList || (type !== 'DOUBLE' && type !== 'FLOAT')) {
    const of = lists > 1 ? `lists of lists of ${types.join(', ')}` : isList ? types.join(', ') : 'structs';
    throw badType(path, `column ${column.element.name} is of ${of}`, 'write lists of float64 or float32');
  }
  return { depth: depthOf(chain), precision: type === 'DOUBLE' ? 'f64' : 'f32' };
}

type Node = ReturnType<typeof parquetSchema>['children'][number];

const isRepeated = ({ element }: Node): boolean => element.repetition_type === 'REPEATED';

/** Each way from a column to values. */
function chainsOf(node: Node, above: readonly Node[] = []): (readonly Node[])[] {
  const chain = [...above, node];
  return node.children.length === 0 ? [chain] : node.children.flatMap((child) => chainsOf(child, chain));
}

/** A level for each step on which something may be missing. */
function depthOf(chain: readonly Node[]): Depth {
  const steps = (nodes: readonly Node[]): number =>
    nodes.filter(({ element }) => element.repetition_type !== 'REQUIRED').length;
  const repeats = chain.findIndex(isRepeated);
  return {
    repetition: repeats < 0 ? 0 : 1,
    definition: steps(chain),
    listed: steps(chain.slice(0, repeats + 1)),
  };
}
