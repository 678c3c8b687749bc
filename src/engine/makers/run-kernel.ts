import type { Device, DeviceBuffer, Launch, Stream } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import type { Buffers, Fields, FieldValues, Kernel } from '../../kernel/index.js';
import { PRINT_BUFFER } from '../../kernel/ir/prints.js';
import { openDevice } from '../devices.js';
import { type ArrayOf, arrayView, elementBytes, type WrittenBuffers } from '../flow/arrays.js';
import { checkReach } from '../flow/checked.js';
import { type OnPrint, PrintMemory, printToConsole } from '../flow/prints.js';
import { leaseProgram } from '../flow/programs.js';
import type { InputValues, RequiredIfDeclared } from '../flow/values.js';

/**
 * Runs a kernel once, for `count` items in one launch on one device, and gives the arrays that it has written:
 *
 *   const { y } = await run(kernel, { count: 1000, buffers: { x: numbers, y: 1000 } });
 *
 * A buffer is an array, which is copied to the device, or a number of elements, which are zero. The arrays that are
 * given do not change and must not be changed meanwhile.
 */
export async function run<J extends Fields, C extends Fields, B extends Buffers, H extends Fields>(
  kernel: Kernel<J, C, B, H>,
  options: RunOptions<J, C, B>,
): Promise<RunResult<B>> {
  const { count, checked = true, signal } = options;
  const job = (options.job ?? {}) as FieldValues;
  const memory = memoryOf(kernel, (options.buffers ?? {}) as GivenBuffers);
  const ends = count > 0 ? [...new Set([0, count - 1])] : [];
  checkReach(
    kernel,
    ends.map((item) => ({ job, index: BigInt(item), item })),
    Object.fromEntries(memory.map(({ name, bytes }) => [name, wholeWords(bytes.byteLength)])),
  );
  signal?.throwIfAborted();
  const { device, close } = await openDevice(options.devices);
  try {
    const { program, release } = await leaseProgram(device, kernel, checked ? { checked } : {});
    try {
      const launch = { job: program.bind(job), count, chunk: (options.chunk ?? {}) as FieldValues };
      await launchOnce(device, memory, launch, options);
    } finally {
      release();
    }
  } finally {
    await close();
  }
  const written = memory.flatMap(({ name, type, result }) =>
    result ? [[name, arrayView(type, result)] as const] : [],
  );
  return Object.fromEntries(written) as RunResult<B>;
}

export type RunOptions<J extends Fields, C extends Fields, B extends Buffers> = RequiredIfDeclared<
  'job',
  J,
  InputValues<J>
> &
  RequiredIfDeclared<'chunk', C, InputValues<C>> &
  (keyof B extends never
    ? { readonly buffers?: Readonly<Record<string, never>> }
    : { readonly buffers: { readonly [K in keyof B]: ArrayBufferView | number } }) & {
    /** The number of items, or tiles, up to 2^32. */
    readonly count: number;
    /** Default `auto`, the best available device. A device given by name is opened for the launch and closed after it. */
    readonly devices?: Device | string;
    /** False runs without bounds checks, which is faster. Default true: a job of one launch has only a first chunk. */
    readonly checked?: boolean;
    /** Receives what the kernel prints with `print()`. Default: the console. */
    readonly onPrint?: OnPrint;
    readonly signal?: AbortSignal;
  };

/** The arrays that a kernel has written, by buffer. */
export type RunResult<B extends Buffers> = { readonly [K in WrittenBuffers<B>]: ArrayOf<B[K]['type']> };

type GivenBuffers = Readonly<Record<string, ArrayBufferView | number>>;

interface HostBuffer {
  readonly name: string;
  readonly type: string;
  /** Copied to the device before the launch. */
  readonly bytes: Uint8Array;
  /** Copied from the device after the launch, if the kernel writes the buffer. */
  readonly result: Uint8Array | undefined;
}

function memoryOf({ name: kernel, signature }: Kernel, given: GivenBuffers): HostBuffer[] {
  const refuse = (message: string, advice: string): MillraceError =>
    new MillraceError({ code: 'launch-arguments', message: `kernel ${kernel}: ${message}`, asked: 'run()', advice });
  const declared = signature.buffers ?? {};
  if (Object.keys(signature.hit ?? {}).length > 0) throw refuse('it emits hits', 'use search(), which gives hits');
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(declared, name))
      throw refuse(
        `there is no buffer called ${name}`,
        `its buffers are ${Object.keys(declared).join(', ') || 'none'}`,
      );
  }
  return Object.entries(declared).map(([name, { kind, type }]) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const size = elementBytes(type);
    const isCount = typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
    if (!isCount && !ArrayBuffer.isView(value))
      throw refuse(`buffer ${name} is not given`, 'give an array, or a number of elements');
    if (typeof value !== 'number' && value.byteLength % size !== 0)
      throw refuse(`${value.byteLength} bytes are not a whole number of ${type}`, `a ${type} has ${size} bytes`);
    const bytes = typeof value === 'number' ? new Uint8Array(value * size) : bytesOfView(value);
    return { name, type, bytes, result: kind === 'read' ? undefined : new Uint8Array(bytes.byteLength) };
  });
}

const bytesOfView = (view: ArrayBufferView): Uint8Array =>
  new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

/** Devices address whole words. */
const wholeWords = (bytes: number): number => Math.ceil(bytes / 4) * 4;

/** Copies the buffers to the device, launches, and copies those that the kernel writes back. */
async function launchOnce(
  device: Device,
  memory: readonly HostBuffer[],
  launch: Launch,
  { signal, onPrint = printToConsole }: { readonly signal?: AbortSignal; readonly onPrint?: OnPrint },
): Promise<void> {
  const buffers: Record<string, DeviceBuffer> = {};
  const prints = await PrintMemory.for(device, launch.job.program);
  const stream = device.stream();
  const abort = (): void => stream.cancel();
  try {
    for (const { name, bytes } of memory) {
      const buffer = await device.alloc(wholeWords(bytes.byteLength));
      buffers[name] = buffer;
      stream.write(buffer, bytes);
    }
    signal?.addEventListener('abort', abort, { once: true });
    prints?.clear(stream);
    stream.launch({
      ...launch,
      buffers: { ...buffers, ...(prints && { [PRINT_BUFFER]: prints.buffer }) },
      ...(prints && { onPrint: prints.reporter(0n, onPrint) }),
    });
    prints?.read(stream);
    for (const { name, result } of memory) {
      const buffer = buffers[name];
      if (result && buffer) stream.read(buffer, result);
    }
    await completed(stream, signal);
    prints?.report(0n, onPrint);
  } finally {
    signal?.removeEventListener('abort', abort);
    prints?.free();
    for (const buffer of Object.values(buffers)) buffer.free();
    stream.close();
  }
}

async function completed(stream: Stream, signal: AbortSignal | undefined): Promise<void> {
  const { complete } = await stream.mark().done;
  signal?.throwIfAborted();
  if (complete) return;
  throw new MillraceError({
    code: 'device-failed',
    message: 'the device stopped the launch before its end',
    asked: 'one launch',
    advice: 'run it again, or on another device',
  });
}
