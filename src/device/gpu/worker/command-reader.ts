import { LaunchHeader } from '../../../kernel/abi/grid.js';
import type { LockedRegion } from '../native/locked-memory.js';
import { type Board, LINES } from '../wire/board.js';
import { CommandKind, kindOf, LAUNCH_WORDS, lineOf, RECORD_WORDS, readWide } from '../wire/commands.js';
import { RingReader } from '../wire/ring.js';
import type { Driver, DriverLaunch, HostBytes } from './driver.js';
import type { WorkerCommand, WorkerLine } from './line.js';
import type { ResourceTable } from './resource-table.js';

/** The objects that records refer to by number. */
export interface NumberedResources {
  readonly memories: ResourceTable<unknown>;
  readonly hosts: ResourceTable<SharedHostMemory>;
  readonly programs: ResourceTable<unknown>;
  line(number: number): WorkerLine;
}

/** Host memory that both threads see: shared, or the runtime's own. */
export interface SharedHostMemory {
  readonly memory: ArrayBufferLike | undefined;
  /** The driver's object, if the memory is page-locked. */
  readonly locked: LockedRegion | undefined;
}

/** For `combineKind`: commands other than launches. Program numbers begin at 1. */
const WorkKind = { copy: -1, fill: -2, write: -3, read: -4, follow: -5 } as const;

/** Takes records off the ring and gives each line its commands. */
export class CommandReader {
  readonly #ring: RingReader;
  readonly #driver: Driver;
  readonly #resources: NumberedResources;
  /** The number of launches that the driver has accepted. */
  launches = 0;

  constructor(board: Board, driver: Driver, named: NumberedResources) {
    this.#ring = new RingReader(board);
    this.#driver = driver;
    this.#resources = named;
  }

  /** True if there was a record. */
  drain(): boolean {
    return this.#ring.drain((at) => this.#takeRecord(at));
  }

  #takeRecord(at: number): void {
    const { words } = this.#ring;
    const first = words[at] ?? 0;
    const own = at + RECORD_WORDS;
    const number = words[own] ?? 0;
    switch (kindOf(first)) {
      case CommandKind.free:
        this.#resources.memories.remove(number);
        return;
      case CommandKind.unlock:
        this.#resources.hosts.remove(number);
        return;
      case CommandKind.unload:
        this.#resources.programs.remove(number);
        return;
    }
    const line = this.#resources.line(lineOf(first) % LINES);
    switch (kindOf(first)) {
      case CommandKind.open:
        line.open();
        return;
      case CommandKind.close:
        line.ensureMark(line.takenCount);
        line.isClosing = true;
        return;
      default:
        line.push(this.#commandOf(kindOf(first), line, own, at + (words[at + 1] ?? 0)));
    }
  }

  #commandOf(kind: number, line: WorkerLine, at: number, end: number): WorkerCommand {
    const { words } = this.#ring;
    const word = (i: number): number => words[at + i] ?? 0;
    switch (kind) {
      case CommandKind.mark:
        return { kind: 'mark', role: 'asked' };
      case CommandKind.note:
        return { kind: 'mark', role: 'noted' };
      case CommandKind.wait:
        return { kind: 'wait', line: this.#resources.line(word(0)), mark: word(1) | 0 };
      case CommandKind.follow: {
        const handle = readWide(words, at);
        const send = (): boolean => this.#driver.follow?.(line.handle, handle) ?? true;
        return { kind: 'work', send, workKind: WorkKind.follow, size: 0 };
      }
      case CommandKind.fill:
        return this.#fill(line, at);
      case CommandKind.copy:
        return this.#copy(line, at);
      case CommandKind.write:
      case CommandKind.read:
        return this.#transfer(kind, line, at);
      case CommandKind.launch:
        return this.#launch(line, at, end);
      default:
        throw new TypeError(`there is no command of kind ${kind}`);
    }
  }

  #fill(line: WorkerLine, at: number): WorkerCommand {
    const { words } = this.#ring;
    const { value } = this.#memory(words[at], line);
    const word = words[at + 1] ?? 0;
    const offset = readWide(words, at + 2);
    const bytes = readWide(words, at + 4);
    const send = (): boolean => this.#driver.fill(line.handle, value, offset, word, bytes);
    return { kind: 'work', send, workKind: WorkKind.fill, size: bytes };
  }

  #copy(line: WorkerLine, at: number): WorkerCommand {
    const { words } = this.#ring;
    const from = this.#memory(words[at], line).value;
    const to = this.#memory(words[at + 1], line).value;
    const fromOffset = readWide(words, at + 2);
    const toOffset = readWide(words, at + 4);
    const bytes = readWide(words, at + 6);
    const send = (): boolean => this.#driver.copy(line.handle, from, fromOffset, to, toOffset, bytes);
    return { kind: 'work', send, workKind: WorkKind.copy, size: bytes };
  }

  #transfer(kind: number, line: WorkerLine, at: number): WorkerCommand {
    const { words } = this.#ring;
    const { value } = this.#memory(words[at], line);
    const offset = readWide(words, at + 1);
    const bytes = readWide(words, at + 3);
    const where = readWide(words, at + 7);
    const host = this.#hostBytes(words[at + 5] ?? 0, words[at + 6] === 1, where, bytes, line);
    const send =
      kind === CommandKind.write
        ? (): boolean => this.#driver.write(line.handle, value, offset, host)
        : (): boolean => this.#driver.read(line.handle, value, offset, host);
    return { kind: 'work', send, workKind: kind === CommandKind.write ? WorkKind.write : WorkKind.read, size: bytes };
  }

  /** By its address if the main thread gave one, else as a view of shared memory. */
  #hostBytes(number: number, byAddress: boolean, where: number, bytes: number, line: WorkerLine): HostBytes {
    if (number === 0) return { bytes, locked: false, address: where };
    const host = this.#resources.hosts.get(number);
    host.recordUse(line);
    const { memory } = host.value;
    const locked = host.value.locked !== undefined;
    if (byAddress || memory === undefined) return { bytes, locked, address: where };
    return { bytes, locked, view: new Uint8Array(memory, where, bytes) };
  }

  #launch(line: WorkerLine, at: number, end: number): WorkerCommand {
    const { words } = this.#ring;
    const number = words[at] ?? 0;
    const count = words[at + 1] ?? 0;
    const first = at + LAUNCH_WORDS;
    const buffers: unknown[] = [];
    for (let i = 0; i < count; i++) buffers.push(this.#memory(words[first + i], line).value);
    const block = words.slice(first + count, end);
    const counted = words[at + 2] ?? 0;
    const program = this.#resources.programs.get(number);
    program.recordUse(line);
    const launch: DriverLaunch<unknown, unknown> = {
      program: program.value,
      block,
      epoch: (block[LaunchHeader.epoch] ?? 0) | 0,
      count: (block[LaunchHeader.last] ?? 0) + 1,
      buffers,
      ...(counted > 0 && {
        countFrom: { memory: this.#memory(counted, line).value, offset: readWide(words, at + 3) },
      }),
    };
    const send = (): boolean => {
      const sent = this.#driver.launch(line.handle, launch);
      if (sent) this.launches++;
      return sent;
    };
    return { kind: 'work', send, workKind: number, size: launch.count, epoch: launch.epoch };
  }

  #memory(number: number | undefined, line: WorkerLine): { readonly value: unknown } {
    const held = this.#resources.memories.get(number ?? 0);
    held.recordUse(line);
    return held;
  }
}
