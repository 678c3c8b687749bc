import { expect, it } from 'vitest';
import type { Buffer, Device, Encoder, Pass, QuerySet } from '../api.js';
import { BlockRing } from '../memory/blocks.js';
import { DeviceMemory } from '../memory/memory.js';
import type { WebGpuProgram } from '../program.js';
import { MarkInterval, StatusSlots } from './status.js';
import { type LastPass, Submission } from './submission.js';

const noDevice = { createBuffer: () => ({ destroy: () => undefined }) };

it('refuses the 1,025th program without a mark', () => {
  const interval = new MarkInterval(new StatusSlots(noDevice as unknown as Device));
  const submission = { encoder: { clearBuffer: () => undefined } } as unknown as Submission;
  const slots = Array.from({ length: 1024 }, () => interval.slot({} as WebGpuProgram, submission));
  expect(new Set(slots).size).toBe(1024);
  expect(() => interval.slot({} as WebGpuProgram, submission)).toThrow(
    expect.objectContaining({ code: 'launch-range', advice: 'call mark() more often' }),
  );
});

it('a large launch block has a buffer of its own, until its submission has ended', () => {
  const log: string[] = [];
  const createBuffer = ({ size }: { size: number }) => ({ size, destroy: () => log.push(`destroy ${size}`) });
  const writeBuffer = (to: Buffer, at: number, words: Uint32Array) => log.push(`${words.length} to ${to.size} ${at}`);
  const blocks = new BlockRing({ createBuffer, queue: { writeBuffer } } as unknown as Device);
  const ends: (() => void)[] = [];
  const submission = { onEnd: (end: () => void) => ends.push(end) } as unknown as Submission;
  const small = blocks.put(new Uint32Array(65_536), submission);
  const large = blocks.put(new Uint32Array(65_537), submission);
  expect(small).toEqual({ buffer: blocks.ring, offset: 0 });
  expect(large?.buffer).not.toBe(blocks.ring);
  for (const end of ends) end();
  expect(log).toEqual(['65536 to 1048576 0', '65537 to 262148 0', 'destroy 262148']);
});

it('a buffer that the runtime refuses is an error with its reason', async () => {
  const answers = [{ message: 'Out of device memory\nat x' }, null];
  const scopes = { pushErrorScope: () => undefined, popErrorScope: async () => answers.shift() };
  const memory = new DeviceMemory({ ...noDevice, ...scopes } as unknown as Device, 'webgpu:0');
  await expect(memory.alloc(2 ** 30)).rejects.toMatchObject({
    code: 'device-memory',
    summary: 'device webgpu:0 has no memory for another buffer of 1.0 GiB: Out of device memory',
  });
});

it('does not count the time a pass waits for the previous one', () => {
  const last: LastPass = { endedNs: 0n };
  const times: number[] = [];
  /** Submits passes with these start and end timestamps. */
  const submit = (...stamps: readonly bigint[]): void => {
    const range = BigUint64Array.from(stamps).buffer;
    const page = {
      ticket: { getMappedRange: () => range, unmap: () => undefined } as unknown as Buffer,
      queries: { set: {} as QuerySet, first: 0, resolved: {} as Buffer },
      dummySource: {} as Buffer,
    };
    const encoder = { beginComputePass: () => ({}) as Pass } as unknown as Encoder;
    const device = { createCommandEncoder: () => encoder } as unknown as Device;
    const submission = new Submission(device, page, last, (ns) => ns);
    for (let at = 0; at < stamps.length; at += 2) submission.timedPass((ms) => times.push(ms));
    submission.collect({ startedMs: 0, endedMs: 0 });
  };
  submit(1_000_000n, 4_000_000n, 1_100_000n, 9_000_000n);
  submit(4_200_000n, 10_000_000n);
  submit(20_000_000n, 21_500_000n);
  expect(times).toEqual([3, 5, 1, 1.5]);
});
