import type { SlicedLaunch } from './submit/slice.js';
import type { MarkInterval } from './submit/status.js';

/** A stream. WebGPU has one queue, so streams take turns submitting to it. */
export class WebGpuLine {
  /** The stream's epoch, once it was cancelled. */
  epoch: number | undefined;
  /** Since the last mark. */
  interval: MarkInterval | undefined;
  /** Progress of a command that was postponed: bytes of a transfer, slices of a launch. */
  doneBytes = 0;
  slicedLaunch: SlicedLaunch | undefined;
  /** Slices in the queue. */
  slices = 0;
  /** The end of the last mark. */
  endedNs = 0n;
}
