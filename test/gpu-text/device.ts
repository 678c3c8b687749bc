import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type {
  BoundJob,
  CompileOptions,
  Completion,
  Device,
  DeviceBuffer,
  DeviceInfo,
  DeviceProgram,
  Launch,
  Report,
  Stream,
  Values,
} from '../../src/device/device.js';
import { checkLaunch, HeldBuffer } from '../../src/device/launch.js';
import { gridSize, Header, launchBlock, STATUS_WORDS, Status } from '../../src/kernel/grid.js';
import { implicitChunk } from '../../src/kernel/harness.js';
import { JobParameters, type Kernel, MillraceError, ringLayout } from '../../src/kernel/index.js';
import { type GpuTarget, type LoweredGpu, lowerGpu } from '../../src/kernel/lower-gpu.js';

/**
 * The least device that runs generated text, so that the conformance suite can judge it: a process that holds the
 * runtime, one command after the other, everything waited for. The real devices are elsewhere.
 */
export class TextDevice implements Device {
  readonly info: DeviceInfo;
  readonly runtime: RuntimeProcess;
  readonly #target: GpuTarget;
  readonly #workgroup: number;
  /** Programs that were built. */
  built = 0;

  private constructor(runtime: RuntimeProcess, target: GpuTarget, name: string, workgroup: number) {
    this.runtime = runtime;
    this.#target = target;
    this.#workgroup = workgroup;
    this.info = {
      id: `${target}-text`,
      kind: target === 'wgsl' ? 'webgpu' : 'opencl',
      processor: 'cpu',
      name,
      memoryBytes: 2 ** 30,
      units: 1,
      capabilities: target === 'wgsl' ? [] : ['f64', 'u64'],
      limits: { bufferBytes: 2 ** 28, lanes: workgroup },
      versions: {},
    };
  }

  static async open(target: 'opencl' | 'wgsl', workgroup: number): Promise<TextDevice> {
    const runtime = await RuntimeProcess.start(target === 'opencl' ? 'pocl.mjs' : 'dawn.mjs');
    return new TextDevice(runtime, target, String(await runtime.call('info')), workgroup);
  }

  async compile(kernel: Kernel, options: CompileOptions = {}): Promise<DeviceProgram> {
    const { lanes, hoist = true, checked = false } = options;
    const lowered = lowerGpu(kernel, {
      target: this.#target,
      workgroup: typeof lanes === 'number' ? lanes : this.#workgroup,
      hoist,
      checked,
      pipes: options.pipes ?? 0,
    });
    const { shape } = lowered;
    this.built++;
    const id = await this.runtime
      .call('build', {
        text: lowered.text,
        entry: shape.entry,
        workgroup: shape.workgroup,
        options: shape.compilerOptions,
        kinds: shape.bindings.map(({ kind }) => kind),
        byValue: shape.launch.byValue,
      })
      .catch((error: Error) => {
        const message = `${this.info.name} does not compile ${kernel.name}: ${error.message}`;
        throw new MillraceError({ code: 'device-compile', message, asked: lowered.text });
      });
    return new TextProgram(this, lowered, id as number);
  }

  async alloc(bytes: number): Promise<DeviceBuffer> {
    const buffer = new TextBuffer(this, bytes, (await this.runtime.call('alloc', bytes)) as number);
    await this.runtime.call('write', buffer.id, 0, new Uint8Array(4 * Math.ceil(bytes / 4)));
    return buffer;
  }

  async host(): Promise<never> {
    throw new TypeError('this device has no memory of its own on the host');
  }

  stream(): Stream {
    return new TextStream(this);
  }

  async close(): Promise<void> {
    this.runtime.end();
  }
}

class TextProgram implements DeviceProgram {
  readonly device: TextDevice;
  readonly lowered: LoweredGpu;
  readonly id: number;
  readonly name: string;
  readonly text: string;
  readonly job;
  readonly chunk;
  readonly hit;
  readonly bindings;
  readonly params;
  readonly lanes: number;
  readonly statements: number;
  readonly ring;
  readonly compile = { milliseconds: 0, cached: false };

  constructor(device: TextDevice, lowered: LoweredGpu, id: number) {
    const { program } = lowered;
    this.device = device;
    this.lowered = lowered;
    this.id = id;
    this.name = program.name;
    this.text = lowered.text;
    this.job = program.job;
    this.chunk = program.chunk.slice(implicitChunk.length);
    this.hit = program.hit;
    this.bindings = program.buffers.filter(({ name }) => name !== 'ring');
    this.params = { jobWords: program.jobWords, chunkWords: program.chunkWords };
    this.lanes = lowered.lanes;
    this.statements = lowered.statements;
    this.ring = ringLayout(program);
  }

  bind(job: Values): BoundJob & { readonly parameters: JobParameters } {
    return { program: this, parameters: new JobParameters(this.lowered.program, job) };
  }
}

class TextBuffer extends HeldBuffer {
  readonly id: number;
  constructor(device: TextDevice, bytes: number, id: number) {
    super(device, bytes);
    this.id = id;
  }
  free(): void {
    this.freed = true;
  }
}

/** Workgroups of a launch: few, so that they stride. */
const MOST_GROUPS = 6;

class TextStream implements Stream {
  readonly #device: TextDevice;
  #before: Promise<unknown> = Promise.resolve();
  #failed: unknown;
  #complete = true;
  #epoch = 1;

  constructor(device: TextDevice) {
    this.#device = device;
  }

