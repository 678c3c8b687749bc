import {
  checkProgram,
  type HoistedProgram,
  type Kernel,
  lower,
  MillraceError,
  type Program,
  plainCpu,
} from '../../../kernel/index.js';
import { balancePipes } from '../../../kernel/passes/arithmetic/balance-pipes.js';
import { splitU64 } from '../../../kernel/passes/arithmetic/split-u64.js';
import { floatingProgram } from '../../../kernel/passes/floating.js';
import { boundArrays } from '../../../kernel/passes/shape/bound-arrays.js';
import { makeGang } from '../../../kernel/passes/shape/gang.js';
import { placeNodes } from '../../../kernel/passes/shape/place-nodes.js';
import { mergeTernaryLogic } from '../../../kernel/passes/shape/ternary.js';
import { runGang } from './gang-machine.js';
import { AMPLE_RECORDS, difference, type Inputs, interpretInputs, type Output } from './trial.js';

/** Sequences of passes. The result of each must behave like the trace. */
const passSequences: Readonly<Record<string, (program: Program) => HoistedProgram>> = {
  'fold, hoist, place': (program) => placeNodes(floatingProgram(program)),
  'fold, place, hoisting off': (program) => placeNodes(floatingProgram(program, false)),
  'three-input logic': (program) => placeNodes(mergeTernaryLogic(floatingProgram(program))),
  'half of the additions as multiply-add': (program) => placeNodes(balancePipes(floatingProgram(program), 0.5)),
  'two words for u64': (program) => placeNodes(splitU64(floatingProgram(program))),
  'two words for u64, hoisting off, three-input logic': (program) =>
    placeNodes(mergeTernaryLogic(splitU64(floatingProgram(program, false)))),
  'functions kept': (program) => placeNodes(boundArrays(balancePipes(floatingProgram(program, true, true), 0.5))),
  'functions kept, two words for u64': (program) => placeNodes(splitU64(floatingProgram(program, true, true))),
};

export const passSequenceNames: readonly string[] = Object.keys(passSequences);

/** Compares sequences of passes with the trace, both interpreted. Needs no compiler. */
export function passesDifference(
  kernel: Kernel,
  names: readonly string[],
  inputs: readonly Inputs[],
  expected: readonly Output[],
): string | undefined {
  const traced = kernel.trace();
  for (const name of names) {
    const through = passSequences[name] as (program: Program) => HoistedProgram;
    try {
      const program = through(traced);
      checkProgram(program);
      for (const [i, one] of inputs.entries()) {
        const actual = interpretInputs(program, one);
        const found = difference({ ...one, capacity: AMPLE_RECORDS }, expected[i] as Output, actual);
        if (found) return `${name}: launch ${i}: ${found}`;
      }
    } catch (error) {
      // Atomics of u64 cannot be split into words.
      if (error instanceof MillraceError && error.code === 'device-capability') continue;
      return `${name}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return gangDifference(traced, inputs, expected) ?? printFailure(kernel);
}

/** Compares gangs, whose lanes run under masks, with the trace. */
function gangDifference(traced: Program, inputs: readonly Inputs[], expected: readonly Output[]): string | undefined {
  for (const hoisting of [true, false]) {
    try {
      const ganged = makeGang(placeNodes(floatingProgram(traced, hoisting)), 4);
      for (const [i, one] of inputs.entries()) {
        const found = difference({ ...one, capacity: AMPLE_RECORDS }, expected[i] as Output, runGang(ganged, one));
        if (found) return `a gang of 4, hoisting ${hoisting ? 'on' : 'off'}: launch ${i}: ${found}`;
      }
    } catch (error) {
      return `a gang of 4, hoisting ${hoisting ? 'on' : 'off'}: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return undefined;
}

/** Prints the kernel. The text is not run here, but printing must not fail. */
function printFailure(kernel: Kernel): string | undefined {
  for (const lanes of [1, 4]) {
    try {
      lower(kernel, { target: 'c', lanes, hoist: true, checked: lanes === 4, cpu: plainCpu, nativeBodies: false });
    } catch (error) {
      return `printing for ${lanes} lanes: ${error instanceof Error ? error.message : String(error)}`;
    }
  }
  return undefined;
}
