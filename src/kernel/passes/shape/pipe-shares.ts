import { type OperationClass, rowOf } from '../../ir/ops.js';
import { type HoistedProgram, type Node, ValueStage } from '../../ir/program.js';
import { isFloat, wordsOf } from '../../language/types.js';
import { movableAdditions, type PipeShares } from '../arithmetic/balance-pipes.js';
import { hoistRotations } from '../arithmetic/hoist-rotations.js';

/**
 * Returns how much of a program to move to the multiply-add pipe of an NVIDIA processor: as much as leaves that pipe the
 * less busy of the two. SHA-256d is two thirds rotations and logic: everything movable moves. A Fermat test consists of
 * products: nothing moves. Loops count once.
 */
export function estimatePipeShares(program: HoistedProgram): PipeShares {
  const { nodes, additions } = movableAdditions(hoistRotations(program));
  const varying = nodes.filter((node) => node.stage === ValueStage.varying);
  const load = (work: (node: Node) => number) => varying.reduce((sum, node) => sum + work(node), 0);
  const integerExcess = load(integerWork) - load(productWork);
  // A moved addition takes 0.5 from the integer pipe (three operands of a sum are one instruction) and adds 1 to the other.
  const all = additions.length * 1.5;
  return { additions: all === 0 ? 0 : Math.max(0, Math.min(1, integerExcess / all)), turns: true };
}

const oneInstructionClasses: readonly OperationClass[] = ['rotations', 'shifts', 'comparisons', 'selects'];

/**
 * Returns the instructions on the integer pipe. Up to three operands of a sum or of bit logic are one instruction. A
 * negation is 0 - x.
 */
function integerWork({ op, type, args }: Node): number {
  const operandType = args[0]?.type ?? type;
  const kind = rowOf(op)?.class;
  if (isFloat(operandType) || kind === undefined) return 0;
  if (oneInstructionClasses.includes(kind) || op === 'byteSwap') return wordsOf(operandType);
  if (kind !== 'additions' && kind !== 'logic') return 0;
  return (op === 'neg' ? 0.5 : (args.length - 1) / 2) * wordsOf(operandType);
}

/**
 * Returns the clocks on the multiply-add pipe, which also computes with f32. A product of two-word values needs four
 * products; the upper half of a product takes twice the time.
 */
function productWork({ op, type }: Node): number {
  if (type === 'f32') return 1;
  if (type !== 'u32' && type !== 'i32' && type !== 'u64') return 0;
  const wide = op === 'mulHi' || op === 'wmadHi';
  if (!wide && op !== 'mul') return 0;
  return (wide ? 2 : 1) * wordsOf(type) ** 2;
}
