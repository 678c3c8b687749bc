import type { Device, DeviceInfo } from '../device/device.js';
import type { ChunkRecord } from '../engine/index.js';
import type { Limit } from './limits.js';
import type { Candidate } from './measure.js';
import type { ScalableWork } from './scaling.js';

/**
 * One figure that a workload has on every device. Its results are checked against what is known from elsewhere: a run
 * throws where they differ, so a figure that is shown counts.
 */
export interface BenchCase {
  /** `SHA-256d of headers`. */
  readonly name: string;
  /** How it is known that the results are right: `the nonces of the genesis block`. */
  readonly checkedBy: string;
  /** Bytes of one unit, where they are what matters: the figure is then also told in bytes. */
  readonly unitBytes?: number;
  /** What bounds it, and how much of that one unit takes. */
  readonly bound?: { readonly limit: Limit; readonly perUnit: number };
  /** Only where everything is asked for. */
  readonly isLong?: boolean;
  /** Why it cannot be had on such a device. */
  unsupportedReason?(info: DeviceInfo): string | undefined;
  /** Makes what can be made once, and checks it. About `seconds` for a run. */
  open(device: Device, wanted: CaseOptions): Promise<OpenCase>;
}

export interface CaseOptions {
  readonly runs: number;
  /** About how long one run should take. */
  readonly seconds: number;
  /** Also what takes minutes. */
  readonly isFull: boolean;
}

export interface OpenCase extends Candidate {
  /** The share of the time that the device had work, of the last run, where an engine feeds it. */
  fed?(): number | undefined;
  close(): void | Promise<void>;
}

/** A workload's cases, by its name on the command line. */
export interface WorkloadBench {
  readonly workload: string;
  readonly cases: readonly BenchCase[];
  /** Others who do the same work on such a device, those that are installed, to be run in turn with ours. */
  peers?(device: Device, wanted: CaseOptions): AsyncIterable<PeerComparison>;
  /** The records of a job's chunks, of some tenths of a second. */
  timeline?(device: Device): Promise<Iterable<Readonly<ChunkRecord>>>;
  /** The same work in any size, as one job over all of the devices. `most` where it is known. */
  sized?(devices: readonly Device[], maxWork?: number): Promise<ScalableWork>;
}

/** What it holds is given back when the next one is asked for. */
export interface PeerComparison {
  /** `SHA-256d, one thread each`. */
  readonly title: string;
  /** Ours first. */
  readonly candidates: readonly Candidate[];
  /** Who could be there and is not. */
  readonly absent: readonly string[];
}
