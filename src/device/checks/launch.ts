import { type ErrorCode, type ErrorDetails, MillraceError } from '../../kernel/error.js';
import { MarkCompletion } from '../completion.js';
import type {
  BoundJob,
  Completion,
  Device,
  DeviceBuffer,
  DeviceProgram,
  FieldValues,
  Launch,
  ResidentOptions,
  ResidentRange,
} from '../device.js';

/**
 * Checks that every device makes before it queues a command, so that a mistake is the same error everywhere, thrown at
 * the call. Pure: nothing here touches a device.
 *
 * Transfers start on a whole word (4 bytes), since GPUs move words. `read` and `write` may end anywhere; `copy` and
 * `fill` end on a word too.
 */

/** The part of a buffer that all devices share. */
export abstract class BaseBuffer implements DeviceBuffer {
  readonly device: Device;
  readonly bytes: number;
  freed = false;

  constructor(device: Device, bytes: number) {
    this.device = device;
    this.bytes = bytes;
  }

  abstract free(): void;
}

const WORD_BYTES = 4;
const MAX_ITEMS = 2 ** 32;

/** Returns the buffer if it belongs to this device and has not been freed; throws otherwise. */
export function checkBuffer<B extends BaseBuffer>(device: Device, buffer: DeviceBuffer | undefined, role: string): B {
  if (!(buffer instanceof BaseBuffer) || buffer.device !== device) {
    throw launchError('launch-arguments', {
      message: `${role} is not a buffer of device ${device.info.id}`,
      asked: buffer instanceof BaseBuffer ? `a buffer of device ${buffer.device.info.id}` : String(buffer),
      advice: 'allocate it with alloc() of the same device',
    });
  }
  if (buffer.freed) {
    throw launchError('buffer-range', {
      message: `${role} has been freed`,
      asked: `a buffer of ${buffer.bytes} bytes`,
      advice: 'free a buffer after the last command that uses it',
    });
  }
  return buffer as B;
}

export function checkAllocation(device: Device, bytes: number): void {
  if (Number.isSafeInteger(bytes) && bytes >= 0) {
    if (bytes <= device.info.limits.bufferBytes) return;
    throw launchError('device-memory', {
      message: `a buffer of ${formatBytes(bytes)} is too large for device ${device.info.id}`,
      asked: `alloc(${bytes})`,
      advice: `allocate at most ${formatBytes(device.info.limits.bufferBytes)}, or use several buffers`,
    });
  }
  throw launchError('buffer-range', {
    message: `${bytes} is not a buffer size`,
    asked: `alloc(${bytes})`,
    advice: 'give a whole number of bytes, 0 or more',
  });
}

/**
 * Checks that [offset, offset + bytes) lies in a buffer. `wholeWords`: the length must be a multiple of a word too.
 */
export function checkRange(
  command: string,
  buffer: DeviceBuffer,
  offset: number,
  bytes: number,
  wholeWords: boolean,
): void {
  const asked = `${command} of ${bytes} bytes at offset ${offset} of a buffer of ${buffer.bytes} bytes`;
  if (
    !Number.isSafeInteger(offset) ||
    !Number.isSafeInteger(bytes) ||
    offset < 0 ||
    bytes < 0 ||
    offset + bytes > buffer.bytes
  ) {
    throw launchError('buffer-range', {
      message: `${command}: the range is not inside the buffer`,
      asked,
      advice: `the range must end at or before byte ${buffer.bytes}`,
    });
  }
  if (offset % WORD_BYTES !== 0 || (wholeWords && bytes % WORD_BYTES !== 0)) {
    throw launchError('buffer-range', {
      message: `${command}: ${offset % WORD_BYTES !== 0 ? 'the offset' : 'the length'} is not a multiple of ${WORD_BYTES}`,
      asked,
      advice: `use multiples of ${WORD_BYTES}: devices transfer whole words`,
    });
  }
}

/** Copies inside one buffer must not overlap: a device may copy the bytes in any order. */
export function checkCopy(
  from: DeviceBuffer,
  to: DeviceBuffer,
  bytes: number,
  fromOffset: number,
  toOffset: number,
): void {
  checkRange('copy (source)', from, fromOffset, bytes, true);
  checkRange('copy (target)', to, toOffset, bytes, true);
  if (from !== to || bytes === 0 || Math.abs(fromOffset - toOffset) >= bytes) return;
  throw launchError('buffer-range', {
    message: 'copy: source and target overlap',
    asked: `${bytes} bytes from ${fromOffset} to ${toOffset} of one buffer`,
    advice: 'copy through another buffer',
  });
}

export function checkWord(word: number): number {
  if (Number.isInteger(word) && word >= -(2 ** 31) && word < 2 ** 32) return word >>> 0;
  throw launchError('launch-arguments', {
    message: `${word} is not a 32-bit word`,
    asked: `fill with ${word}`,
    advice: 'give a whole number from -2^31 to 2^32 - 1',
  });
}

