import type { Precision } from '../../kernel/encoding.js';
import { badFile, badType } from '../source.js';
import type { SchemaElement } from './footer.js';
import type { ColumnDepth } from './page.js';

/** The one column that a file of samples has, and how deep its values lie. Other schemas are refused. */
export function columnOf(
  path: string,
  elements: readonly SchemaElement[],
): { depth: ColumnDepth; precision: Precision } {
  const columns = elements[0]?.children ?? 0;
  const [column] = elements.slice(1);
  if (column === undefined || columns !== 1) {
    throw badFile(path, `it has ${columns} columns`, 'write a file with one: a list of floats in each row');
  }
  const chains = leafPaths(elements);
  const [chain = []] = chains;
  const names = chains.map((one) => one.at(-1)?.type ?? 'nothing');
  const lists = chain.filter(isRepeated).length;
  // A list is a group in which something repeats, or a value that repeats. Other groups are structs.
  const isList = chain.length === 1 || (chain.length <= 3 && chain.findIndex(isRepeated) === 1);
  const [type] = names;
  if (names.length > 1 || lists > 1 || !isList || (type !== 'DOUBLE' && type !== 'FLOAT')) {
    const of = lists > 1 ? `lists of lists of ${names.join(', ')}` : isList ? names.join(', ') : 'structs';
    throw badType(path, `column ${column.name} is of ${of}`, 'write lists of float64 or float32');
  }
  return { depth: depthOf(chain), precision: type === 'DOUBLE' ? 'f64' : 'f32' };
}

const isRepeated = ({ repetition }: SchemaElement): boolean => repetition === 'repeated';

/** Leaves that are looked at: a column of floats has one. */
const MAX_LEAVES = 8;

/** The ways from the column to its first leaves. The elements are in depth-first order, so a stack of open groups does. */
function leafPaths([, ...elements]: readonly SchemaElement[]): (readonly SchemaElement[])[] {
  const chains: SchemaElement[][] = [];
  let open: { readonly element: SchemaElement; left: number }[] = [];
  for (const element of elements) {
    const { children } = element;
    if (children > 0) {
      if (open.length >= MAX_NESTED) break;
      open.push({ element, left: children });
      continue;
    }
    chains.push([...open.map((one) => one.element), element]);
    if (chains.length === MAX_LEAVES) break;
    for (const group of open.toReversed()) {
      group.left -= 1;
      if (group.left > 0) break;
      open = open.slice(0, -1);
    }
    if (open.length === 0) break;
  }
  return chains;
}

/** Groups around a value that are looked at: a list of floats has two. */
const MAX_NESTED = 16;

/** A level for each step on which something may be missing. */
function depthOf(chain: readonly SchemaElement[]): ColumnDepth {
  const steps = (nodes: readonly SchemaElement[]): number =>
    nodes.filter(({ repetition }) => repetition !== 'required').length;
  const repeats = chain.findIndex(isRepeated);
  return {
    repetition: repeats < 0 ? 0 : 1,
    definition: steps(chain),
    listDefinition: steps(chain.slice(0, repeats + 1)),
  };
}
