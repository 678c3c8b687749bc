import {
  type Block,
  type FunctionDecl,
  type HoistedProgram,
  innerBlocks,
  type Node,
  type Program,
  type Statement,
} from '../../ir/program.js';
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

/** Rounds of loops inside each other between two checks for cancellation: microseconds. */
const MAX_ROUNDS = 4096;

/**
 * Makes loops check for cancellation, so that a launch of an untrusted kernel can always be ended. Loops with
 * few rounds, known while compiling, need no check.
 */
export function makeLoopsLong<P extends HoistedProgram>(program: P): P {
  // The rounds around the calls of a function. Its callers come after it, so the program is walked backwards.
  const callRounds = new Map<FunctionDecl, number>();
  const backwards: Statement[] = [];
  for (const statement of [...program.body].reverse()) {
    const rounds = statement.kind === 'function' ? (callRounds.get(statement.callee) ?? 1) : 1;
    backwards.push(...longLoops([statement], rounds, callRounds));
  }
  return { ...program, body: backwards.reverse() };
}

function longLoops(body: Block, rounds: number, callRounds: Map<FunctionDecl, number>): Block {
  const same = <N>(node: N): N => node;
  return body.map((statement) => {
    if (statement.kind === 'invoke')
      callRounds.set(statement.callee, Math.max(rounds, callRounds.get(statement.callee) ?? 1));
    const inside = (inner: number) => (block: Block) => longLoops(block, inner, callRounds);
    const rewritten = (inner: number) =>
      rewriteStatement(statement, { read: same, define: same, block: inside(inner) });
    if (statement.kind !== 'loop' && statement.kind !== 'while') return rewritten(rounds);
    const known =
      statement.kind === 'loop' && statement.count.op === 'const' ? Number(statement.count.detail.value) : undefined;
    if (known !== undefined && known * rounds <= MAX_ROUNDS) return rewritten(known * rounds);
    return { ...rewritten(1), isLong: true };
  });
}
