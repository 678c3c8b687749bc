import { MillraceError } from '../../../kernel/error.js';
import { CheckedStream } from '../../checks/checked-stream.js';
import type { Trap } from '../../checks/traps.js';
import type { Device, Stream } from '../../device.js';
import { TurnBudget } from '../../turn.js';
import { epochWord, LINES, wakeWorker } from '../wire/board.js';
import { CommandKind } from '../wire/commands.js';
import { type LineResult, ResultReader } from '../wire/results.js';
import { RingWriter } from '../wire/ring.js';
import { CommandWriter } from './command-writer.js';
import type { Link } from './link.js';
import { type MarkOutcome, MarkQueue } from './mark-queue.js';
import { GpuJob } from './program.js';
import { GpuStream } from './stream.js';

/** The most bytes that the main thread copies in one turn of its event loop, about 200 µs; the rest follows in the next. */
const TURN_BYTES = 2 ** 21;

/** A line of the board. The count of marks continues from stream to stream, so that waits for them stay satisfied. */
interface LineState {
  marks: number;
  notes: number;
  queue: MarkQueue | undefined;
  /** The stream was closed. The line is free when the worker has closed it too and every mark has settled. */
  isClosing: boolean;
  isClosedByWorker: boolean;
}

export interface StreamsOptions {
  readonly device: StreamsDevice;
  readonly link: StreamsLink;
  readonly addressOf: ((view: ArrayBufferView) => number) | undefined;
  explain(program: number, trap: Trap): MillraceError;
  /** Called when the worker is about to copy `bytes` bytes that are not page-locked. */
  expectStaging?(bytes: number): void;
}

/** The parts of the device and of its link to the worker that streams need. */
export type StreamsDevice = Device & { checkOpen(): void };
export type StreamsLink = Pick<Link, 'board' | 'maxStreams' | 'call' | 'watch' | 'recheck' | 'keepProcessAlive'>;

/** All streams of a device: their lines on the board, the commands they send and the results. */
export class Streams {
  readonly device: StreamsDevice;
  readonly addressOf: ((view: ArrayBufferView) => number) | undefined;
  readonly expectStaging: ((bytes: number) => void) | undefined;
  readonly #link: StreamsLink;
  readonly #explain: StreamsOptions['explain'];
  readonly #ring: RingWriter;
  readonly #results: ResultReader;
  /** For commands that belong to no stream. */
  readonly #writer: CommandWriter;
  readonly #turnBudget: TurnBudget;
  readonly #lines: (LineState | undefined)[] = [];
  readonly #hosts = new WeakMap<ArrayBufferLike, number>();
  /** The last number assigned. Numbers identify device and host memory to the worker. */
  #lastNumber = 0;

  constructor({ device, link, addressOf, explain, expectStaging }: StreamsOptions) {
    this.device = device;
    this.addressOf = addressOf;
    this.expectStaging = expectStaging;
    this.#link = link;
    this.#explain = explain;
    this.#ring = new RingWriter(link.board);
    this.#results = new ResultReader(link.board);
    this.#writer = new CommandWriter(link.board, this.#ring, 0);
    this.#turnBudget = new TurnBudget(TURN_BYTES, () => link.recheck());
  }

  get count(): number {
    return this.#lines.reduce((sum, line) => sum + (line?.queue && !line.isClosing ? 1 : 0), 0);
  }

