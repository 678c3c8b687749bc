import type { Run } from './submit/slice.js';
import type { Interval } from './submit/status.js';

/** A stream. WebGPU has one queue, so streams take turns submitting to it. */
export class WebGpuLine {
  /** The stream's epoch, once it was cancelled. */
  epoch: number | undefined;
  /** Since the last mark. */
  interval: Interval | undefined;
  /** Progress of a command that was postponed: bytes of a transfer, slices of a launch. */
  done = 0;
  run: Run | undefined;
  /** Slices in the queue, and their expected time. */
  slices = 0;
  expectedMs = 0;
  /** The end of the last mark. */
  endedNs = 0n;
}
