import { MillraceError } from '../../kernel/error.js';
import { implicitChunk } from '../../kernel/harness.js';
import { bestLanes, JobParameters, type Kernel, lower, type Origin, ringLayout } from '../../kernel/index.js';
import { DiskCache } from '../cache.js';
import type { CompileOptions, Device, DeviceBuffer, DeviceInfo, Stream } from '../device.js';
import { checkAllocation } from '../launch.js';
import { Pool, STREAMS } from './board.js';
import { Memory } from './buffer.js';
import { compile } from './compile.js';
import { type Compiler, findCompiler } from './compiler.js';
import { type Cpu, capabilities, thisCpu, widestLanes } from './cpu.js';
import { addressOf, loadForever, symbolIn } from './libc.js';
import { WorkerPool } from './pool.js';
import { NativeProgram, type NativeSource } from './program.js';
import { Queue } from './queue.js';
import { NativeStream } from './stream.js';

export interface NativeOptions {
  /** Worker threads; as many as the processor runs at once unless told. */
  readonly threads?: number;
}

/** The processors of this machine, running C that the system's compiler made: worker threads, one board between them. */
export class NativeDevice implements Device {
  readonly info: DeviceInfo;
  readonly #cpu: Cpu;
  readonly #compiler: Compiler;
  readonly #pool: WorkerPool;
  readonly #boardAddress: number;
  readonly #memory: Memory;
  readonly #cache: Promise<DiskCache>;
  readonly #queues: (Queue | undefined)[] = new Array(STREAMS).fill(undefined);
  /** Queues whose stream was closed; their line is free once they are empty. */
  readonly #closing = new Set<Queue>();
  readonly #traps: { readonly name: string; readonly sites: readonly Origin[] }[] = [];
  #freesWaiting = false;
  #end: { readonly error: MillraceError; readonly done: Promise<void> } | undefined;

  constructor(cpu: Cpu, compiler: Compiler, threads: number) {
    this.info = describe(cpu, compiler, threads);
    this.#cpu = cpu;
    this.#compiler = compiler;
    this.#pool = new WorkerPool(threads, { news: () => this.#news(), failed: (cause) => this.#failed(cause) });
    this.#boardAddress = addressOf(this.#pool.board.words);
    this.#memory = new Memory(cpu.memoryBytes, () => this.#delayFree());
    this.#cache = DiskCache.open();
    this.#cache.catch(() => undefined); // told where it is used
  }

  async start(): Promise<this> {
    await this.#pool.start();
    return this;
  }

