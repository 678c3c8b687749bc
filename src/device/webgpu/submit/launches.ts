import { foldGrid, type GridShape, LaunchHeader } from '../../../kernel/abi/grid.js';
import type { DriverLaunch } from '../../gpu/worker/driver.js';
import { type Buffer, type Device, Usage } from '../api.js';
import type { WebGpuLine } from '../line.js';
import type { BlockRing } from '../memory/blocks.js';
import type { Memory } from '../memory/memory.js';
import type { WebGpuProgram } from '../program.js';
import { SlicedLaunch, UNKNOWN_MS } from './slice.js';
import { MarkInterval, type StatusSlots } from './status.js';
import type { Timeline } from './timeline.js';

/**
 * Milliseconds of work that wait in the queue behind what runs: more than the host takes to submit the next slice, and
 * no more, since cancelling waits for them. A page's thread has other work.
 */
const AHEAD_MS = { thread: 2, page: 20 } as const;
const MAX_LINE_SLICES = 32;
/** Slices that take longer than this are submitted one by one, each with the reads and marks behind it. */
const BATCH_MAX_MS = 0.5;

type Launch = DriverLaunch<Memory, WebGpuProgram>;

/** Launches, split into slices. The host checks the stream's epoch between them: that is how cancelling works here. */
export class Launches {
  readonly #timeline: Timeline;
  readonly #blocks: BlockRing;
  readonly #slots: StatusSlots;
  /**
   * The binding `cancel`, always 0 like the epoch in our blocks: a dispatch does not see what the host writes while it
   * runs.
   */
  readonly #zeroBuffer: Buffer;
  readonly #groups: (shape: GridShape, count: number) => number;
  readonly #aheadMs: number;

  /** `groups` returns the workgroups of one dispatch over `count` items; each strides over the rest of its slice. */
  constructor(
    device: Device,
    timeline: Timeline,
    blocks: BlockRing,
    slots: StatusSlots,
    groups: (shape: GridShape, count: number) => number,
    host: keyof typeof AHEAD_MS,
  ) {
    this.#timeline = timeline;
    this.#blocks = blocks;
    this.#slots = slots;
    this.#zeroBuffer = device.createBuffer({ size: 16, usage: Usage.uniform });
    this.#groups = groups;
    this.#aheadMs = AHEAD_MS[host];
  }

  /** False if the rest has to wait; `line.slicedLaunch` holds the progress. */
  launch(line: WebGpuLine, launch: Launch): boolean {
    const { program, count, countFrom, epoch } = launch;
    line.interval ??= new MarkInterval(this.#slots);
    line.slicedLaunch ??= new SlicedLaunch(
      Math.ceil(count / program.shape.itemsPerGroup),
      program.pace,
      countFrom !== undefined,
    );
    while (!line.slicedLaunch.isDone) {
      if (line.epoch !== undefined && ((epoch - line.epoch) | 0) < 0) {
        line.interval.isCut = true;
        break;
      }
      if (!this.#submitSlice(line, line.slicedLaunch, line.interval, launch)) return false;
    }
    line.slicedLaunch = undefined;
    return true;
  }

  #submitSlice(
    line: WebGpuLine,
    run: SlicedLaunch,
    interval: MarkInterval,
    { program, count, countFrom, buffers, block }: Launch,
  ): boolean {
    const next = run.next();
    if (!next || !this.#maySubmit(line)) return false;
    const { shape, pipeline } = program;
    const first = next.first * shape.itemsPerGroup;
    const last = Math.min(first + next.groups * shape.itemsPerGroup, count) - 1;
    block[LaunchHeader.first] = first;
    block[LaunchHeader.last] = last;
    block[LaunchHeader.epoch] = 0;
    block[LaunchHeader.isCounted] = countFrom ? 1 : 0;
    if (this.#timeline.recordedMs > BATCH_MAX_MS) this.#timeline.flush();
    interval.stampStart(() => this.#timeline.recording(1));
    const recording = this.#timeline.recording(2);
    const placed = this.#blocks.put(block, recording);
    if (!placed) return false;
    const { buffer, offset } = placed;
    const status = interval.slot(program, recording);
    if (countFrom) {
      const at = offset + LaunchHeader.count * 4;
      recording.encoder.copyBufferToBuffer(countFrom.memory.buffer, countFrom.offset, buffer, at, 4);
    }
    line.slices++;
    recording.expectedMs += next.expectedMs ?? 0;
    recording.assumedMs += next.expectedMs ?? UNKNOWN_MS;
    recording.onEnd(() => {
      line.slices--;
    });
    const ownLaunch = buffer !== this.#blocks.ring;
    const bound = { launch: buffer, ownLaunch, cancel: this.#zeroBuffer, status: this.#slots.buffer, buffers };
    const pass = recording.timedPass(run.submitted(next.groups));
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, program.bindGroup(bound), [offset, status]);
    pass.dispatchWorkgroups(...foldGrid(this.#groups(shape, last - first + 1)));
    pass.end();
    return true;
  }

  /** True if this stream may put more into the queue. Its first slice is always allowed, so streams take turns. */
  #maySubmit(line: WebGpuLine): boolean {
    if (!this.#timeline.hasSpace) return false;
    return line.slices === 0 || (line.slices < MAX_LINE_SLICES && this.#timeline.waitingMs < this.#aheadMs);
  }
}
