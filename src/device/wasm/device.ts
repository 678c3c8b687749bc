import { MillraceError } from '../../kernel/error.js';
import { type Kernel, lower, plainCpu, WASM_LANES } from '../../kernel/index.js';
import { deviceAbsent } from '../checks/absent.js';
import { compileError } from '../checks/compile-error.js';
import { checkAllocation, formatBytes } from '../checks/launch.js';
import type { CompileOptions, DeviceBuffer, DeviceInfo } from '../device.js';
import type { Diagnostic } from '../kinds.js';
import { mapBoard } from '../pool/board.js';
import { type BufferOwner, PoolBuffer } from '../pool/buffer.js';
import { PoolDevice } from '../pool/device.js';
import type { PoolProgram } from '../pool/program.js';
import { workerUrl } from '../pool/threads/threads.js';
import { type ProgramSource, sourceOf } from '../program.js';
import { api, type WasmModule } from './api.js';
import { assemble, type ModuleStore, startWabt } from './assemble.js';
import { announceClosed, CLOSED_WORDS } from './closed-programs.js';
import { thisEngine } from './engine.js';
import { engineFeatures } from './features.js';
import { StagedTransfers } from './host.js';
import { type Allocation, BOARD_ADDRESS, capacityOf, DeviceMemory, MAX_PAGES } from './memory.js';
import { ALIGNMENT } from './ranges.js';
import { RECORD_WORDS, type WasmWorkerStart } from './start.js';

export interface WasmOptions {
  /** Worker threads; defaults to as many as the processor runs at once. */
  readonly threads?: number;
}

/** Up to this size this thread zeroes buffers, about 50 µs; larger ones are zeroed by workers. */
const MAX_ZERO_BYTES = 2 ** 19;

/** WebAssembly, in Node and in pages: worker threads over one shared memory, running modules that wabt assembled. */
export class WasmDevice extends PoolDevice implements BufferOwner {
  protected readonly transfers: StagedTransfers;
  readonly #simd: boolean;
  readonly #memory: DeviceMemory;
  readonly #owned = new Map<PoolBuffer, Allocation>();
  readonly #closedAddress: number;
  /** Keeps modules alive, so that workers find them compiled. */
  readonly #modules = new Set<WasmModule>();

  readonly #store: ModuleStore | undefined;

  constructor(memory: DeviceMemory, simd: boolean, threads: number, store?: ModuleStore) {
    const board = mapBoard(memory.wasm.buffer, BOARD_ADDRESS);
    const closedAddress = memory.allocate(CLOSED_WORDS * 4)?.at ?? 0; // the first allocation of a memory that has space for it
    const data = (index: number): WasmWorkerStart => ({ memory: memory.wasm, threads, index, closedAddress });
    const file = workerUrl(import.meta.url);
    super(wasmInfo(simd, threads, memory.maxPages), BOARD_ADDRESS, { device: 'wasm', board, threads, file, data });
    this.#simd = simd;
    this.#store = store;
    this.#memory = memory;
    this.#closedAddress = closedAddress;
    this.transfers = new StagedTransfers(
      memory,
      () => this.resumeTransfers(),
      (content) => this.#noMemory(content, 'shared memory for it'),
    );
  }

  async compile(kernel: Kernel, options: CompileOptions = {}): Promise<PoolProgram> {
    this.checkOpen();
    const started = performance.now();
    const { lanes = 'auto', hoist = true, nativeBodies = true, checked = false, wide = false, pipes = 0 } = options;
    const lowered = lower(kernel, {
      target: 'wat',
      lanes: this.#simd ? lanes : 1,
      hoist,
      checked,
      cpu: plainCpu,
      nativeBodies,
      wide,
      pipes,
    });
    return this.load(sourceOf(lowered), started);
  }

