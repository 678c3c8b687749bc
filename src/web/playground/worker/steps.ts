import { launchBase } from '../../../engine/work/space.js';
import { ringLayout } from '../../../kernel/abi/harness.js';
import { interpret } from '../../../kernel/ir/interpret.js';
import { innerBlocks, type Statement } from '../../../kernel/ir/program.js';
import { statementValue, valueText } from '../../../kernel/ir/value-text.js';
import { faultOf, placeIn } from '../faults.js';
import type { CodeFault, Step, StepsData } from '../messages.js';
import type { Task } from '../task.js';

/** Runs one index on the interpreter and records each statement of the user's code with its value. */
export function stepsOf(task: Task, index: bigint): StepsData {
  const program = task.kernel.trace();
  const { headerWords, recordWords } = ringLayout(program);
  const steps: Step[] = [];
  let [depth, hits] = [0, 0];
  const add = ({ origin }: Statement, what: string, value: string): void => {
    const place = placeIn(origin.line);
    if (!place) return; // what every kernel has, such as the computation of its index
    if (steps.length >= MAX_STEPS) throw new Cut();
    steps.push({ ...place, depth, what, value });
  };
  // Rounds of loops outside the user's code end too.
  let left = MAX_STATEMENTS;
  const count = (): void => {
    if (--left < 0) throw new Cut();
  };
  let fault: CodeFault | undefined;
  let isCut = false;
  try {
    interpret(program, {
      job: task.job,
      chunk: task.chunk,
      base: launchBase({ start: index, count: 1 }).base,
      count: 1,
      buffers: Object.fromEntries(task.buffers.map(({ name, bytes }) => [name, wholeWords(bytes)])),
      ring: new Uint8Array(4 * (headerWords + RING_RECORDS * recordWords)),
      observer: {
        before: (statement, read) => {
          count();
          if (statement.kind === 'when') add(statement, 'when', valueText(statement.condition, read));
          if (innerBlocks(statement).length > 0) depth++;
        },
        round: (statement, read) => {
          count();
          if ('index' in statement) add(statement, 'round', valueText(statement.index, read));
        },
        after: (statement, read) => {
          if (innerBlocks(statement).length > 0) depth--;
          if (statement.kind === 'emit') hits++;
          const value = statementValue(statement, program, read);
          if (value !== undefined) add(statement, nameOf(statement), value);
        },
      },
    });
  } catch (error) {
    if (error instanceof Cut) isCut = true;
    else fault = faultOf(error);
  }
  return { steps, isCut, hits, ...(fault && { fault }) };
}

class Cut extends Error {}

/** The most steps that a view has. */
const MAX_STEPS = 20_000;
const MAX_STATEMENTS = 2_000_000;
const RING_RECORDS = 64;

/** A copy that the item may change, of whole words. */
function wholeWords(bytes: Uint8Array): Uint8Array {
  const copy = new Uint8Array(Math.ceil(bytes.byteLength / 8) * 8);
  copy.set(bytes);
  return copy.subarray(0, Math.ceil(bytes.byteLength / 4) * 4);
}

const nameOf = (statement: Statement): string => (statement.kind === 'let' ? statement.node.op : statement.kind);
