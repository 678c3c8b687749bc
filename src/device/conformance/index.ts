import type { Device } from '../device.js';
import { arithmetic } from './arithmetic.js';
import { atomics } from './atomics.js';
import { bounds } from './bounds.js';
import { type Case, type CaseResult, inParallel, runCase, type Totals } from './case.js';
import { cellCases } from './cells.js';
import { control } from './control.js';
import { foundCases } from './found.js';
import { type FuzzOptions, type FuzzTotals, fuzzDevice } from './fuzz/run.js';
import { hashing } from './hashing.js';
import { hits } from './hits.js';
import { hostCases } from './host.js';
import { memory } from './memory.js';
import { nameCases } from './names.js';
import { ranges } from './ranges.js';
import { streams } from './streams.js';
import { tables } from './tables.js';
import { tileCases } from './tiles.js';

export { type Case, type CaseResult, runCase, Skip, type Totals } from './case.js';

/** Everything that a device must do, by name. A new device gets all of it. */
export const conformanceCases: readonly Case[] = [
  ...arithmetic,
  ...control,
  ...cellCases,
  ...memory,
  ...tables,
  ...atomics,
  ...hits,
  ...ranges,
  ...bounds,
  ...tileCases,
  ...hashing,
  ...foundCases,
  ...nameCases,
  ...streams,
  ...hostCases,
];

export interface ConformanceOptions {
  /** Only cases whose name holds this text. */
  readonly filter?: string;
  readonly onResult?: (result: CaseResult) => void;
}

/** Compilers are the slow part, and there are at least two cores: so many cases are under way at a time. */
const AT_ONCE = 2;

/** Runs the suite on one device. Ends early, with its error, only where `onResult` throws. */
export async function runConformance(device: Device, options: ConformanceOptions = {}): Promise<Totals> {
  const { filter, onResult } = options;
  const wanted = conformanceCases.filter((one) => filter === undefined || one.name.includes(filter));
  const totals = { passed: 0, failed: 0, skipped: 0 };
  const one = async (wantedCase: Case): Promise<void> => {
    const result = await runCase(wantedCase, device);
    totals[result.status]++;
    onResult?.(result);
  };
  let at = 0;
  await inParallel(AT_ONCE, () => {
    const next = wanted[at++];
    return next && one(next);
  });
  return totals;
}

/** Random kernels on the device against the interpreter, for so many seconds or kernels. */
export function runFuzz(device: Device, options: FuzzOptions): Promise<FuzzTotals> {
  return fuzzDevice(device, options);
}
