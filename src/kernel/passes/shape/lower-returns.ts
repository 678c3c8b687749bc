import {
  type Block,
  type CellDecl,
  innerBlocks,
  type Node,
  type Op,
  type Program,
  type Statement,
  ValueStage,
} from '../../ir/program.js';
import type { Origin } from '../../language/origin.js';
import { rewriteStatement } from '../rewrite.js';

/**
 * Replaces `return` by a cell that says that the item is done: loops around it break, and what follows in other blocks
 * depends on the cell. Gangs then mask lanes whose item is done like lanes that left a loop, and a GPU's thread continues
 * with its next item. Runs on traces.
 */
export function lowerReturns(program: Program): Program {
  if (!hasReturn(program.body)) return program;
  const origin = program.body[0]?.origin as Origin;
  const lowering = new ReturnLowering();
  const no = lowering.constant(false, origin);
  return {
    ...program,
    body: [{ kind: 'cell', cell: lowering.done, value: no, origin }, ...lowering.block(program.body, false)],
  };
}

const hasReturn = (block: Block): boolean =>
  block.some((statement) => statement.kind === 'return' || innerBlocks(statement).some(hasReturn));

class ReturnLowering {
  /** The id is greater than those of a trace, smaller than those of later passes. */
  readonly done: CellDecl = { id: (1 << 19) - 1, type: 'bool' };
  #nextNode = 1 << 25; // greater than any id that tracing assigns

  /** Lowers a block; `inLoop` is true if there is a loop to leave. */
  block(block: Block, inLoop: boolean): Statement[] {
    const out: Statement[] = [];
    for (const [i, statement] of block.entries()) {
      const { origin } = statement;
      if (statement.kind === 'return') {
        const yes = this.constant(true, origin);
        out.push({ kind: 'set', cell: this.done, value: yes, origin });
        if (inLoop) out.push({ kind: 'break', condition: yes, origin });
        break; // nothing after it runs
      }
      const returns = innerBlocks(statement).some(hasReturn);
      if (!returns) {
        out.push(statement);
        continue;
      }
      const isLoop = statement.kind === 'loop' || statement.kind === 'while';
      const lowered = (inner: Block) => this.block(inner, inLoop || isLoop);
      out.push(rewriteStatement(statement, { read: same, define: same, block: lowered }));
      const done = this.#get(origin, out);
      if (inLoop) {
        out.push({ kind: 'break', condition: done, origin });
        continue;
      }
      const goOn = this.#node('not', [done], origin);
      out.push({ kind: 'let', node: goOn, origin });
      const body = this.block(block.slice(i + 1), false);
      if (body.length > 0) out.push({ kind: 'when', condition: goOn, body, otherwise: [], origin });
      break;
    }
    return out;
  }

  constant(value: boolean, origin: Origin): Node {
    const id = this.#nextNode++;
    return { id, op: 'const', type: 'bool', args: [], stage: ValueStage.constant, detail: { value }, origin };
  }

  #get(origin: Origin, out: Statement[]): Node {
    const result = this.#node('local', [], origin);
    out.push({ kind: 'get', cell: this.done, result, origin });
    return result;
  }

  #node(op: Op, args: readonly Node[], origin: Origin): Node {
    return { id: this.#nextNode++, op, type: 'bool', args, stage: ValueStage.varying, detail: {}, origin };
  }
}

const same = (node: Node): Node => node;
