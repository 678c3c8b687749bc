import type { Device } from '../device.js';
import { type Case, type CaseResult, inParallel, runCase, type Totals } from './case.js';
import { cellCases } from './control/cells.js';
import { control } from './control/control.js';
import { functionCases } from './control/functions.js';
import { nameCases } from './control/names.js';
import { ranges } from './control/ranges.js';
import { type FuzzOptions, type FuzzTotals, fuzzDevice } from './fuzz/run.js';
import { arrayCases } from './memory/arrays.js';
import { atomics } from './memory/atomics.js';
import { bounds } from './memory/bounds.js';
import { hits } from './memory/hits.js';
import { memory } from './memory/memory.js';
import { tileCases } from './memory/tiles.js';
import { hostCases } from './streams/host.js';
import { streams } from './streams/streams.js';
import { arithmetic } from './values/arithmetic.js';
import { digestCases } from './values/digests.js';
import { hashing } from './values/hashing.js';
import { regressionCases } from './values/regressions.js';
import { tables } from './values/tables.js';

export { type Case, type CaseResult, runCase, Skip, type Totals } from './case.js';

/** All conformance cases, by name. A new device runs all of them. */
export const conformanceCases: readonly Case[] = [
  ...arithmetic,
  ...control,
  ...cellCases,
  ...functionCases,
  ...memory,
  ...tables,
  ...arrayCases,
  ...atomics,
  ...hits,
  ...ranges,
  ...bounds,
  ...tileCases,
  ...hashing,
  ...digestCases,
  ...regressionCases,
  ...nameCases,
  ...streams,
  ...hostCases,
];

export interface ConformanceOptions {
  /** Only cases whose name contains this text. */
  readonly filter?: string;
  readonly onResult?: (result: CaseResult) => void;
}

/**
 * How many cases run at a time. Compilers are the slow part, and there are at least two cores. On a GPU one: NVIDIA's drivers
 * block the thread that loads a program while a kernel runs, and that thread is the one that would cancel the kernel.
 */
const parallelCases = ({ info }: Device): number => (info.processor === 'gpu' ? 1 : 2);

/** Runs the suite on one device. Throws only if `onResult` throws. */
export async function runConformance(device: Device, options: ConformanceOptions = {}): Promise<Totals> {
  const { filter, onResult } = options;
  const selected = conformanceCases.filter((one) => filter === undefined || one.name.includes(filter));
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const runOne = async (testCase: Case): Promise<void> => {
    const result = await runCase(testCase, device);
    totals[result.status]++;
    onResult?.(result);
  };
  let at = 0;
  await inParallel(parallelCases(device), () => {
    const next = selected[at++];
    return next && runOne(next);
  });
  return totals;
}

/** Compares random kernels on the device with the interpreter, for a number of seconds or kernels. */
export function runFuzz(device: Device, options: FuzzOptions): Promise<FuzzTotals> {
  return fuzzDevice(device, options);
}