/** Returns the completion if it belongs to this device, so that its streams can wait for it; throws otherwise. */
export function checkCompletion<C extends MarkCompletion>(device: Device, completion: Completion): C {
  if (completion instanceof MarkCompletion && completion.device === device) return completion as C;
  throw launchError('launch-arguments', {
    message: 'a stream can wait only for completions of its own device',
    asked: 'wait() for a completion of another device',
    advice: 'await its `done` before queueing commands that depend on it',
  });
}

export function checkStreamOpen(closed: boolean): void {
  if (!closed) return;
  throw launchError('device-closed', {
    message: 'this stream has been closed',
    asked: 'a command on it',
    advice: 'open another with stream()',
  });
}

/** The error for every call on a device after its close(). */
export function deviceClosed({ info }: Device): MillraceError {
  return launchError('device-closed', {
    message: `device ${info.id} has been closed`,
    asked: 'work on it',
    advice: 'await completions before close(); open the device again for more work',
  });
}

/** A launch with valid arguments and defaults filled in. */
export interface CheckedLaunch<B extends BaseBuffer> {
  readonly base: bigint;
  /** The number of items; an upper bound if `countFrom` gives the number. */
  readonly count: number;
  readonly countFrom: { readonly buffer: B; readonly word: number } | undefined;
  /** In the order of the program's bindings. */
  readonly buffers: readonly B[];
  readonly ring: B | undefined;
  /** The capacity of the ring, in records. */
  readonly ringCapacity: number;
  readonly onPrint: Launch['onPrint'];
}

export function checkLaunch<B extends BaseBuffer>(device: Device, launch: Launch): CheckedLaunch<B> {
  const program = checkProgram(device, launch.job);
  const base = launch.base ?? 0n;
  checkChunk(program, launch.chunk ?? {});
  const buffers = checkBindings<B>(device, program, launch);
  const { ring, ringCapacity } = checkRing<B>(device, program, launch.ring, buffers);
  const { count, countFrom } = checkCount<B>(device, program, launch.count);
  checkBase(program, base, count);
  return { base, count, countFrom, buffers, ring, ringCapacity, onPrint: launch.onPrint };
}

/** Checks a range for a resident grid of the program and fills in the defaults. */
export function checkResidentRange(
  program: DeviceProgram,
  { base = 0n, count, chunk = {} }: ResidentRange,
): Required<ResidentRange> {
  checkChunk(program, chunk);
  checkCount(program.device, program, count);
  checkBase(program, base, count);
  if (count > 0) return { base, count, chunk };
  throw launchError('launch-range', {
    message: `kernel ${program.name}: the range is empty`,
    asked: 'count 0',
    advice: 'queue at least one item',
  });
}

/** Checks the arguments of a resident grid. Returns its bindings, in order. */
export function checkResident<B extends BaseBuffer>(
  device: Device,
  job: BoundJob,
  { entries, hits, buffers = {} }: ResidentOptions,
): B[] {
  const program = checkProgram(device, job);
  const bound = checkBindings<B>(device, program, { buffers });
  if (Number.isInteger(entries) && entries >= 1 && entries <= 1024 && Number.isInteger(hits) && hits >= 1) return bound;
  throw launchError('launch-arguments', {
    message: `kernel ${program.name}: a queue cannot have ${entries} entries with ${hits} hits each`,
    asked: `entries ${entries}, hits ${hits}`,
    advice: 'give 1 to 1024 entries, and at least 1 hit',
  });
}

function checkProgram(device: Device, job: BoundJob | undefined): DeviceProgram {
  const program = job?.program;
  if (program?.device === device && !program.isClosed) return program;
  if (program?.device === device) {
    throw launchError('launch-arguments', {
      message: `kernel ${program.name}: its program has been closed`,
      asked: `a launch on ${device.info.id}`,
      advice: 'close a program after its last launch, or compile the kernel again',
    });
  }
  throw launchError('launch-arguments', {
    message: program
      ? `kernel ${program.name} was compiled for device ${program.device.info.id}, not for ${device.info.id}`
      : 'a launch needs a job',
    asked: `a launch on ${device.info.id}`,
    advice: 'compile the kernel on the device that runs it and bind() its job',
  });
}

/** Checks names only. Types are checked when the parameter words are made. */
function checkChunk(program: DeviceProgram, chunk: FieldValues): void {
  const names = program.chunk.map((field) => field.name);
  const refuse = (message: string): MillraceError =>
    launchError('launch-arguments', {
      message: `kernel ${program.name}: ${message}`,
      asked: `chunk values { ${Object.keys(chunk).join(', ')} }`,
      advice: names.length === 0 ? 'it takes no chunk values' : `its chunk values are ${names.join(', ')}`,
    });
  for (const name of Object.keys(chunk)) if (!names.includes(name)) throw refuse(`unknown chunk value ${name}`);
  for (const name of names) if (chunk[name] === undefined) throw refuse(`chunk value ${name} is missing`);
}

