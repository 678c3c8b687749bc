import { Header } from '../../../kernel/abi/grid.js';
import type { Locked } from '../native/locked-memory.js';
import { type Board, LINES } from '../wire/board.js';
import { Kind, kindOf, LAUNCH_WORDS, lineOf, RECORD_WORDS, wideAt } from '../wire/commands.js';
import { RingReader } from '../wire/ring.js';
import type { Driver, DriverLaunch, HostBytes } from './driver.js';
import type { Holdings } from './holdings.js';
import type { Step, WorkerLine } from './line.js';

/** The objects that records refer to by number. */
export interface Named {
  readonly memories: Holdings<unknown>;
  readonly hosts: Holdings<HostShare>;
  readonly programs: Holdings<unknown>;
  line(number: number): WorkerLine;
}

/** Host memory that both threads see: shared, or the runtime's own. */
export interface HostShare {
  readonly memory: SharedArrayBuffer | undefined;
  /** The driver's object, if the memory is page-locked. */
  readonly locked: Locked | undefined;
}

/** For `kindWith`: commands other than launches. Program numbers begin at 1. */
const What = { copy: -1, fill: -2, write: -3, read: -4, follow: -5 } as const;

/** Takes records off the ring and gives each line its commands. */
export class Intake {
  readonly #ring: RingReader;
  readonly #driver: Driver;
  readonly #named: Named;
  /** The number of launches that the driver has accepted. */
  launches = 0;

  constructor(board: Board, driver: Driver, named: Named) {
    this.#ring = new RingReader(board);
    this.#driver = driver;
    this.#named = named;
  }

  /** True if there was a record. */
  drain(): boolean {
    return this.#ring.drain((at) => this.#take(at));
  }

  #take(at: number): void {
    const { words } = this.#ring;
    const first = words[at] ?? 0;
    const own = at + RECORD_WORDS;
    const number = words[own] ?? 0;
    switch (kindOf(first)) {
      case Kind.free:
        this.#named.memories.remove(number);
        return;
      case Kind.unlock:
        this.#named.hosts.remove(number);
        return;
      case Kind.unload:
        this.#named.programs.remove(number);
        return;
    }
    const line = this.#named.line(lineOf(first) % LINES);
    switch (kindOf(first)) {
      case Kind.open:
        line.open();
        return;
      case Kind.close:
        line.ensureMark(line.taken);
        line.closing = true;
        return;
      default:
        line.push(this.#step(kindOf(first), line, own, at + (words[at + 1] ?? 0)));
    }
  }

  #step(kind: number, line: WorkerLine, at: number, end: number): Step {
    const { words } = this.#ring;
    const word = (i: number): number => words[at + i] ?? 0;
    switch (kind) {
      case Kind.mark:
        return { kind: 'mark', role: 'asked' };
      case Kind.note:
        return { kind: 'mark', role: 'noted' };
      case Kind.wait:
        return { kind: 'wait', line: this.#named.line(word(0)), mark: word(1) | 0 };
      case Kind.follow: {
        const handle = wideAt(words, at);
        const send = (): boolean => this.#driver.follow?.(line.handle, handle) ?? true;
        return { kind: 'work', send, what: What.follow, size: 0 };
      }
      case Kind.fill:
        return this.#fill(line, at);
      case Kind.copy:
        return this.#copy(line, at);
      case Kind.write:
      case Kind.read:
        return this.#transfer(kind, line, at);
      case Kind.launch:
        return this.#launch(line, at, end);
      default:
        throw new TypeError(`there is no command of kind ${kind}`);
    }
  }

  #fill(line: WorkerLine, at: number): Step {
    const { words } = this.#ring;
    const { value } = this.#memory(words[at], line);
    const word = words[at + 1] ?? 0;
    const offset = wideAt(words, at + 2);
    const bytes = wideAt(words, at + 4);
    const send = (): boolean => this.#driver.fill(line.handle, value, offset, word, bytes);
    return { kind: 'work', send, what: What.fill, size: bytes };
  }

  #copy(line: WorkerLine, at: number): Step {
    const { words } = this.#ring;
    const from = this.#memory(words[at], line).value;
    const to = this.#memory(words[at + 1], line).value;
    const fromOffset = wideAt(words, at + 2);
    const toOffset = wideAt(words, at + 4);
    const bytes = wideAt(words, at + 6);
    const send = (): boolean => this.#driver.copy(line.handle, from, fromOffset, to, toOffset, bytes);
    return { kind: 'work', send, what: What.copy, size: bytes };
  }

  #transfer(kind: number, line: WorkerLine, at: number): Step {
    const { words } = this.#ring;
    const { value } = this.#memory(words[at], line);
    const offset = wideAt(words, at + 1);
    const bytes = wideAt(words, at + 3);
    const where = wideAt(words, at + 7);
    const host = this.#hostBytes(words[at + 5] ?? 0, words[at + 6] === 1, where, bytes, line);
    const send =
      kind === Kind.write
        ? (): boolean => this.#driver.write(line.handle, value, offset, host)
        : (): boolean => this.#driver.read(line.handle, value, offset, host);
    return { kind: 'work', send, what: kind === Kind.write ? What.write : What.read, size: bytes };
  }

  /** By its address if the main thread gave one, else as a view of shared memory. */
  #hostBytes(number: number, byAddress: boolean, where: number, bytes: number, line: WorkerLine): HostBytes {
    if (number === 0) return { bytes, locked: false, address: where };
    const host = this.#named.hosts.get(number);
    host.use(line);
    const { memory } = host.value;
    const locked = host.value.locked !== undefined;
    if (byAddress || memory === undefined) return { bytes, locked, address: where };
    return { bytes, locked, view: new Uint8Array(memory, where, bytes) };
  }

  #launch(line: WorkerLine, at: number, end: number): Step {
    const { words } = this.#ring;
    const number = words[at] ?? 0;
    const count = words[at + 1] ?? 0;
    const first = at + LAUNCH_WORDS;
    const buffers: unknown[] = [];
    for (let i = 0; i < count; i++) buffers.push(this.#memory(words[first + i], line).value);
    const block = words.slice(first + count, end);
    const counted = words[at + 2] ?? 0;
    const program = this.#named.programs.get(number);
    program.use(line);
    const launch: DriverLaunch<unknown, unknown> = {
      program: program.value,
      block,
      epoch: (block[Header.epoch] ?? 0) | 0,
      count: (block[Header.last] ?? 0) + 1,
      buffers,
      ...(counted > 0 && {
        countFrom: { memory: this.#memory(counted, line).value, offset: wideAt(words, at + 3) },
      }),
    };
    const send = (): boolean => {
      const sent = this.#driver.launch(line.handle, launch);
      if (sent) this.launches++;
      return sent;
    };
    return { kind: 'work', send, what: number, size: launch.count, epoch: launch.epoch };
  }

  #memory(number: number | undefined, line: WorkerLine): { readonly value: unknown } {
    const held = this.#named.memories.get(number ?? 0);
    held.use(line);
    return held;
  }
}
