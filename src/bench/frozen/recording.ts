import { gunzipSync, gzipSync } from 'node:zlib';
import { type BaseBuffer, checkLaunch } from '../../device/checks/launch.js';
import type { Device, DeviceBuffer, DeviceProgram, Launch, Stream } from '../../device/device.js';
import { PoolJob } from '../../device/pool/program.js';
import type { ProgramSource } from '../../device/program.js';

/**
 * The commands that a workload gave to a CPU device, as data: programs with their generated text, buffers, and launches
 * with their parameter words. A recording stored in a file runs the kernels of an earlier version on any version.
 */
export interface Recording {
  readonly programs: readonly RecordedProgram[];
  /** Bytes of each buffer. */
  readonly buffers: readonly number[];
  readonly commands: readonly RecordedCommand[];
}

/** A generated program without the fields that only errors and other jobs need. */
export type RecordedProgram = Pick<
  ProgramSource,
  'name' | 'text' | 'lanes' | 'hit' | 'bindings' | 'params' | 'ring' | 'statements' | 'constantBytes' | 'threadBytes'
>;

/** Buffers and programs are referred to by number. Bytes are gzip in base64. */
export type RecordedCommand =
  | { readonly do: 'write'; readonly buffer: number; readonly offset: number; readonly data: string }
  | {
      readonly do: 'fill';
      readonly buffer: number;
      readonly word: number;
      readonly offset: number;
      readonly bytes: number;
    }
  | { readonly do: 'read'; readonly buffer: number; readonly offset: number; readonly bytes: number }
  | {
      readonly do: 'launch';
      readonly program: number;
      readonly words: string;
      readonly count: number;
      readonly buffers: readonly number[];
      readonly ring?: number;
    };

const pack = (bytes: Uint8Array): string => gzipSync(bytes, { level: 9 }).toString('base64');
export const unpack = (text: string): Uint8Array => new Uint8Array(gunzipSync(Buffer.from(text, 'base64')));

/** Wraps a device and records its commands. Supports only the commands that a single kernel needs. */
export function recorder(device: Device): { readonly device: Device; recording(): Recording } {
  const programs: DeviceProgram[] = [];
  const buffers: DeviceBuffer[] = [];
  const commands: RecordedCommand[] = [];
  const numberOf = <T>(list: T[], entry: T): number => {
    const at = list.indexOf(entry);
    return at < 0 ? list.push(entry) - 1 : at;
  };
  const stream = (): Stream => {
    const own = device.stream();
    return {
      write: (buffer, data, offset = 0) => {
        own.write(buffer, data, offset);
        const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
        commands.push({ do: 'write', buffer: numberOf(buffers, buffer), offset, data: pack(bytes) });
      },
      fill: (buffer, word, offset = 0, bytes = buffer.bytes - offset) => {
        own.fill(buffer, word, offset, bytes);
        commands.push({ do: 'fill', buffer: numberOf(buffers, buffer), word, offset, bytes });
      },
      read: (buffer, into, offset = 0) => {
        own.read(buffer, into, offset);
        commands.push({ do: 'read', buffer: numberOf(buffers, buffer), offset, bytes: into.byteLength });
      },
      launch: (launch) => {
        own.launch(launch);
        commands.push(recordedLaunch(launch));
      },
      copy: () => unsupported('copy'),
      wait: () => unsupported('wait'),
      mark: () => own.mark(),
      cancel: () => own.cancel(),
      close: () => own.close(),
    };
  };
  const recordedLaunch = (launch: Launch): RecordedCommand => {
    const { job } = launch;
    if (!(job instanceof PoolJob)) return unsupported('a job of another kind of device');
    const { base, count, countFrom, buffers: bound, ring, ringCapacity } = checkLaunch<BaseBuffer>(device, launch);
    if (countFrom !== undefined) return unsupported('a count from memory');
    const words = job.parameters.words(
      base,
      ringCapacity,
      launch.chunk ?? {},
      bound.map((buffer) => buffer.bytes),
    );
    return {
      do: 'launch',
      program: numberOf(programs, job.program),
      words: pack(new Uint8Array(words.buffer, words.byteOffset, words.byteLength)),
      count,
      buffers: bound.map((buffer) => numberOf(buffers, buffer)),
      ...(ring && { ring: numberOf(buffers, ring) }),
    };
  };
  const recording = (): Recording => ({
    programs: programs.map((program) => recordedProgram(program)),
    buffers: buffers.map(({ bytes }) => bytes),
    commands,
  });
  return {
    device: {
      info: device.info,
      compile: (kernel, options) => device.compile(kernel, options),
      alloc: (bytes) => device.alloc(bytes),
      host: (bytes) => device.host(bytes),
      stream,
      close: () => device.close(),
    },
    recording,
  };
}

function recordedProgram(program: DeviceProgram): RecordedProgram {
  const { source } = program as DeviceProgram & { readonly source: ProgramSource };
  const { name, text, lanes, hit, bindings, params, ring, statements, constantBytes, threadBytes } = source;
  return {
    name,
    text,
    lanes,
    hit,
    bindings,
    params,
    ring,
    statements,
    ...(constantBytes !== undefined && { constantBytes }),
    ...(threadBytes !== undefined && { threadBytes }),
  };
}

function unsupported(command: string): never {
  throw new TypeError(`a recording cannot contain ${command}`);
}
