import type { Precision } from '../../kernel/encoding.js';
import { badFile, badType } from '../source.js';
import type { SchemaElement } from './footer.js';
import type { ColumnDepth } from './page.js';

/** Returns nesting and type of the only column of a file of samples. Throws for other schemas. */
export function columnOf(
  path: string,
  elements: readonly SchemaElement[],
): { depth: ColumnDepth; precision: Precision } {
  const columns = elements[0]?.children ?? 0;
  const [column] = elements.slice(1);
  if (column === undefined || columns !== 1) {
    throw badFile(path, `the file has ${columns} columns`, 'write a file with one: a list of floats in each row');
  }
  const chains = leafPaths(elements);
  const [chain = []] = chains;
  const names = chains.map((one) => one.at(-1)?.type ?? 'nothing');
  const lists = chain.filter(isRepeated).length;
  // A list is a group in which something repeats, or a value that repeats. Other groups are structs.
  const isList = chain.length === 1 || (chain.length <= 3 && chain.findIndex(isRepeated) === 1);
  const [type] = names;
  if (names.length > 1 || lists > 1 || !isList || (type !== 'DOUBLE' && type !== 'FLOAT')) {
    const content = lists > 1 ? `lists of lists of ${names.join(', ')}` : isList ? names.join(', ') : 'structs';
    throw badType(path, `column ${column.name} holds ${content}`, 'write lists of float64 or float32');
  }
  return { depth: depthOf(chain), precision: type === 'DOUBLE' ? 'f64' : 'f32' };
}

const isRepeated = ({ repetition }: SchemaElement): boolean => repetition === 'repeated';

/** Leaves examined: a column of floats has one. */
const MAX_LEAVES = 8;

/** Returns the paths from the column to its first leaves, with a stack: elements are in depth-first order. */
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

/** Nested groups examined: a list of floats has two. */
const MAX_NESTED = 16;

/** Counts a level for each element that is optional or repeated. */
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
