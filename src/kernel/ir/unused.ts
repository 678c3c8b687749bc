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
      if (statement.kind === 'let') {
        // Nearly all statements are lets.
        for (const arg of statement.node.args) if (arg.type === 'bool') read.add(arg);
        if (statement.node.type === 'bool') made.push(statement.node);
        continue;
      }
      for (const node of readNodes(statement)) read.add(node);
      if (statement.kind === 'get' && statement.result.type === 'bool') made.push(statement.result);
      const last = nodeReadAtEnd(statement)?.node;
      if (last) read.add(last);
      innerBlocks(statement).forEach(walk);
    }
  };
  walk(body);
  return made.filter((node) => !read.has(node)).sort((a, b) => a.id - b.id);
}
