import type { Device, DeviceInfo } from '../device/device.js';
import type { ChunkRecord } from '../engine/index.js';
import type { Limit } from './limits.js';
import type { Candidate } from './measure.js';
import type { ScalableWork } from './scaling.js';

/**
 * One figure that a workload has on every device. A run compares its results with independently known ones and throws if
 * they differ, so no figure of wrong results is shown.
 */
export interface BenchCase {
  /** `SHA-256d of headers`. */
  readonly name: string;
  /** What the results are checked against: `the nonces of the genesis block`. */
  readonly checkedBy: string;
  /** Bytes of one unit. If given, the figure is also shown in bytes. */
  readonly unitBytes?: number;
  /** The limit that bounds it, and how much of the limit one unit takes. */
  readonly bound?: { readonly limit: Limit; readonly perUnit: number };
  /** True if it runs only with `--full`. */
  readonly isLong?: boolean;
  /** Returns why the device cannot run it. Undefined if it can. */
  unsupportedReason?(info: DeviceInfo): string | undefined;
  /** Prepares and checks what all runs share. A run takes about `seconds`. */
  open(device: Device, options: CaseOptions): Promise<OpenCase>;
}

export interface CaseOptions {
  readonly runs: number;
  /** About how long one run should take. */
  readonly seconds: number;
  /** Includes cases that take minutes. */
  readonly isFull: boolean;
}

export interface OpenCase extends Candidate {
  /** Returns the share of the last run in which the device had work, if an engine fed it. */
  fed?(): number | undefined;
  close(): void | Promise<void>;
}

/** A workload's cases, by its name on the command line. */
export interface WorkloadBench {
  readonly workload: string;
  readonly cases: readonly BenchCase[];
  /** Yields comparisons with installed programs that do the same work on the device, to run in alternation with ours. */
  peers?(device: Device, options: CaseOptions): AsyncIterable<PeerComparison>;
  /** Returns the chunk records of a job of some tenths of a second. */
  timeline?(device: Device): Promise<Iterable<Readonly<ChunkRecord>>>;
  /** Opens the same work in any size, as one job on all of the devices. `maxWork`: the largest size, if known. */
  sized?(devices: readonly Device[], maxWork?: number): Promise<ScalableWork>;
}

/** A comparison with other programs. Its resources are freed when the next one is requested. */
export interface PeerComparison {
  /** `SHA-256d, one thread each`. */
  readonly title: string;
  /** Ours first. */
  readonly candidates: readonly Candidate[];
  /** Programs that are not installed. */
  readonly absent: readonly string[];
}
