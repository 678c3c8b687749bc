import type { Completion, DeviceBuffer, DeviceProgram, HostMemory, Stream } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import type { Piece } from '../work/space.js';
import type { FlowSlot, FlowStep, Overflow, ReadyFlow } from './flow.js';
import { PrintMemory } from './prints.js';
import { submitResident } from './resident.js';

/** Allocates one slot of a flow: its buffers, its rings, its host memory. */
export async function openSlot<Result, Name extends string>(
  ready: ReadyFlow<Result, Name>,
  stream: Stream,
): Promise<FlowSlot<Result>> {
  const memory = new SlotMemory();
  try {
    await memory.allocate(ready);
  } catch (error) {
    memory.free();
    throw error;
  }
  return new DeviceSlot(ready, stream, memory);
}

class DeviceSlot<Result, Name extends string> implements FlowSlot<Result> {
  readonly #flow: ReadyFlow<Result, Name>;
  readonly #stream: Stream;
  readonly #memory: SlotMemory;
  readonly cancel: (() => void) | undefined;
  readonly copiedBytes = { toDevice: 0, toHost: 0 };

  constructor(flow: ReadyFlow<Result, Name>, stream: Stream, memory: SlotMemory) {
    this.#flow = flow;
    this.#stream = stream;
    this.#memory = memory;
    const { resident } = flow;
    this.cancel = resident && (() => resident.cancel());
  }

  submit(piece: Piece, values = 0): Completion {
    const { rings } = this.#memory;
    const { resident, spec, trial } = this.#flow;
    this.copiedBytes.toDevice = 0;
    this.copiedBytes.toHost = 0;
    const [ring] = rings.values();
    if (trial && !trial.hasPassed) return this.#launchChecked(piece, values, trial);
    if (!resident || !spec.resident || !ring || values !== 0) return this.#launchAll(piece, values);
    return submitResident(resident, spec.resident(piece), ring.words, () => this.#launchAll(piece, values));
  }

  /** Launches the checked build. Later chunks use the other one as soon as a checked chunk has completed. */
  #launchChecked(piece: Piece, values: number, trial: NonNullable<ReadyFlow<Result, Name>['trial']>): Completion {
    const completion = this.#launchAll(piece, values, trial.jobs);
    completion.done.then(
      ({ complete }) => {
        if (complete) trial.hasPassed = true;
      },
      () => undefined, // the pipeline gets the error
    );
    return completion;
  }

