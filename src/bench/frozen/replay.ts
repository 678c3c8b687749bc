import { createHash } from 'node:crypto';
import type { BoundJob, Device, DeviceBuffer } from '../../device/device.js';
import type { ProgramSource } from '../../device/program.js';
import { type RecordedCommand, type RecordedProgram, type Recording, unpack } from './recording.js';

/** A recording on a device, ready to run any number of times. */
export interface Replay {
  readonly buffers: readonly DeviceBuffer[];
  /** Runs the launches `times` times. Returns the device's own time, and a digest of the words read at the end. */
  run(times: number): Promise<{ readonly seconds: number; readonly digest: string }>;
  close(): void;
}

/** A CPU device that loads generated text. */
export interface TextDevice extends Device {
  load(source: ProgramSource): Promise<ReturnType<Device['compile']> extends Promise<infer P> ? P : never>;
}

/**
 * Prepares a recording on a device. `sharedBuffers` are buffers of another replay with the same data: the location of memory
 * changes the speed of a kernel by some per cent.
 */
export async function openReplay(
  device: TextDevice,
  recording: Recording,
  sharedBuffers?: readonly DeviceBuffer[],
): Promise<Replay> {
  const stream = device.stream();
  const buffers: DeviceBuffer[] = [...(sharedBuffers ?? [])];
  const close = (): void => {
    if (!sharedBuffers) for (const buffer of buffers) buffer.free();
    stream.close();
  };
  try {
    if (!sharedBuffers) for (const bytes of recording.buffers) buffers.push(await device.alloc(bytes));
    const jobs: BoundJob[] = [];
    const at: { words: Uint32Array } = { words: new Uint32Array() };
    for (const program of recording.programs) {
      const source = replaySource(program, () => at.words);
      jobs.push((await device.load(source)).bind({}));
    }
    const buffer = (number: number): DeviceBuffer => buffers[number] as DeviceBuffer;
    const reads: { readonly buffer: DeviceBuffer; readonly offset: number; readonly into: Uint8Array }[] = [];
    const steps: (() => void)[] = [];
    for (const command of recording.commands) {
      if (command.do === 'write') stream.write(buffer(command.buffer), unpack(command.data), command.offset);
      else if (command.do === 'read') {
        const { buffer: number, offset, bytes } = command;
        reads.push({
          buffer: buffer(number),
          offset,
          into: new Uint8Array(Math.ceil(bytes / 4) * 4).subarray(0, bytes),
        });
      } else if (command.do === 'fill') {
        const { buffer: number, word, offset, bytes } = command;
        steps.push(() => stream.fill(buffer(number), word, offset, bytes));
      } else {
        const launch = launchOf(command, recording, jobs, buffer);
        const words = wordsOf(command.words);
        steps.push(() => {
          at.words = words;
          stream.launch(launch);
        });
      }
    }
    await stream.mark().done;
    const run: Replay['run'] = async (times) => {
      for (let time = 0; time < times; time++) for (const step of steps) step();
      const { startedNs, endedNs } = await stream.mark().done;
      for (const read of reads) stream.read(read.buffer, read.into, read.offset);
      await stream.mark().done;
      const hash = createHash('sha256');
      // With several threads, hits come in any order.
      for (const { into } of reads) hash.update(new Uint32Array(into.buffer).sort());
      return { seconds: Number(endedNs - startedNs) / 1e9, digest: hash.digest('hex') };
    };
    return { buffers, run, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** A program whose parameter words were computed when it was recorded. */
function replaySource(program: RecordedProgram, words: () => Uint32Array): ProgramSource {
  const none = { lineOrigins: [], job: [], chunk: [], sites: [] };
  return { ...none, ...program, parameters: () => ({ words }) };
}

function launchOf(
  { program, count, buffers: bound, ring }: Extract<RecordedCommand, { do: 'launch' }>,
  { programs }: Recording,
  jobs: readonly BoundJob[],
  buffer: (number: number) => DeviceBuffer,
) {
  const names = programs[program]?.bindings.map(({ name }) => name) ?? [];
  return {
    job: jobs[program] as BoundJob,
    count,
    buffers: Object.fromEntries(names.map((name, at) => [name, buffer(bound[at] as number)])),
    ...(ring !== undefined && { ring: buffer(ring) }),
  };
}

function wordsOf(text: string): Uint32Array {
  const { buffer, byteOffset, byteLength } = unpack(text);
  return new Uint32Array(buffer.slice(byteOffset, byteOffset + byteLength));
}
