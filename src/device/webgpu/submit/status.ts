import { LaunchStatus, STATUS_WORDS } from '../../../kernel/abi/grid.js';
import { MillraceError } from '../../../kernel/error.js';
import { type TrapResult, trapIn } from '../../gpu/native/status.js';
import type { MarkResult } from '../../gpu/worker/driver.js';
import { type Buffer, type Device, OFFSET_GRAIN, Usage } from '../api.js';
import type { WebGpuProgram } from '../program.js';
import type { Submission } from './submission.js';

const SLOTS = 1024;

/** Status words on the device: a slot for each program launched before a mark. Free ones are zero, or will be. */
export class StatusSlots {
  readonly buffer: Buffer;
  readonly #free = Array.from({ length: SLOTS }, (_, i) => i * OFFSET_GRAIN);
  readonly #dirty = new Set<number>();

  constructor(device: Device) {
    const usage = Usage.storage | Usage.copySource | Usage.copyTarget;
    this.buffer = device.createBuffer({ size: SLOTS * OFFSET_GRAIN, usage });
  }

  /** Returns the offset of zeroed words. */
  acquire(submission: Submission): number {
    const offset = this.#free.pop();
    if (offset === undefined) throw tooManyPrograms();
    if (this.#dirty.delete(offset)) submission.encoder.clearBuffer(this.buffer, offset, STATUS_WORDS * 4);
    return offset;
  }

  /** `words`: what the launches left there. Almost always zero, so they are not cleared each time. */
  release(offset: number, words: Uint32Array): void {
    this.#free.push(offset);
    if (words.some((word) => word !== 0)) this.#dirty.add(offset);
  }
}

/** The state between two marks of a line. */
export class MarkInterval {
  /** True if a launch was cut short by a cancel. */
  isCut = false;
  result: MarkResult | undefined;
  startedNs = 0n;
  #isStamped = false;
  #trap: TrapResult | undefined;
  #isIncomplete = false;
  readonly #slots: StatusSlots;
  readonly #slotOf = new Map<WebGpuProgram, number>();

  constructor(slots: StatusSlots) {
    this.#slots = slots;
  }

  /** Called before each command that takes time: the first is the start. `recording` returns a submission with space. */
  stampStart(recording: () => Submission): void {
    if (this.#isStamped) return;
    this.#isStamped = true;
    recording().stamp('start', (ns) => {
      this.startedNs = ns;
    });
  }

  /** Returns the offset of the program's status words. */
  slot(program: WebGpuProgram, submission: Submission): number {
    const known = this.#slotOf.get(program);
    if (known !== undefined) return known;
    const offset = this.#slots.acquire(submission);
    this.#slotOf.set(program, offset);
    return offset;
  }

  /** Reads all status words at the end of the interval; `recording` returns a submission with space for `bytes` bytes. */
  read(recording: (bytes: number) => Submission): void {
    for (const [program, offset] of this.#slotOf) {
      recording(STATUS_WORDS * 4).readWords(this.#slots.buffer, offset, STATUS_WORDS, (words) => {
        this.#note(program, words);
        this.#slots.release(offset, words);
      });
    }
  }

  /** Called when everything has been read. */
  finish(startedNs: bigint, endedNs: bigint): void {
    this.result = this.#trap ?? { kind: 'passed', startedNs, endedNs, complete: !this.isCut && !this.#isIncomplete };
  }

  #note({ number }: WebGpuProgram, words: Uint32Array): void {
    this.#isIncomplete ||= words[LaunchStatus.incomplete] !== 0;
    this.#trap ??= trapIn(number, words);
  }
}

function tooManyPrograms(): MillraceError {
  return new MillraceError({
    code: 'launch-range',
    message: `more than ${SLOTS} programs were launched without a mark`,
    asked: 'a launch',
    advice: 'call mark() more often',
  });
}