  open(): Stream {
    const { maxStreams } = this.#link;
    const free = this.#lines.findIndex((line) => line && !line.queue);
    const number = free >= 0 ? free : this.#lines.length;
    if (this.count >= maxStreams || number >= LINES) {
      throw new MillraceError({
        code: 'launch-range',
        message: `all ${maxStreams} streams of device ${this.device.info.id} are open`,
        asked: 'another stream()',
        advice: 'close streams that are not needed, share one, or open the device with more `streams`',
      });
    }
    this.#lines[number] ??= { marks: 0, notes: 0, queue: undefined, isClosing: false, isClosedByWorker: false };
    const line = this.#lines[number];
    const writer = new CommandWriter(this.#link.board, this.#ring, number);
    const queue = new MarkQueue(writer, this.#turnBudget, (memory) => this.#shareMemory(memory), line.notes);
    line.queue = queue;
    writer.begin(CommandKind.open, 0);
    writer.send();
    return new CheckedStream(this.device, GpuJob, new GpuStream(this, queue));
  }

  /** For streams: called when there is something to wait for. */
  watch(): void {
    this.#link.watch(true);
  }

  nextMark(number: number): number {
    const line = this.#lines[number];
    if (!line) throw new TypeError(`there is no line ${number}`);
    line.marks = (line.marks + 1) | 0;
    return line.marks;
  }

  epoch(line: number): number {
    return Atomics.load(this.#link.board.words, epochWord(line));
  }

  cancel(line: number): void {
    const { words } = this.#link.board;
    Atomics.add(words, epochWord(line), 1);
    wakeWorker(words);
  }

  /** For streams: queued commands still run, and no new ones are accepted. */
  closeStream({ writer }: MarkQueue): void {
    const line = this.#lines[writer.line];
    if (!line) return;
    line.isClosing = true;
    writer.begin(CommandKind.close, 0);
    writer.send();
    this.#link.watch(false);
  }

  /** Returns a number for memory that the worker will be informed of. */
  nextMemoryNumber(): number {
    return ++this.#lastNumber;
  }

  hostNumber(memory: ArrayBufferLike): number | undefined {
    return this.#hosts.get(memory);
  }

  addHost(memory: ArrayBufferLike, number: number): void {
    this.#hosts.set(memory, number);
  }

  /** Returns the memory's number; undefined if it is no longer known. */
  removeHost(memory: ArrayBufferLike): number | undefined {
    const number = this.#hosts.get(memory);
    this.#hosts.delete(memory);
    return number;
  }

  freeHost(number: number): void {
    this.#sendRelease(CommandKind.unlock, number);
  }

  freeMemory(number: number): void {
    this.#sendRelease(CommandKind.free, number);
  }

  freeProgram(number: number): void {
    this.#sendRelease(CommandKind.unload, number);
  }

  /** Called when the board has changed. Returns true if there is more to wait for. */
  processResults(): boolean {
    this.#results.readAll((result) => this.#settle(result));
    let busy = false;
    let closing = false;
    for (const line of this.#lines) {
      if (!line?.queue) continue;
      line.queue.advance();
      busy ||= line.queue.isBusy;
      if (line.isClosedByWorker && !line.queue.isBusy) this.#reclaim(line);
      else closing ||= line.isClosing;
    }
    this.#writer.flush();
    if (this.#writer.hasOverflow) {
      this.#writer.requestSpaceNotice();
      this.#writer.flush();
    }
    this.#link.keepProcessAlive(busy);
    return busy || closing || this.#writer.hasOverflow;
  }

  /** Called with the worker's reason why a mark failed. */
  markFailed(line: number, mark: number, error: Error): void {
    this.#lines[line]?.queue?.settle('asked', mark, { error });
    this.#link.recheck();
  }

  fail(error: Error): void {
    for (const line of this.#lines) line?.queue?.fail(error);
  }

  #settle(result: LineResult): void {
    const line = this.#lines[result.line];
    switch (result.kind) {
      case 'passed': {
        const { startedNs, endedNs, noticedNs, complete, detail } = result;
        const report = { startedNs, endedNs, noticedNs, complete, ...(detail && { detail }) };
        line?.queue?.settle('asked', result.mark, { report });
        return;
      }
      case 'trapped':
        line?.queue?.settle('asked', result.mark, { error: this.#explain(result.program, result) });
        return;
      case 'noted':
        line?.queue?.settle('noted', result.mark, NOTE_OUTCOME);
        return;
      case 'closed':
        if (line) line.isClosedByWorker = true;
    }
  }

  #reclaim(line: LineState): void {
    const shared = line.queue?.stagingNumber;
    if (shared !== undefined) this.#sendRelease(CommandKind.unlock, shared);
    line.notes = line.queue?.notes ?? line.notes;
    line.queue = undefined;
    line.isClosing = false;
    line.isClosedByWorker = false;
  }

  /** Registers shared memory with the worker, without locking it. */
  #shareMemory(memory: ArrayBufferLike): { readonly number: number | undefined } {
    const known: { number: number | undefined } = { number: undefined };
    const number = this.nextMemoryNumber();
    this.#link.call('share', { number, memory }).then(
      () => {
        known.number = number;
        this.#link.recheck();
      },
      () => undefined, // the device has ended; everything in flight fails
    );
    return known;
  }

  /** Frees after every command queued now: some may not be in the ring yet. */
  #sendRelease(
    kind: typeof CommandKind.free | typeof CommandKind.unlock | typeof CommandKind.unload,
    number: number,
  ): void {
    const waiting = this.#lines.flatMap((line) => (line?.queue?.writer.hasOverflow ? line.queue.writer : []));
    let left = waiting.length;
    const send = (): void => {
      const at = this.#writer.begin(kind, 1);
      this.#writer.words[at] = number;
      this.#writer.send();
    };
    if (left === 0) send();
    for (const writer of waiting) {
      writer.sendInOrder(() => {
        if (--left === 0) send();
        return true;
      });
    }
  }
}

const NOTE_OUTCOME: MarkOutcome = { report: { startedNs: 0n, endedNs: 0n, complete: true } };
