import { MillraceError } from '../../../kernel/error.js';
import { CheckedStream } from '../../checks/checked-stream.js';
import type { Trap } from '../../checks/traps.js';
import type { Device, Stream } from '../../device.js';
import { TurnShare } from '../../turn.js';
import { epochWord, LINES, wakeWorker } from '../wire/board.js';
import { Kind } from '../wire/commands.js';
import { type LineResult, ResultReader } from '../wire/results.js';
import { RingWriter } from '../wire/ring.js';
import { Lane } from './lane.js';
import type { Link } from './link.js';
import { GpuJob } from './program.js';
import { type End, Queue } from './queue.js';
import { GpuStream } from './stream.js';

/** The most bytes that the main thread copies in one turn of its event loop, about 200 µs; the rest follows in the next. */
const TURN_BYTES = 2 ** 21;

/** A line of the board. The count of marks continues from stream to stream, so that waits for them stay satisfied. */
interface Line {
  marks: number;
  notes: number;
  queue: Queue | undefined;
  /** The stream was closed. The line is free when the worker has closed it too and every mark has settled. */
  closing: boolean;
  over: boolean;
}

export interface StreamsOptions {
  readonly device: StreamsDevice;
  readonly link: StreamsLink;
  readonly addressOf: ((view: ArrayBufferView) => number) | undefined;
  explain(program: number, trap: Trap): MillraceError;
  /** Called when `bytes` bytes that are not page-locked go to the worker by their address. */
  staging?(bytes: number): void;
}

/** The parts of the device and of its link to the worker that streams need. */
export type StreamsDevice = Device & { checkOpen(): void };
export type StreamsLink = Pick<Link, 'board' | 'most' | 'call' | 'watch' | 'look' | 'need'>;

/** All streams of a device: their lines on the board, the commands they send and the results. */
export class Streams {
  readonly device: StreamsDevice;
  readonly addressOf: ((view: ArrayBufferView) => number) | undefined;
  readonly staging: ((bytes: number) => void) | undefined;
  readonly #link: StreamsLink;
  readonly #explain: StreamsOptions['explain'];
  readonly #ring: RingWriter;
  readonly #results: ResultReader;
  /** For commands that belong to no stream. */
  readonly #lane: Lane;
  readonly #share: TurnShare;
  readonly #lines: (Line | undefined)[] = [];
  readonly #hosts = new WeakMap<ArrayBufferLike, number>();
  /** The last number assigned. Numbers identify device and host memory to the worker. */
  #numbers = 0;

  constructor({ device, link, addressOf, explain, staging }: StreamsOptions) {
    this.device = device;
    this.addressOf = addressOf;
    this.staging = staging;
    this.#link = link;
    this.#explain = explain;
    this.#ring = new RingWriter(link.board);
    this.#results = new ResultReader(link.board);
    this.#lane = new Lane(link.board, this.#ring, 0);
    this.#share = new TurnShare(TURN_BYTES, () => link.look());
  }

  get count(): number {
    return this.#lines.reduce((sum, line) => sum + (line?.queue && !line.closing ? 1 : 0), 0);
  }

  open(): Stream {
    const { most } = this.#link;
    const free = this.#lines.findIndex((line) => line && !line.queue);
    const number = free >= 0 ? free : this.#lines.length;
    if (this.count >= most || number >= LINES) {
      throw new MillraceError({
        code: 'launch-range',
        message: `device ${this.device.info.id} has all of its ${most} streams open`,
        asked: 'another stream()',
        advice: 'close streams that are not needed, share one, or open the device with more',
      });
    }
    this.#lines[number] ??= { marks: 0, notes: 0, queue: undefined, closing: false, over: false };
    const line = this.#lines[number];
    const lane = new Lane(this.#link.board, this.#ring, number);
    const queue = new Queue(lane, this.#share, (memory) => this.#announce(memory), line.notes);
    line.queue = queue;
    lane.begin(Kind.open, 0);
    lane.send();
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
  closed({ lane }: Queue): void {
    const line = this.#lines[lane.line];
    if (!line) return;
    line.closing = true;
    lane.begin(Kind.close, 0);
    lane.send();
    this.#link.watch(false);
  }

  /** Returns a number for memory that the worker will be informed of. */
  nextNumber(): number {
    return ++this.#numbers;
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
    this.#letGo(Kind.unlock, number);
  }

  freeMemory(number: number): void {
    this.#letGo(Kind.free, number);
  }

  freeProgram(number: number): void {
    this.#letGo(Kind.unload, number);
  }

  /** Called when the board has changed. Returns true if there is more to wait for. */
  news(): boolean {
    this.#results.take((result) => this.#settle(result));
    let busy = false;
    let closing = false;
    for (const line of this.#lines) {
      if (!line?.queue) continue;
      line.queue.advance();
      busy ||= line.queue.busy;
      if (line.over && !line.queue.busy) this.#reclaim(line);
      else closing ||= line.closing;
    }
    this.#lane.flush();
    if (this.#lane.spilling) {
      this.#lane.wantRoom();
      this.#lane.flush();
    }
    this.#link.need(busy);
    return busy || closing || this.#lane.spilling;
  }

  /** Called with the worker's reason why a mark failed. */
  markFailed(line: number, mark: number, error: Error): void {
    this.#lines[line]?.queue?.settle('asked', mark, { error });
    this.#link.look();
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
        line?.queue?.settle('noted', result.mark, noted);
        return;
      case 'closed':
        if (line) line.over = true;
    }
  }

  #reclaim(line: Line): void {
    const shared = line.queue?.shared;
    if (shared !== undefined) this.#letGo(Kind.unlock, shared);
    line.notes = line.queue?.notes ?? line.notes;
    line.queue = undefined;
    line.closing = false;
    line.over = false;
  }

  /** Registers shared memory with the worker, without locking it. */
  #announce(memory: SharedArrayBuffer): { readonly number: number | undefined } {
    const known: { number: number | undefined } = { number: undefined };
    const number = this.nextNumber();
    this.#link.call('share', { number, memory }).then(
      () => {
        known.number = number;
        this.#link.look();
      },
      () => undefined, // the device has ended; everything in flight fails
    );
    return known;
  }

  /** Frees after every command queued now: some may not be in the ring yet. */
  #letGo(kind: typeof Kind.free | typeof Kind.unlock | typeof Kind.unload, number: number): void {
    const waiting = this.#lines.flatMap((line) => (line?.queue?.lane.spilling ? line.queue.lane : []));
    let left = waiting.length;
    const send = (): void => {
      const at = this.#lane.begin(kind, 1);
      this.#lane.words[at] = number;
      this.#lane.send();
    };
    if (left === 0) send();
    for (const lane of waiting) {
      lane.later(() => {
        if (--left === 0) send();
        return true;
      });
    }
  }
}

const noted: End = { report: { startedNs: 0n, endedNs: 0n, complete: true } };
