import { MillraceError } from '../../kernel/error.js';
import { interpret, valuesOf } from '../../kernel/index.js';
import type { Completion, DeviceBuffer, Launch, Stream } from '../device.js';
import {
  checkCopy,
  checkLaunch,
  checkRange,
  checkStreamOpen,
  checkWord,
  heldBuffer,
  ownCompletion,
} from '../launch.js';
import type { InterpreterBuffer } from './buffer.js';
import { InterpreterCompletion } from './completion.js';
import type { InterpreterDevice } from './device.js';
import { InterpreterJob } from './program.js';
import { Line, type Step } from './schedule.js';

/** Checks commands and queues them as closures over the memory they touch. */
export class InterpreterStream implements Stream {
  readonly #device: InterpreterDevice;
  readonly #line = new Line();
  #waited: InterpreterCompletion[] = [];
  #epoch = 0;
  #closed = false;

  constructor(device: InterpreterDevice) {
    this.#device = device;
    device.schedule.lines.add(this.#line);
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const target = this.#buffer(buffer, 'write');
    checkRange('write', target, offset, data.byteLength, false);
    const { memory } = target;
    this.#once(() => memory.set(bytesOf(data), offset));
  }

  read(buffer: DeviceBuffer, into: ArrayBufferView, offset = 0): void {
    const source = this.#buffer(buffer, 'read');
    checkRange('read', source, offset, into.byteLength, false);
    const { memory } = source;
    this.#once(() => bytesOf(into).set(memory.subarray(offset, offset + into.byteLength)));
  }

  copy(from: DeviceBuffer, to: DeviceBuffer, bytes: number, fromOffset = 0, toOffset = 0): void {
    const source = this.#buffer(from, 'copy (source)');
    const target = this.#buffer(to, 'copy (target)');
    checkCopy(source, target, bytes, fromOffset, toOffset);
    const { memory: read } = source;
    const { memory: written } = target;
    this.#once(() => written.set(read.subarray(fromOffset, fromOffset + bytes), toOffset));
  }

  fill(buffer: DeviceBuffer, word: number, offset = 0, length?: number): void {
    const target = this.#buffer(buffer, 'fill');
    const bytes = length ?? target.bytes - offset;
    checkRange('fill', target, offset, bytes, true);
    const value = checkWord(word);
    const { memory } = target;
    this.#once(() => new Uint32Array(memory.buffer, offset, bytes / 4).fill(value));
  }

  launch(launch: Launch): void {
    this.#open();
    const { base, count, countFrom, buffers, ring } = checkLaunch<InterpreterBuffer>(this.#device, launch);
    const { job, chunk = {} } = launch;
    if (!(job instanceof InterpreterJob)) throw new TypeError('a job of this device comes from bind() of its program');
    const { program, name, bindings } = job.program;
    valuesOf(name, 'chunk', job.program.chunk, chunk);
    const run = {
      job: job.values,
      chunk,
      base,
      buffers: Object.fromEntries(
        bindings.map((binding, slot) => [binding.name, buffers[slot]?.memory ?? new Uint8Array(0)]),
      ),
      ...(ring && { ring: ring.memory }),
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
          // Asked before each item: the first always runs, so that a slow kernel gets on.
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

  wait(completion: Completion): void {
    this.#open();
    const own = ownCompletion<InterpreterCompletion>(this.#device, completion);
    this.#waited.push(own);
    this.#push({ kind: 'wait', completion: own });
  }

  mark(): Completion {
    this.#open();
    const completion = new InterpreterCompletion(this.#device, this.#waited);
    this.#waited = [];
    this.#push({ kind: 'mark', completion });
    return completion;
  }

  cancel(): void {
    this.#open();
    this.#epoch++;
  }

  close(): void {
    this.#closed = true;
    this.#line.closed = true; // what is queued still runs
    this.#device.schedule.kick();
  }

  #once(action: () => void): void {
    this.#push({
      kind: 'work',
      run: () => {
        action();
        return true;
      },
    });
  }

  #push(step: Step): void {
    this.#line.steps.push(step);
    this.#device.schedule.kick();
  }

  #buffer(buffer: DeviceBuffer, role: string): InterpreterBuffer {
    this.#open();
    return heldBuffer<InterpreterBuffer>(this.#device, buffer, role);
  }

  #open(): void {
    this.#device.checkOpen();
    checkStreamOpen(this.#closed);
  }
}

const bytesOf = (view: ArrayBufferView): Uint8Array => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Errors of the interpreter say where; this adds which kernel. */
function withKernel(name: string, action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof MillraceError) || error.message.startsWith(`kernel ${name}`)) throw error;
    const { code, asked, advice } = error;
    const message = `kernel ${name}: ${error.message.split('\n')[0]}`;
    throw new MillraceError({ code, message, ...(asked && { asked }), ...(advice && { advice }), cause: error });
  }
}
