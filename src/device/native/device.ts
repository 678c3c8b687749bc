import { MillraceError } from '../../kernel/error.js';
import { type Kernel, lower } from '../../kernel/index.js';
import { DiskCache } from '../cache/cache.js';
import { deviceAbsent } from '../checks/absent.js';
import { checkAllocation } from '../checks/launch.js';
import type { CompileOptions, DeviceBuffer, DeviceInfo, HostMemory, Sensors } from '../device.js';
import type { Diagnostic } from '../kinds.js';
import { newBoard } from '../pool/board.js';
import { PoolDevice } from '../pool/device.js';
import type { PoolProgram } from '../pool/program.js';
import type { HostTransfers } from '../pool/stream.js';
import { workerUrl } from '../pool/threads/threads.js';
import { type ProgramSource, sourceOf } from '../program.js';
import { NativeMemory } from './buffer.js';
import { addressOf, loadCalls, type NativeCalls, nativeCallsSource } from './calls.js';
import { compile } from './compile.js';
import { type Compiler, findCompiler } from './compiler.js';
import { type Cpu, capabilities, maxLanes, thisCpu } from './cpu.js';
import { hostTransfers } from './host.js';
import { readCpuSensors } from './sensors.js';
import type { NativeWorkerStart } from './worker.js';

export interface NativeOptions {
  /** Worker threads; defaults to as many as the processor runs at once. */
  readonly threads?: number;
}

/** The processors of this machine, running C compiled by the system's compiler: worker threads that share one board. */
export class NativeDevice extends PoolDevice {
  protected readonly transfers: HostTransfers;
  readonly #calls: NativeCalls;
  readonly #cpu: Cpu;
  readonly #compiler: Compiler;
  readonly #memory: NativeMemory;
  readonly #cache: DiskCache;

  /** `addon`: the file of the addon that this thread and the workers load (`calls.ts`). */
  constructor(cpu: Cpu, compiler: Compiler, threads: number, cache: DiskCache, addon: string) {
    const board = newBoard();
    const calls = loadCalls(addon);
    const data = (): NativeWorkerStart => ({ memory: board.memory, threads, calls: addon });
    const file = workerUrl(import.meta.url);
    const boardAddress = addressOf(calls, board.words);
    super(nativeInfo(cpu, compiler, threads), boardAddress, { device: 'native', board, threads, file, data });
    this.#calls = calls;
    this.transfers = hostTransfers(calls);
    this.#cpu = cpu;
    this.#compiler = compiler;
    this.#memory = new NativeMemory(calls, cpu.memoryBytes, () => this.watchDelayedFrees());
    this.#cache = cache;
  }

  async compile(kernel: Kernel, options: CompileOptions = {}): Promise<PoolProgram> {
    this.checkOpen();
    const { lanes = 'auto', hoist = true, nativeBodies = true, checked = false, wide = false, pipes = 0 } = options;
    const lowered = lower(kernel, {
      target: 'c',
      lanes,
      hoist,
      checked,
      cpu: this.#cpu,
      nativeBodies,
      wide,
      pipes,
    });
    return this.load(sourceOf(lowered));
  }

  /** Compiles text that follows the C ABI. `compile` ends here; tests pass their own C. */
  async load(source: ProgramSource): Promise<PoolProgram> {
    this.checkOpen();
    const compiled = await compile(source, this.#compiler, this.#cpu, this.#cache);
    this.checkOpen();
    const calls = this.#calls;
    // SAFETY: generated code starts no threads, and is unloaded when no thread is in it or will enter it.
    const library = calls.open(compiled.path);
    const unload = (): void => calls.close(library);
    try {
      return this.newProgram(source, calls.symbol(library, 'millrace_run'), compiled, unload);
    } catch (error) {
      unload();
      throw error;
    }
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    this.checkOpen();
    checkAllocation(this, bytes);
    return this.#memory.allocate(this, bytes);
  }

  override async host(bytes: number): Promise<HostMemory> {
    this.checkOpen();
    return this.#memory.allocateHost(this, bytes);
  }

  protected freeAll(): void {
    this.#memory.freeAll();
  }
}

function nativeInfo(cpu: Cpu, compiler: Compiler, threads: number): DeviceInfo {
  return {
    id: 'native',
    kind: 'native',
    processor: 'cpu',
    name: cpu.name,
    memoryBytes: cpu.memoryBytes,
    units: threads,
    capabilities: capabilities(cpu),
    limits: { bufferBytes: cpu.memoryBytes, lanes: maxLanes(cpu) },
    versions: { compiler: compiler.version, node: process.versions.node },
  };
}

export async function probe(
  options: NativeOptions = {},
): Promise<{ readonly infos: readonly DeviceInfo[] } | { readonly reason: string }> {
  const found = await findNativeCompiler();
  if ('reason' in found) return found;
  const cpu = thisCpu();
  return { infos: [nativeInfo(cpu, found, checkThreads(cpu, options))] };
}

export async function open(id: string, options: NativeOptions = {}): Promise<NativeDevice> {
  const found =
    id === 'native'
      ? await findNativeCompiler()
      : { reason: 'the only native device is native, which uses all processors' };
  if ('reason' in found) throw deviceAbsent(id, found.reason);
  const cpu = thisCpu();
  const threads = checkThreads(cpu, options);
  const cache = await DiskCache.open();
  const calls = await compile(nativeCallsSource, found, cpu, cache);
  return new NativeDevice(cpu, found, threads, cache, calls.path).start();
}

/** For `millrace devices --watch`. */
export const sensors = (): Promise<Sensors> => readCpuSensors();

/** For `millrace doctor`. */
export async function diagnose(): Promise<readonly Diagnostic[]> {
  const found = await findNativeCompiler();
  if ('reason' in found) return [{ what: 'compiler', state: 'missing', found: found.reason }];
  const command = [found.path, ...found.arguments].join(' ');
  const flags = found.machineFlags.join(' ');
  return [
    { what: 'compiler', state: 'ok', found: `${found.version}, ${command}` },
    flags === ''
      ? {
          what: 'this CPU',
          state: 'warning',
          found: 'the compiler knows neither -march=native nor -mcpu=native',
          advice: 'install a newer compiler, which generates faster code, or name one in MILLRACE_CC',
        }
      : { what: 'this CPU', state: 'ok', found: `${flags}; ${capabilities(thisCpu()).join(' ')}` },
  ];
}

async function findNativeCompiler(): Promise<Compiler | { readonly reason: string }> {
  if (process.platform === 'win32') return { reason: 'the native device needs Linux or macOS' };
  return findCompiler();
}

function checkThreads(cpu: Cpu, { threads = cpu.threads }: NativeOptions): number {
  if (Number.isInteger(threads) && threads >= 1 && threads <= 1024) return threads;
  throw new MillraceError({
    code: 'usage',
    message: `${threads} is not a valid number of threads`,
    asked: `threads ${threads}`,
    advice: 'give a whole number from 1 to 1024',
  });
}