function checkBindings<B extends BaseBuffer>(
  device: Device,
  program: DeviceProgram,
  launch: Pick<Launch, 'buffers'>,
): B[] {
  const given = launch.buffers ?? {};
  const names = program.bindings.map((binding) => binding.name);
  const asked = `buffers { ${Object.keys(given).join(', ')} }`;
  const refuse = (message: string): MillraceError =>
    launchError('launch-arguments', {
      message: `kernel ${program.name}: ${message}`,
      asked,
      advice: names.length === 0 ? 'it takes no buffers' : `its buffers are ${names.join(', ')}`,
    });
  for (const name of Object.keys(given)) if (!names.includes(name)) throw refuse(`there is no buffer called ${name}`);
  const buffers = program.bindings.map((binding) => {
    const buffer = Object.hasOwn(given, binding.name) ? given[binding.name] : undefined;
    if (buffer === undefined) throw refuse(`buffer ${binding.name} is missing`);
    return checkBuffer<B>(device, buffer, `kernel ${program.name}: buffer ${binding.name}`);
  });
  buffers.forEach((buffer, slot) => {
    const other = buffers.indexOf(buffer);
    const writes = [slot, other].some((at) => program.bindings[at]?.kind !== 'read');
    if (other !== slot && writes)
      throw refuse(`${names[other]} and ${names[slot]} are the same buffer, and the kernel writes to it`);
  });
  return buffers;
}

function checkRing<B extends BaseBuffer>(
  device: Device,
  program: DeviceProgram,
  given: DeviceBuffer | undefined,
  buffers: readonly B[],
): { ring: B | undefined; ringCapacity: number } {
  const emits = program.hit.length > 0;
  const asked = given ? `a ring of ${given.bytes} bytes` : 'a launch without a ring';
  if (!emits && given) {
    throw launchError('launch-arguments', {
      message: `kernel ${program.name} emits nothing`,
      asked,
      advice: 'leave `ring` out',
    });
  }
  if (!emits) return { ring: undefined, ringCapacity: 0 };
  const { headerWords, recordWords } = program.ring;
  const minBytes = (headerWords + recordWords) * WORD_BYTES;
  if (given === undefined) {
    throw launchError('launch-arguments', {
      message: `kernel ${program.name} emits hits and needs a ring`,
      asked,
      advice: `give a buffer of at least ${minBytes} bytes, its first ${headerWords} words zeroed`,
    });
  }
  const ring = checkBuffer<B>(device, given, `kernel ${program.name}: the ring`);
  if (ring.bytes < minBytes) {
    throw launchError('buffer-range', {
      message: `kernel ${program.name}: the ring cannot hold one hit`,
      asked,
      advice: `make it at least ${minBytes} bytes: ${headerWords} words and ${recordWords} per hit`,
    });
  }
  if (buffers.includes(ring)) {
    throw launchError('launch-arguments', {
      message: `kernel ${program.name}: the ring is also bound as a buffer`,
      asked,
      advice: 'use a separate buffer for the ring',
    });
  }
  const records = Math.floor((Math.floor(ring.bytes / WORD_BYTES) - headerWords) / recordWords);
  return { ring, ringCapacity: Math.min(records, MAX_ITEMS - 1) };
}

function checkCount<B extends BaseBuffer>(
  device: Device,
  program: DeviceProgram,
  count: Launch['count'],
): Pick<CheckedLaunch<B>, 'count' | 'countFrom'> {
  const max = typeof count === 'number' ? count : count?.max;
  if (!Number.isInteger(max) || max < 0 || max > MAX_ITEMS) {
    throw launchError('launch-range', {
      message: `kernel ${program.name}: ${max} is not a number of items`,
      asked: typeof count === 'number' ? `count ${count}` : `a count from memory, at most ${max}`,
      advice: 'a launch has between 0 and 2^32 items; split larger ranges',
    });
  }
  if (typeof count === 'number') return { count, countFrom: undefined };
  const buffer = checkBuffer<B>(device, count.buffer, `kernel ${program.name}: the buffer of its count`);
  checkRange('count from memory', buffer, count.word * WORD_BYTES, WORD_BYTES, true);
  return { count: max, countFrom: { buffer, word: count.word } };
}

function checkBase(program: DeviceProgram, base: bigint, count: number): void {
  const asked = `base ${base}, ${count} items`;
  if (typeof base !== 'bigint' || base < 0n || base >= 1n << 64n) {
    throw launchError('launch-range', {
      message: `kernel ${program.name}: the base is not a 64-bit index`,
      asked,
      advice: 'give a bigint from 0 to 2^64 - 1',
    });
  }
  const remaining = (1n << 32n) - (base & 0xffff_ffffn);
  if (BigInt(count) <= remaining) return;
  throw launchError('launch-range', {
    message: `kernel ${program.name}: the launch crosses a multiple of 2^32`,
    asked,
    advice: `launch ${remaining} items from there, then the rest`,
  });
}

/** Formats a size: "3.5 GiB". */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}

/** Formats a count: "1 buffer", "2 buffers". */
export const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

function launchError(code: ErrorCode, details: Omit<ErrorDetails, 'code'>): MillraceError {
  return new MillraceError({ code, ...details });
}