  #launchAll(piece: Piece, values: number, jobs = this.#flow.jobs): Completion {
    const { host, rings, prints } = this.#memory;
    const { spec } = this.#flow;
    for (const { buffer, headerBytes } of rings.values()) this.#stream.fill(buffer, 0, 0, headerBytes);
    for (const memory of prints.values()) memory.clear(this.#stream);
    for (const step of spec.steps(piece, host)) this.#queue(step, piece, jobs[values]);
    for (const { buffer, words } of rings.values()) {
      this.#stream.read(buffer, words);
      this.copiedBytes.toHost += words.byteLength;
    }
    for (const memory of prints.values()) memory.read(this.#stream);
    return this.#stream.mark();
  }

  reap(piece: Piece): Result | Overflow {
    const { host, rings, prints } = this.#memory;
    const { spec, programs, onPrint } = this.#flow;
    if (onPrint) for (const memory of prints.values()) memory.report(piece.start, onPrint);
    const ring = (name: string): SlotRing => rings.get(name) ?? this.#refuse('ring', name, [...rings.keys()]);
    return spec.reap(piece, { host, programs, ring });
  }

  close(): void {
    this.#memory.free();
  }

  #queue(step: FlowStep<Name>, piece: Piece, jobs: ReadyFlow<Result, Name>['jobs'][number] | undefined): void {
    const stream = this.#stream;
    switch (step.do) {
      case 'fill':
        stream.fill(this.#buffer(step.buffer), step.word, step.offset, step.bytes);
        break;
      case 'write':
        stream.write(this.#buffer(step.buffer), step.data, step.offset);
        this.copiedBytes.toDevice += step.data.byteLength;
        break;
      case 'read':
        if (this.#memory.inPlace.has(step.buffer)) break;
        stream.read(this.#buffer(step.buffer), step.into, step.offset);
        this.copiedBytes.toHost += step.into.byteLength;
        break;
      case 'copy':
        stream.copy(this.#buffer(step.from), this.#buffer(step.to), step.bytes, step.fromOffset, step.toOffset);
        break;
      case 'launch':
        this.#launch(step, piece, jobs);
    }
  }

  #launch(
    step: Extract<FlowStep<Name>, { do: 'launch' }>,
    piece: Piece,
    jobs: ReadyFlow<Result, Name>['jobs'][number] | undefined,
  ): void {
    const job = jobs?.[step.kernel] ?? this.#refuse('kernel', step.kernel, Object.keys(this.#flow.programs));
    const { base = 0n, chunk = {}, ring, buffers: named = {} } = step;
    const buffers: Record<string, DeviceBuffer> = {};
    const { onPrint } = this.#flow;
    const printed = this.#memory.prints.get(step.kernel);
    for (const { name, prints } of job.program.bindings)
      buffers[name] =
        (prints && printed?.buffer) ?? this.#buffer((Object.hasOwn(named, name) ? named[name] : undefined) ?? name);
    const count =
      typeof step.count === 'number' ? step.count : { ...step.count, buffer: this.#buffer(step.count.buffer) };
    this.#stream.launch({
      job,
      base,
      chunk,
      count,
      buffers,
      ...(ring !== undefined && { ring: this.#buffer(ring) }),
      ...(onPrint && printed && { onPrint: printed.reporter(piece.start, onPrint) }),
    });
  }

  #buffer(name: string): DeviceBuffer {
    const { buffers, rings } = this.#memory;
    const { shared } = this.#flow;
    const found =
      buffers.get(name) ?? rings.get(name)?.buffer ?? (Object.hasOwn(shared, name) ? shared[name] : undefined);
    return found ?? this.#refuse('buffer', name, [...buffers.keys(), ...rings.keys(), ...Object.keys(shared)]);
  }

  #refuse(kind: string, name: string, known: readonly string[]): never {
    throw new MillraceError({
      code: 'launch-arguments',
      message: `flow ${this.#flow.spec.name} has no ${kind} called ${name}`,
      asked: `a step with the ${kind} ${name}`,
      advice: known.length === 0 ? `the flow declares no ${kind}` : `it declares ${known.join(', ')}`,
    });
  }
}

interface SlotRing {
  readonly buffer: DeviceBuffer;
  /** The host's copy, filled when the chunk is complete. */
  readonly words: Uint32Array;
  readonly program: DeviceProgram;
  readonly hits: number;
  readonly headerBytes: number;
}

/** The memory of one slot. */
class SlotMemory {
  readonly buffers = new Map<string, DeviceBuffer>();
  readonly rings = new Map<string, SlotRing>();
  /** By kernel. */
  readonly prints = new Map<string, PrintMemory>();
  readonly host: Record<string, Uint8Array> = {};
  /** Buffers that are host memory. */
  readonly inPlace = new Set<string>();
  readonly #hostMemory: HostMemory[] = [];

  async allocate<Name extends string>({ device, spec, programs }: ReadyFlow<unknown, Name>): Promise<void> {
    const lock = async (bytes: number): Promise<Uint8Array> => {
      const memory = await device.host(bytes);
      this.#hostMemory.push(memory);
      return memory.bytes;
    };
    for (const [name, bytes] of Object.entries(spec.host ?? {})) {
      this.host[name] = await lock(bytes);
      const { buffer } = this.#hostMemory.at(-1) ?? {};
      const [own] = Object.entries(spec.inPlace ?? {}).find(([, host]) => host === name) ?? [];
      if (!buffer || own === undefined) continue;
      this.inPlace.add(own);
      this.buffers.set(own, buffer);
    }
    for (const [name, bytes] of Object.entries(spec.buffers ?? {})) {
      if (!this.inPlace.has(name)) this.buffers.set(name, await device.alloc(bytes));
    }
    for (const [name, { kernel, hits }] of Object.entries(spec.rings ?? {})) {
      const program = programs[kernel];
      const { headerWords, recordWords } = program.ring;
      const bytes = (headerWords + hits * recordWords) * 4;
      // Together: a search allocates all of its rings before its first chunk.
      const [locked, allocated] = await Promise.allSettled([lock(bytes), device.alloc(bytes)]);
      if (allocated.status === 'rejected') throw allocated.reason;
      const { value: buffer } = allocated;
      if (locked.status === 'rejected') {
        buffer.free();
        throw locked.reason;
      }
      const { buffer: memory, byteOffset } = locked.value;
      const words = new Uint32Array(memory, byteOffset, bytes / 4);
      this.rings.set(name, { buffer, words, program, hits, headerBytes: headerWords * 4 });
    }
    for (const [name, program] of Object.entries<DeviceProgram>(programs)) {
      const memory = await PrintMemory.for(device, program);
      if (memory) this.prints.set(name, memory);
    }
  }

  free(): void {
    for (const buffer of this.buffers.values()) buffer.free();
    for (const { buffer } of this.rings.values()) buffer.free();
    for (const memory of this.prints.values()) memory.free();
    for (const memory of this.#hostMemory) memory.free();
  }
}
