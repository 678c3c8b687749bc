import { type Block, innerBlocks, type Node, type Program } from '../../ir/program.js';
import { rewriteStatement } from '../rewrite.js';

/** Makes every `while` check for cancellation before each round, so that a loop without end can be stopped. */
export function withLongLoops<P extends Program>(program: P): P {
  const same = (node: Node): Node => node;
  const block = (old: Block): Block =>
    old.map((statement) => {
      if (innerBlocks(statement).length === 0) return statement;
      const made = rewriteStatement(statement, { read: same, define: same, block });
      return made.kind === 'while' ? { ...made, isLong: true } : made;
    });
  return { ...program, body: block(program.body) };
}
