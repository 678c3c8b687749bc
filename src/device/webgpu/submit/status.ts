import { STATUS_WORDS, Status } from '../../../kernel/abi/grid.js';
import { MillraceError } from '../../../kernel/error.js';
import { type Trapped, trapIn } from '../../gpu/native/status.js';
import type { MarkResult } from '../../gpu/worker/driver.js';
import { type Buffer, type Device, OFFSET_GRAIN, Usage } from '../api.js';
import type { WebGpuProgram } from '../program.js';
import type { Submission } from './submission.js';

const SLOTS = 1024;

/** Status words on the device: a slot for each program launched before a mark. */
export class StatusSlots {
  readonly buffer: Buffer;
  readonly #free = Array.from({ length: SLOTS }, (_, i) => i * OFFSET_GRAIN);

  constructor(device: Device) {
    const usage = Usage.storage | Usage.copySource | Usage.copyTarget;
    this.buffer = device.createBuffer({ size: SLOTS * OFFSET_GRAIN, usage });
  }

  take(): number | undefined {
    return this.#free.pop();
  }
  give(offset: number): void {
    this.#free.push(offset);
  }
}

/** The state between two marks of a line. */
export class Interval {
  /** True if a launch was cut short by a cancel. */
  isCut = false;
  result: MarkResult | undefined;
  startedNs = 0n;
  #trap: Trapped | undefined;
  #stopped = false;
  readonly #slots: StatusSlots;
  readonly #taken = new Map<WebGpuProgram, number>();

  constructor(slots: StatusSlots) {
    this.#slots = slots;
  }

  /** Returns the offset of the program's status words; its first launch zeroes them. */
  slot(program: WebGpuProgram, submission: Submission): number {
    const known = this.#taken.get(program);
    if (known !== undefined) return known;
    const offset = this.#slots.take();
    if (offset === undefined) throw tooMany();
    this.#taken.set(program, offset);
    submission.encoder.clearBuffer(this.#slots.buffer, offset, STATUS_WORDS * 4);
    return offset;
  }

  /** Reads all status words at the end of the interval; `recording` returns a submission with space for `bytes` bytes. */
  read(recording: (bytes: number) => Submission): void {
    for (const [program, offset] of this.#taken) {
      recording(STATUS_WORDS * 4).keep(this.#slots.buffer, offset, STATUS_WORDS, (words) => {
        this.#note(program, words);
        this.#slots.give(offset);
      });
    }
  }

  /** Called when everything has been read. */
  pass(startedNs: bigint, endedNs: bigint): void {
    this.result = this.#trap ?? { kind: 'passed', startedNs, endedNs, complete: !this.isCut && !this.#stopped };
  }

  #note({ number }: WebGpuProgram, words: Uint32Array): void {
    this.#stopped ||= words[Status.incomplete] !== 0;
    this.#trap ??= trapIn(number, words);
  }
}

function tooMany(): MillraceError {
  return new MillraceError({
    code: 'launch-range',
    message: `more than ${SLOTS} programs are launched between marks`,
    asked: 'a launch',
    advice: 'mark streams more often',
  });
}