  async compile(kernel: Kernel, options: CompileOptions = {}): Promise<NativeProgram> {
    this.checkOpen();
    const { lanes = 'auto', hoist = true, nativeBodies = true, checked = false, wide = false, pipes = 0 } = options;
    const lowered = lower(kernel, {
      target: 'c',
      lanes: lanes === 'auto' ? bestLanes(kernel, this.#cpu) : lanes,
      hoist,
      checked,
      cpu: this.#cpu,
      nativeBodies,
      wide,
      pipes,
    });
    const { program } = lowered;
    return this.load({
      ...lowered,
      name: program.name,
      job: program.job,
      chunk: program.chunk.slice(implicitChunk.length),
      hit: program.hit,
      bindings: program.buffers.slice(0, -1), // the ring is the last, and given by name
      params: { jobWords: program.jobWords, chunkWords: program.chunkWords },
      ring: ringLayout(program),
      parameters: (job) => new JobParameters(program, job),
    });
  }

  /** Compiles text that obeys the C ABI. `compile` ends here; tests come in here with C of their own. */
  async load(source: NativeSource): Promise<NativeProgram> {
    this.checkOpen();
    const compiled = await compile(source, this.#compiler, this.#cpu, await this.#cache);
    this.checkOpen();
    const entry = symbolIn(loadForever(compiled.path), 'millrace_run');
    this.#traps.push({ name: source.name, sites: source.sites });
    return new NativeProgram(this, this.#traps.length, entry, source, compiled);
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    this.checkOpen();
    checkAllocation(this, bytes);
    return this.#memory.take(this, bytes);
  }

  stream(): Stream {
    this.checkOpen();
    this.#reclaim();
    const line = this.#queues.indexOf(undefined);
    if (line < 0) {
      throw new MillraceError({
        code: 'launch-range',
        message: `device ${this.info.id} has all of its ${STREAMS} streams open`,
        asked: 'another stream()',
        advice: 'close streams that are not needed, or share one',
      });
    }
    const queue = new Queue(this.#pool, line);
    this.#queues[line] = queue;
    const { words } = this.#pool.board;
    if (line >= Atomics.load(words, Pool.lines)) Atomics.store(words, Pool.lines, line + 1);
    return new NativeStream(this, queue, this.#boardAddress);
  }

  close(): Promise<void> {
    return this.#finish(
      new MillraceError({
        code: 'device-closed',
        message: `device ${this.info.id} has been closed`,
        asked: 'work on it',
        advice: 'wait for completions before close(), and open the device again for more',
      }),
    );
  }

  /** Where the directory of compiled programs is not the usual one: why. */
  async cacheWarning(): Promise<string | undefined> {
    return (await this.#cache).warning;
  }

  checkOpen(): void {
    if (this.#end) throw this.#end.error;
  }

  /** For streams: there is something to wait for. */
  watch(): void {
    this.#pool.keepAlive(true);
    this.#pool.watch();
  }

  /** For streams: what is queued still runs, nothing new comes. */
  closeStream(queue: Queue): void {
    this.#closing.add(queue);
    this.#reclaim();
  }

  readonly explainTrap = (program: number, site: number, index: number, length: number): MillraceError => {
    const { name = 'unknown', sites = [] } = this.#traps[program - 1] ?? {};
    const origin = sites[site];
    const size = length > 0 ? ` of ${length} elements` : '';
    return new MillraceError({
      code: 'kernel-bounds',
      message: `kernel ${name}: index ${index} is outside its buffer or table${size}`,
      asked: origin ? [...origin.helpers, origin.line].join(' > ') : `access ${site}`,
      advice: 'guard the access with when(), or make the buffer larger',
    });
  };

  /** The board has moved on: settle marks, move spilled commands up, free what was waiting. */
  #news(): boolean {
    let busy = false;
    for (const queue of this.#queues) {
      if (queue === undefined) continue;
      // Marks bring news by themselves; room for spilled commands does not. Once more where it is there already.
      while (queue.settle() && queue.spilling && !queue.wantNews());
      busy ||= queue.busy;
    }
    this.#reclaim();
    this.#pool.keepAlive(busy);
    return this.#watchFrees() || busy;
  }

  /** A free that waits for commands must not keep the process alive, but must happen. */
  #delayFree(): void {
    this.#freesWaiting = true;
    this.#pool.watch();
  }

  #watchFrees(): boolean {
    if (!this.#freesWaiting) return false;
    let waiting = false;
    for (const queue of this.#queues) {
      if (queue?.wantNews()) waiting = true;
      else queue?.settle();
    }
    this.#freesWaiting = waiting;
    return waiting;
  }

  #reclaim(): void {
    for (const queue of this.#closing) {
      queue.settle();
      if (!queue.empty) continue;
      this.#queues[queue.line] = undefined;
      this.#closing.delete(queue);
    }
  }

  #failed(cause: unknown): void {
    void this.#finish(
      new MillraceError({
        code: 'device-failed',
        message: `a worker thread of device ${this.info.id} died: ${cause instanceof Error ? cause.message : String(cause)}`,
        asked: 'work in flight',
        advice: 'open the device again; if it happens again, run with a checked build to find the access that does it',
        cause,
      }),
    );
  }

  /** Fails what is in flight, ends the workers, then lets go of the memory they used. */
  #finish(error: MillraceError): Promise<void> {
    this.#end ??= { error, done: this.#shutDown(error) };
    return this.#end.done;
  }

  async #shutDown(error: MillraceError): Promise<void> {
    for (const queue of this.#queues) {
      queue?.settle(); // what was done in time counts
      queue?.fail(error);
    }
    await this.#pool.stop(error.code === 'device-failed');
    this.#queues.fill(undefined);
    this.#memory.giveAll();
  }
}

function describe(cpu: Cpu, compiler: Compiler, threads: number): DeviceInfo {
  return {
    id: 'native',
    kind: 'native',
    name: cpu.name,
    memoryBytes: cpu.memoryBytes,
    units: threads,
    capabilities: capabilities(cpu),
    limits: { bufferBytes: cpu.memoryBytes, lanes: widestLanes(cpu) },
    versions: { compiler: compiler.version, node: process.versions.node },
  };
}

export async function probe(
  options: NativeOptions = {},
): Promise<{ readonly infos: readonly DeviceInfo[] } | { readonly reason: string }> {
  const found = await find();
  if ('reason' in found) return found;
  const cpu = thisCpu();
  return { infos: [describe(cpu, found, threadsOf(cpu, options))] };
}

export async function open(id: string, options: NativeOptions = {}): Promise<NativeDevice> {
  const found = id === 'native' ? await find() : { reason: 'there is one native device, with all processors: native' };
  if ('reason' in found) {
    throw new MillraceError({
      code: 'device-absent',
      message: `device ${id} is not on this machine`,
      asked: `device ${id}`,
      advice: found.reason,
    });
  }
  const cpu = thisCpu();
  return new NativeDevice(cpu, found, threadsOf(cpu, options)).start();
}

async function find(): Promise<Compiler | { readonly reason: string }> {
  if (process.platform === 'win32') return { reason: 'the native device needs Linux or macOS' };
  return findCompiler();
}

function threadsOf(cpu: Cpu, { threads = cpu.threads }: NativeOptions): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= 1024) return threads;
  throw new MillraceError({
    code: 'usage',
    message: `${threads} is no number of threads`,
    asked: `threads ${threads}`,
    advice: 'give a whole number from 1 to 1024',
  });
}
