import type { Run } from './submit/slice.js';
import type { Interval } from './submit/status.js';

/** A stream: WebGPU has one queue, so streams are orders of submission in it, which take turns. */
export class WebGpuLine {
  /** The stream's epoch, once it was cancelled. */
  epoch: number | undefined;
  /** Since the last mark. */
  interval: Interval | undefined;
  /** How far a command has got that was put off: bytes of a transfer, slices of a launch. */
  done = 0;
  run: Run | undefined;
  /** Slices in the queue, and what they should take. */
  slices = 0;
  expectedMs = 0;
  /** The end of the last mark. */
  endedNs = 0n;
}
