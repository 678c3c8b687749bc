import { type Block, innerBlocks, type Node, nodeReadAtEnd, type Program, readNodes } from './program.js';

/**
 * Returns the bools of a traced program that nothing reads, in the order in which they were made. Such a bool is nearly
 * always the condition of a JavaScript `if`, which sees an object, and so takes the branch whatever the value will be.
 */
export function unusedBools({ body }: Program): Node[] {
  const made: Node[] = [];
  const read = new Set<Node>();
  const walk = (block: Block): void => {
    for (const statement of block) {
      for (const node of readNodes(statement)) if (node.type === 'bool') read.add(node);
      if (statement.kind === 'let') {
        if (statement.node.type === 'bool') made.push(statement.node);
        continue; // nearly all statements
      }
      if (statement.kind === 'get' && statement.result.type === 'bool') made.push(statement.result);
      const last = nodeReadAtEnd(statement)?.node;
      if (last) read.add(last);
      innerBlocks(statement).forEach(walk);
    }
  };
  walk(body);
  return made.filter((node) => !read.has(node)).sort((a, b) => a.id - b.id);
}