  /** Assembles text that follows the ABI of `kernel/render/wat/`. */
  async load(source: ProgramSource, started = performance.now()): Promise<PoolProgram> {
    this.checkOpen();
    const { bytes, cached } = await this.#assemble(source);
    const module = await api.compile(bytes);
    this.checkOpen();
    const perThread = Math.ceil((source.threadBytes ?? 0) / ALIGNMENT) * ALIGNMENT;
    const sizes = [RECORD_WORDS * 4, bytes.length, source.constantBytes ?? 0, perThread * this.info.units];
    const ranges = this.#allocateAll(source.name, sizes);
    const [recordAt = 0, codeAt = 0, constantsAt = 0, nearAt = 0] = ranges.map(({ at }) => at);
    this.#memory.bytes.set(bytes, codeAt);
    this.#memory.words.set([codeAt, bytes.length, constantsAt, nearAt, perThread], recordAt / 4);
    this.#modules.add(module);
    return this.newProgram(source, recordAt, { milliseconds: performance.now() - started, cached }, ({ number }) => {
      this.#modules.delete(module);
      for (const range of ranges) this.#memory.free(range);
      announceClosed(new Int32Array(this.#memory.wasm.buffer), this.#closedAddress / 4, number);
    });
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    this.checkOpen();
    checkAllocation(this, bytes);
    const range = this.#memory.allocate(bytes);
    if (!range) throw this.#noMemory(`another buffer of ${formatBytes(bytes)}`, `alloc(${bytes})`);
    const buffer = new PoolBuffer(this, bytes, range.at, this);
    this.#owned.set(buffer, range);
    if (range.dirtyBytes <= MAX_ZERO_BYTES) this.#memory.bytes.fill(0, range.at, range.at + range.dirtyBytes);
    else await this.#zero(buffer);
    return buffer;
  }

  reclaim(buffer: PoolBuffer): void {
    const range = this.#owned.get(buffer);
    if (!range) return;
    this.#owned.delete(buffer);
    this.#memory.free(range);
  }

  onDelayedFree(): void {
    this.watchDelayedFrees();
  }

  protected override get isTurnSpent(): boolean {
    return this.transfers.isTurnSpent;
  }

  /** The memory is garbage collected when it is no longer referenced. */
  protected freeAll(): void {
    for (const buffer of this.#owned.keys()) buffer.freed = true;
    this.#owned.clear();
    this.#modules.clear();
  }

  async #zero(buffer: PoolBuffer): Promise<void> {
    const stream = this.stream();
    try {
      stream.fill(buffer, 0, 0, Math.floor(buffer.bytes / 4) * 4);
      await stream.mark().done;
      this.#memory.bytes.fill(0, buffer.address + Math.floor(buffer.bytes / 4) * 4, buffer.address + buffer.bytes);
    } finally {
      stream.close();
    }
  }

  async #assemble(source: ProgramSource): ReturnType<typeof assemble> {
    try {
      return await assemble(source.name, source.text, this.#store);
    } catch (cause) {
      throw assemblyError(source, cause);
    }
  }

  /** Allocates a range of each size, or none of them. */
  #allocateAll(name: string, sizes: readonly number[]): Allocation[] {
    const taken: Allocation[] = [];
    for (const bytes of sizes) {
      const range = this.#memory.allocate(bytes);
      if (range) {
        taken.push(range);
        continue;
      }
      for (const earlier of taken) this.#memory.free(earlier);
      throw this.#noMemory(`the code of kernel ${name}`, `${formatBytes(bytes)} for it`);
    }
    return taken;
  }

  #noMemory(content: string, asked: string): MillraceError {
    return new MillraceError({
      code: 'device-memory',
      message: `device wasm has no memory for ${content}`,
      asked: `${asked}; ${formatBytes(this.#memory.freeBytes)} of ${formatBytes(this.info.memoryBytes)} are free`,
      advice: 'free buffers, use smaller chunks or fewer slots; WebAssembly is limited to 4 GiB',
    });
  }
}

/** Builds the error from wabt's message, which names a line of the text. */
function assemblyError(source: ProgramSource, cause: unknown): MillraceError {
  const message = cause instanceof Error ? cause.message : String(cause);
  const match = /\.wat:(\d+):\d+: error: (.*)/.exec(message);
  return compileError(source, {
    compiler: 'wabt',
    error: match?.[2] ?? message.split('\n')[0] ?? '',
    line: match ? Number(match[1]) : undefined,
    asked: `compiling ${source.name} for ${source.lanes} lane(s)`,
    advice: 'this is a bug in Millrace: please report it with the kernel',
    cause,
  });
}

function wasmInfo(simd: boolean, threads: number, pages: number): DeviceInfo {
  const { name, versions } = thisEngine();
  return {
    id: 'wasm',
    kind: 'wasm',
    processor: 'cpu',
    name,
    memoryBytes: capacityOf(pages),
    units: threads,
    capabilities: ['u64', 'f64', 'exact-floats', 'atomics', ...(simd ? ['simd128'] : [])],
    limits: { bufferBytes: capacityOf(pages), lanes: simd ? WASM_LANES : 1 },
    versions,
  };
}

export async function probe(
  options: WasmOptions = {},
): Promise<{ readonly infos: readonly DeviceInfo[] } | { readonly reason: string }> {
  const found = engineFeatures();
  return 'reason' in found ? found : { infos: [wasmInfo(found.simd, checkThreads(options), MAX_PAGES)] };
}

export const open = (id: string, options: WasmOptions = {}): Promise<WasmDevice> => openWasm(id, options);

/** Opens the device. Modules that are not in `store` are assembled. */
export async function openWasm(id: string, options: WasmOptions, store?: ModuleStore): Promise<WasmDevice> {
  const found =
    id === 'wasm' ? engineFeatures() : { reason: 'the only wasm device is wasm, which uses all processors' };
  if ('reason' in found) throw deviceAbsent(id, found.reason);
  if (!store) startWabt().catch(() => undefined); // reported where it is needed; meanwhile the workers start
  return new WasmDevice(newDeviceMemory(), found.simd, checkThreads(options), store).start();
}

/** For `millrace doctor`. */
export async function diagnose(): Promise<readonly Diagnostic[]> {
  const found = engineFeatures();
  if ('reason' in found) return [{ what: 'engine', state: 'missing', found: found.reason }];
  const { name } = thisEngine();
  if (found.simd) return [{ what: 'engine', state: 'ok', found: `${name}: threads and SIMD` }];
  const advice = 'a newer engine is about four times as fast';
  return [{ what: 'engine', state: 'warning', found: `${name}: threads, no SIMD`, advice }];
}

function newDeviceMemory(): DeviceMemory {
  try {
    return new DeviceMemory();
  } catch (cause) {
    throw new MillraceError({
      code: 'device-memory',
      message: 'device wasm cannot reserve its memory',
      asked: 'a shared memory',
      advice: 'close other devices or pages; see the cause of this error',
      cause,
    });
  }
}

function checkThreads({ threads = thisEngine().threads }: WasmOptions): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= 1024) return threads;
  throw new MillraceError({
    code: 'usage',
    message: `${threads} is not a valid number of threads`,
    asked: `threads ${threads}`,
    advice: 'give a whole number from 1 to 1024',
  });
}
