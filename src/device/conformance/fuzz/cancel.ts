import type { Kernel, Type } from '../../../kernel/index.js';
import type { Statement } from '../../../kernel/ir/program.js';
import { floatingProgram } from '../../../kernel/passes/floating.js';
import { makeGang } from '../../../kernel/passes/shape/gang.js';
import { placeNodes } from '../../../kernel/passes/shape/place-nodes.js';
import type { Device, DeviceProgram } from '../../device.js';
import { type Data, elementOf, type LaunchOutcome } from '../rig.js';
import { runsGangs } from '../streams/behaviour.js';
import { runGangWatched } from './gang-machine.js';
import { SHARED_ATOMICS } from './recipe.js';
import { AMPLE_RECORDS, copyBuffers, type Inputs, type Output, recordsIn } from './trial.js';

/** True if a long loop of the device's kernels sees `cancel()`. */
export const supportsCancel = ({ info }: Device): boolean => info.kind !== 'webgpu' && info.kind !== 'interpreter';

/** The inputs of the launch that is cancelled: its items never get past a `hold`, and the ring is large. */
export const endlessInputs = (inputs: Inputs): Inputs => ({
  ...inputs,
  job: { ...inputs.job, hold: 1 },
  capacity: AMPLE_RECORDS,
});

/**
 * The first item that a cancelled launch left in a state that it cannot have; undefined if there is none. An item is as it
 * was before the launch, as it is at the start of a round of a long loop, or complete. Lanes of a gang leave together.
 */
export function cancelDifference(
  kernel: Kernel,
  { device, lanes: width }: Pick<DeviceProgram, 'device' | 'lanes'>,
  inputs: Inputs,
  actual: LaunchOutcome,
): string | undefined {
  if ((actual.ring[0] ?? 0) > AMPLE_RECORDS) return undefined; // some hits were dropped
  const program = placeNodes(floatingProgram(kernel.trace()));
  const lanes = runsGangs(device) ? width : 1;
  const items = Array.from({ length: inputs.count }, (_, item) => item);
  const untouched: Output = { buffers: copyBuffers(inputs, program.buffers), ring: new Uint32Array(1) };
  const allowed = statesOf(inputs, untouched, items).map((state) => new Set([state]));
  const ended = items.map(() => 'held');
  runGangWatched(makeGang(program, lanes), inputs, (now, first, loop) => {
    const here = items.slice(first, first + lanes);
    for (const [lane, state] of statesOf(inputs, now, here).entries()) {
      allowed[first + lane]?.add(state);
      if (!loop) ended[first + lane] = state;
    }
    return loop !== undefined && isHold(loop);
  });
  for (const [item, state] of statesOf(inputs, actual, items).entries()) {
    const accepted = actual.report.complete ? [ended[item]] : [...(allowed[item] ?? [])];
    if (accepted.includes(state)) continue;
    const how = actual.report.complete ? 'complete' : 'incomplete';
    return `cancelled, ${how}: item ${item} is (${state}), not ${accepted.map((one) => `(${one})`).join(' or ')}`;
  }
  return undefined;
}

/** Other loops count their rounds, unless they have none. */
const isHold = (loop: Statement): boolean =>
  loop.kind === 'while' && loop.body.length === 0 && loop.condition.op !== 'const';

/** Returns the state of each item as text: its elements, its words of the tally, its hits. */
function statesOf({ types }: Inputs, { buffers, ring }: Output, items: readonly number[]): string[] {
  const part = (type: Type, data: Data, from: number, count: number): string[] =>
    Array.from({ length: count }, (_, i) => {
      const value = elementOf(type, data, from + i);
      return Object.is(value, -0) ? '-0' : String(value);
    });
  const hits = recordsIn(ring, types, ring[0] ?? 0);
  return items.map((item) => {
    const elements = Object.entries(buffers).flatMap(([name, data]) => {
      const type = name.split('-')[1] as Type;
      if (name.startsWith('own-')) return part(type, data, 4 * item, 4);
      return name.startsWith('tally-') ? part(type, data, SHARED_ATOMICS.length + 2 * item, 2) : [];
    });
    return [...elements, ...hits.filter((hit) => hit.startsWith(`item ${item},`)).sort()].join(' ');
  });
}
