import { MillraceError } from '../../kernel/error.js';
import { fieldValues, interpret } from '../../kernel/index.js';
import type { StreamCommands } from '../checks/checked-stream.js';
import type { CheckedLaunch } from '../checks/launch.js';
import { MarkCompletion } from '../completion.js';
import type { FieldValues } from '../device.js';
import type { InterpreterBuffer } from './buffer.js';
import type { InterpreterDevice } from './device.js';
import type { InterpreterJob } from './program.js';
import { InterpreterQueue, type QueuedCommand } from './schedule.js';

/** Queues the commands of a stream as closures over the memory they access. */
export class InterpreterStream implements StreamCommands<InterpreterBuffer, InterpreterJob, MarkCompletion> {
  readonly #device: InterpreterDevice;
  readonly #queue = new InterpreterQueue();
  #epoch = 0;

  constructor(device: InterpreterDevice) {
    this.#device = device;
    device.scheduler.queues.add(this.#queue);
  }

  write({ memory }: InterpreterBuffer, offset: number, data: ArrayBufferView): void {
    this.#pushOnce(() => memory.set(bytesOf(data), offset));
  }

  read({ memory }: InterpreterBuffer, offset: number, into: ArrayBufferView): void {
    this.#pushOnce(() => bytesOf(into).set(memory.subarray(offset, offset + into.byteLength)));
  }

  copy(from: InterpreterBuffer, fromOffset: number, to: InterpreterBuffer, toOffset: number, bytes: number): void {
    const { memory: read } = from;
    const { memory: written } = to;
    this.#pushOnce(() => written.set(read.subarray(fromOffset, fromOffset + bytes), toOffset));
  }

  fill({ memory }: InterpreterBuffer, offset: number, word: number, bytes: number): void {
    this.#pushOnce(() => new Uint32Array(memory.buffer, offset, bytes / 4).fill(word));
  }

  launch(job: InterpreterJob, chunk: FieldValues, launch: CheckedLaunch<InterpreterBuffer>): void {
    const { base, count, countFrom, buffers, ring, onPrint } = launch;
    const { program, name, bindings, limits } = job.program;
    fieldValues(name, 'chunk', job.program.chunk, chunk);
    const run = {
      job: job.values,
      chunk,
      base,
      buffers: Object.fromEntries(
        bindings.map((binding, slot) => [binding.name, buffers[slot]?.memory ?? new Uint8Array(0)]),
      ),
      ...(ring && { ring: ring.memory }),
      ...(limits && { itemSteps: limits.itemSteps }),
      ...(onPrint && { onPrint }),
    };
    const counter = countFrom && new Uint32Array(countFrom.buffer.memory.buffer, countFrom.word * 4, 1);
    const epoch = this.#epoch;
    let total: number | undefined;
    let done = 0;
    this.#push({
      kind: 'work',
      run: (until) => {
        total ??= counter ? Math.min(count, counter[0] ?? 0) : count;
        const from = done;
        const cancelled = (): boolean => {
          // Called before each item: the first always runs, so that a slow kernel makes progress.
          if (this.#epoch !== epoch || (done > from && performance.now() >= until)) return true;
          done++;
          return false;
        };
        withKernel(name, () => interpret(program, { ...run, first: from, count: (total ?? 0) - from, cancelled }));
        return done === total || this.#epoch !== epoch;
      },
      incomplete: () => done !== total,
    });
  }

  wait(completion: MarkCompletion): void {
    this.#push({ kind: 'wait', completion });
  }

  mark(waited: readonly MarkCompletion[]): MarkCompletion {
    const completion = new MarkCompletion(this.#device, waited);
    this.#push({ kind: 'mark', completion });
    return completion;
  }

  cancel(): void {
    this.#epoch++;
  }

  close(): void {
    this.#queue.isClosed = true; // queued commands still run
    this.#device.scheduler.start();
  }

  #pushOnce(action: () => void): void {
    this.#push({
      kind: 'work',
      run: () => {
        action();
        return true;
      },
    });
  }

  #push(step: QueuedCommand): void {
    this.#queue.commands.push(step);
    this.#device.scheduler.start();
  }
}

const bytesOf = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Adds the kernel's name to the interpreter's errors, which only say where. */
function withKernel(name: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof MillraceError) || error.message.startsWith(`kernel ${name}`)) throw error;
    const { code, asked, advice } = error;
    const message = `kernel ${name}: ${error.summary}`;
    throw new MillraceError({ code, message, ...(asked && { asked }), ...(advice && { advice }), cause: error });
  }
}
