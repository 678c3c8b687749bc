import { launchBlock } from '../../../kernel/abi/grid.js';
import { MillraceError } from '../../../kernel/error.js';
import { type Field, type FieldValues, type LoweredGpuKernel, lowerGpu } from '../../../kernel/index.js';
import { queueEntryWords } from '../../../kernel/render/gpu/cuda-queue.js';
import { checkResident } from '../../checks/launch.js';
import type { BoundJob, Device, Resident, ResidentOptions } from '../../device.js';
import type { GpuBuffer } from '../host/buffer.js';
import { GpuJob, type GpuProgram } from '../host/program.js';
import { type QueueSizes, ResidentMemory } from './memory.js';
import { type ResidentLink, ResidentQueue } from './resident.js';

export interface ResidentsOptions {
  readonly device: Device;
  readonly link: ResidentLink;
  /** Compiles and loads text of the `queue` harness; returns the number that identifies it to the worker. */
  load(lowered: LoweredGpuKernel): Promise<number>;
}

interface QueueProgram {
  readonly number: number;
  readonly lowered: LoweredGpuKernel;
}

/** All resident grids of a device, on the main thread. */
export class Residents {
  readonly #options: ResidentsOptions;
  readonly #queues = new Map<number, ResidentQueue>();
  readonly #programs = new WeakMap<GpuProgram, Promise<QueueProgram>>();
  #lastNumber = 0;

  constructor(options: ResidentsOptions) {
    this.#options = options;
  }

  /** Opens a grid. Undefined if the worker cannot run it. */
  async open(job: BoundJob, options: ResidentOptions): Promise<Resident | undefined> {
    const { device, link } = this.#options;
    const buffers = checkResident<GpuBuffer>(device, job, options);
    if (!(job instanceof GpuJob))
      throw new TypeError('not a job of this device: call bind() of a program that was compiled on it');
    const { compileInput, ring, hit } = job.program;
    if (compileInput === undefined || compileInput.options.checked) return undefined;
    const { number: program, lowered } = await this.#program(job.program, compileInput);
    checkResident<GpuBuffer>(device, job, options); // the program or a buffer may have been closed meanwhile
    const { entries, hits } = options;
    const sizes: QueueSizes = {
      capacityLog: Math.ceil(Math.log2(2 * entries)), // space for entries that are done before older ones
      entryWords: queueEntryWords(lowered),
      ringWords: hit.length === 0 ? 0 : ring.headerWords + hits * ring.recordWords,
    };
    const memory = ResidentMemory.allocate(sizes);
    const bytes = [...buffers.map((buffer) => buffer.bytes), ...(hit.length > 0 ? [4 * sizes.ringWords] : [])];
    const words = job.parameters.words(0n, hits, zeros(job.program.chunk), bytes);
    const block = launchBlock(lowered.shape, { count: 1, epoch: 0, bytes }, words);
    const number = ++this.#lastNumber;
    const ask = { number, program, memory: memory.memory, sizes, block, buffers: buffers.map((own) => own.number) };
    const onClosed = (): void => void this.#queues.delete(number);
    const queue = new ResidentQueue({ device, link, job, number, memory, hits, buffers, onClosed });
    this.#queues.set(number, queue);
    const isOpen = await link.call('grid', ask).catch((error) => {
      this.#queues.delete(number);
      // The GPU is full or the kernel does not fit: launches may still work.
      if (error instanceof MillraceError && error.code !== 'device-closed' && error.code !== 'device-failed')
        return false;
      throw error;
    });
    if (isOpen) return queue;
    queue.discard();
    this.#queues.delete(number);
    return undefined;
  }

  get count(): number {
    return this.#queues.size;
  }

  /** Called when something may have changed. Returns true if there is more to wait for. */
  processFlags(): boolean {
    let isBusy = false;
    for (const queue of this.#queues.values()) if (queue.processFlags()) isBusy = true;
    if (isBusy) this.#options.link.keepProcessAlive(true);
    return isBusy;
  }

  gridEnded(number: number, error: MillraceError): void {
    this.#queues.get(number)?.end(error);
  }

  fail(error: Error): void {
    for (const queue of this.#queues.values()) queue.fail(error);
    this.#queues.clear();
  }

  /** Calls `free` when no grid uses the buffer any more. Closes the grids that still use it first. */
  release(buffer: number, free: () => void): void {
    const users = [...this.#queues.values()].filter((queue) => queue.uses(buffer));
    if (users.length === 0) free();
    else void Promise.all(users.map((queue) => queue.closeAndWait())).then(free);
  }

  #program(program: GpuProgram, { kernel, options }: NonNullable<GpuProgram['compileInput']>): Promise<QueueProgram> {
    const known = this.#programs.get(program);
    if (known) return known;
    const lowered = lowerGpu(kernel, { ...options, harness: 'queue' });
    const loading = this.#options.load(lowered).then((number) => {
      program.code.add(number);
      return { number, lowered };
    });
    this.#programs.set(program, loading);
    loading.catch(() => this.#programs.delete(program));
    return loading;
  }
}

/** Chunk values for the words of the launch block, which the values of entries replace. */
function zeros(fields: readonly Field[]): FieldValues {
  const zero = (type: Field['type']): number | bigint | boolean => (type === 'bool' ? false : type === 'u64' ? 0n : 0);
  const entries = fields.map(({ name, type, length, array }) => [
    name,
    array ? Array.from({ length }, () => zero(type)) : zero(type),
  ]);
  return Object.fromEntries(entries) as FieldValues;
}
