import { TrapExplainer } from '../../src/device/checks/traps.js';
import type { Device, Stream } from '../../src/device/device.js';
import { GpuBuffer } from '../../src/device/gpu/host/buffer.js';
import { GpuCode, type GpuJob, GpuProgram } from '../../src/device/gpu/host/program.js';
import { Streams, type StreamsLink } from '../../src/device/gpu/host/streams.js';
import { CallTimer } from '../../src/device/gpu/native/calls.js';
import { newBoard, Word } from '../../src/device/gpu/wire/board.js';
import { deserializeError, type WorkerCall, type WorkerMessage } from '../../src/device/gpu/wire/messages.js';
import { FatalError } from '../../src/device/gpu/worker/driver.js';
import { Loop } from '../../src/device/gpu/worker/loop.js';
import { type ErrorCode, items, lowerGpu, MillraceError, rw } from '../../src/kernel/index.js';
import { type Script, ScriptedDriver } from './driver.mjs';

/** Any kernel: the scripted driver does not run it. */
export const kernel = items('step', { buffers: { x: rw('u32') } }, ({ item, buffers }) => {
  buffers.x.set(item, buffers.x.at(item).mul(3));
});

export interface RigOptions extends Script {
  readonly completion?: 'poll' | 'callback' | 'sync';
  readonly streams?: number;
}

/**
 * Both sides of a GPU device in one thread: streams, the board, the loop and the scripted driver, on a clock that advances
 * only while the worker sleeps. The speed of the machine does not matter.
 */
export class Rig {
  us = 0;
  readonly driver: ScriptedDriver;
  readonly loop: Loop;
  readonly streams: Streams;
  readonly job: GpuJob;
  readonly board = newBoard();
  #numbers = 1_000_000;
  readonly #answers = new Map<number, { resolve(answer: unknown): void; reject(error: Error): void }>();
  readonly #device: Device & { checkOpen(): void };

  constructor(options: RigOptions = {}) {
    const now = (): number => this.us;
    this.driver = new ScriptedDriver(options, {
      now,
      refusal: (message, code) => new MillraceError({ code: code as ErrorCode, message, asked: 'it', advice: 'none' }),
      fatal: (message) => new FatalError(new MillraceError({ code: 'device-failed', message })),
    });
    this.loop = new Loop(this.board, this.driver, {
      completion: options.completion ?? 'poll',
      calls: new CallTimer(false),
      post: (message) => this.#heard(message),
      now,
    });
    this.#device = { info: this.driver.info, checkOpen: () => undefined } as Device & { checkOpen(): void };
    const traps = new TrapExplainer();
    const lowered = lowerGpu(kernel, { target: 'opencl', workgroup: 64, checked: true });
    const number = traps.add({ name: kernel.name, sites: lowered.sites });
    const link: StreamsLink = {
      board: this.board,
      maxStreams: options.streams ?? 32,
      watch: () => undefined,
      recheck: () => undefined,
      keepProcessAlive: () => undefined,
      call: (kind, ask) =>
        new Promise((resolve, reject) => {
          const call = this.#numbers++;
          this.#answers.set(call, { resolve: resolve as (answer: unknown) => void, reject });
          this.loop.handleCall({ kind, ask, call } as WorkerCall);
        }),
    };
    this.streams = new Streams({
      device: this.#device,
      link,
      addressOf: undefined,
      explain: (program, trap) => traps.explain('scripted', program, trap),
    });
    this.job = new GpuProgram(this.#device, new GpuCode(number, (own) => this.streams.freeProgram(own)), lowered, {
      milliseconds: 0,
      cached: false,
    }).bind({});
    this.call = link.call as Rig['call'];
    void link.call('load', { number, name: 'step', text: lowered.text, shape: lowered.shape });
  }

  readonly call: (kind: WorkerCall['kind'], ask: unknown) => Promise<unknown>;

  async alloc(bytes: number): Promise<GpuBuffer> {
    const number = this.streams.nextMemoryNumber();
    await this.call('alloc', { number, bytes });
    return new GpuBuffer(this.#device, bytes, number, () => this.streams.freeMemory(number));
  }

  stream(): Stream {
    return this.streams.open();
  }

  launch(stream: Stream, x: GpuBuffer, count: number): void {
    stream.launch({ job: this.job, count, buffers: { x } });
  }

  /** Runs one turn of the worker and processes its results; then the worker sleeps, unless it was woken. */
  turn(maxUs = Number.POSITIVE_INFINITY): number {
    const before = Atomics.load(this.board.words, Word.work);
    const us = Math.min(this.loop.runTurn() * 1000, maxUs);
    this.streams.processResults();
    if (Atomics.load(this.board.words, Word.work) !== before) return 0;
    if (us < Number.POSITIVE_INFINITY) this.us += us;
    return us;
  }

  /** Runs turns until the clock reaches `us`. */
  until(us: number): void {
    for (let turns = 0; this.us < us; turns++) {
      if (turns > 100_000) throw new Error('the worker never sleeps');
      if (this.turn(us - this.us) === Number.POSITIVE_INFINITY) this.us = us;
    }
    this.turn(0);
  }

  /** Runs turns until no work is left. */
  settle(): void {
    for (let turns = 0; turns < 100_000; turns++) if (this.turn() === Number.POSITIVE_INFINITY) return;
    throw new Error('the work never ends');
  }

  /** Reads the word that launches change. */
  async word(x: GpuBuffer): Promise<number> {
    const stream = this.stream();
    const into = new Uint32Array(1);
    stream.read(x, into);
    const mark = stream.mark();
    stream.close();
    this.settle();
    // The message that adds the transfer memory to the worker takes a turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    this.settle();
    await mark.done;
    return into[0] ?? 0;
  }

  #heard(message: WorkerMessage): void {
    if (message.kind === 'failed') this.streams.markFailed(message.line, message.mark, deserializeError(message.error));
    if (message.kind === 'answer') this.#answers.get(message.call)?.resolve(message.answer);
    if (message.kind === 'error') this.#answers.get(message.call)?.reject(deserializeError(message.error));
  }
}
