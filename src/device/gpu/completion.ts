import { MarkCompletion } from '../completion.js';

/** A mark on a stream of a GPU device. */
export class GpuCompletion extends MarkCompletion {
  /** Which mark of which line: what another stream waits for. */
  readonly line: number;
  readonly number: number;

  constructor(device: object, line: number, number: number, waited: readonly GpuCompletion[]) {
    super(device, waited);
    this.line = line;
    this.number = number;
  }
}