  #queue(work: () => Promise<unknown>): void {
    this.#before = this.#before.then(work).catch((error) => {
      this.#failed ??= error;
    });
  }
  #call(name: string, ...args: unknown[]): Promise<unknown> {
    return this.#device.runtime.call(name, ...args);
  }

  write(buffer: DeviceBuffer, data: ArrayBufferView, offset = 0): void {
    const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.#queue(() => this.#call('write', idOf(buffer), offset, bytes));
  }
  read(buffer: DeviceBuffer, into: ArrayBufferView, offset = 0): void {
    this.#queue(async () => {
      const bytes = (await this.#call('read', idOf(buffer), offset, into.byteLength)) as Uint8Array;
      new Uint8Array(into.buffer, into.byteOffset, into.byteLength).set(bytes);
    });
  }
  copy(from: DeviceBuffer, to: DeviceBuffer, bytes: number, fromOffset = 0, toOffset = 0): void {
    this.#queue(() => this.#call('copy', idOf(from), fromOffset, idOf(to), toOffset, bytes));
  }
  fill(buffer: DeviceBuffer, word: number, offset = 0, bytes = buffer.bytes - offset): void {
    const words = new Uint32Array(bytes / 4).fill(word);
    this.write(buffer, words, offset);
  }

  launch(launch: Launch): void {
    const checked = checkLaunch<TextBuffer>(this.#device, launch);
    const { lowered, id } = launch.job.program as TextProgram;
    const { parameters } = launch.job as ReturnType<TextProgram['bind']>;
    const { shape } = lowered;
    const words = parameters.words(checked.base, checked.ringCapacity, launch.chunk);
    const buffers = checked.ring ? [...checked.buffers, checked.ring] : checked.buffers;
    const epoch = this.#epoch;
    if (checked.count === 0) return;
    this.#queue(async () => {
      const bytes = buffers.map((buffer) => buffer.bytes);
      const block = launchBlock(shape, { count: checked.count, epoch, bytes }, words);
      const own = {
        launch: await this.#holding(block),
        cancel: await this.#holding(Uint32Array.of(this.#epoch, 0, 0, 0)),
        status: await this.#holding(new Uint32Array(STATUS_WORDS)),
        tables: await this.#holding(shape.tables),
        counted: null as number | null,
      };
      const { countFrom } = checked;
      if (countFrom && shape.bindings.some(({ kind }) => kind === 'counted')) {
        own.counted = await this.#holding(new Uint32Array(1));
        await this.#call('copy', countFrom.buffer.id, countFrom.word * 4, own.counted, 0, 4);
      } else if (countFrom) {
        await this.#call('write', own.launch, Header.isCounted * 4, new Uint8Array(Uint32Array.of(1).buffer));
        await this.#call('copy', countFrom.buffer.id, countFrom.word * 4, own.launch, Header.count * 4, 4);
      }
      let at = 0;
      const bindings = shape.bindings.map(({ kind }) =>
        kind === 'launch' || kind === 'cancel' || kind === 'status' || kind === 'tables' || kind === 'counted'
          ? own[kind]
          : (buffers[at++]?.id ?? null),
      );
      await this.#call('run', id, gridSize(shape, checked.count, MOST_GROUPS), bindings);
      const bytesOf = (await this.#call('read', own.status, 0, STATUS_WORDS * 4)) as Uint8Array;
      const status = new Uint32Array(bytesOf.slice().buffer);
      for (const held of Object.values(own)) if (held !== null) await this.#call('free', held);
      if (status[Status.incomplete]) this.#complete = false;
      if (status[Status.trapped]) throw trap(lowered, status);
    });
  }

  async #holding(words: Uint32Array): Promise<number> {
    const id = (await this.#call('alloc', words.byteLength)) as number;
    await this.#call('write', id, 0, new Uint8Array(words.buffer));
    return id;
  }

  wait(completion: Completion): void {
    this.#queue(() => completion.done.catch(() => undefined));
  }
  mark(): Completion {
    const done = this.#before.then((): Report => {
      const [failed, complete] = [this.#failed, this.#complete];
      this.#failed = undefined;
      this.#complete = true;
      if (failed) throw failed;
      return { startedNs: 0n, endedNs: 1n, complete };
    });
    this.#before = done.catch(() => undefined);
    done.catch(() => undefined);
    return { done };
  }
  cancel(): void {
    this.#epoch++;
  }
  close(): void {}
}

const idOf = (buffer: DeviceBuffer): number => (buffer as TextBuffer).id;

function trap({ sites, program }: LoweredGpu, status: Uint32Array): MillraceError {
  return new MillraceError({
    code: 'kernel-bounds',
    message: `kernel ${program.name}: index ${status[Status.index]} is outside of ${status[Status.length]} elements`,
    asked: sites[status[Status.site] as number]?.line ?? 'nowhere',
  });
}

/** A process that holds a runtime and answers calls. */
export class RuntimeProcess {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  #next = 1;
  #log = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stderr?.on('data', (text) => {
      this.#log += text;
    });
    child.on('message', ({ id, result, error }: { id: number; result?: unknown; error?: string }) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error));
    });
    child.on('exit', (code, signal) => {
      const why = `the runtime's process ended (${signal ?? code})\n${this.#log.trim().slice(-2000)}`;
      for (const { reject } of this.#waiting.values()) reject(new Error(why));
      this.#waiting.clear();
    });
  }

  static async start(script: string): Promise<RuntimeProcess> {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const env = { ...process.env };
    // Where there is no driver, the software one that comes with Debian's chromium.
    env.VK_ICD_FILENAMES ??= '/usr/lib/chromium/vk_swiftshader_icd.json';
    const child = fork(path, { serialization: 'advanced', silent: true, env });
    const runtime = new RuntimeProcess(child);
    await new Promise((resolve, reject) => runtime.#waiting.set(0, { resolve, reject }));
    return runtime;
  }

  call(call: string, ...args: unknown[]): Promise<unknown> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#child.send({ id, call, args });
    });
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}
