import { describe, expect, test } from 'vitest';
import type { Device, DeviceBuffer, DeviceProgram, Launch } from '../device.js';
import {
  BaseBuffer,
  checkAllocation,
  checkBuffer,
  checkCopy,
  checkLaunch,
  checkRange,
  checkWord,
  formatBytes,
} from './launch.js';

class Fake extends BaseBuffer {
  free(): void {
    this.freed = true;
  }
}
const deviceOf = (id: string): Device =>
  ({ info: { id, limits: { bufferBytes: 1000, lanes: 1 } } }) as unknown as Device;
const device = deviceOf('here');
const buffer = (bytes: number): Fake => new Fake(device, bytes);
const programOf = (more: Partial<DeviceProgram> = {}): DeviceProgram =>
  ({
    name: 'sample',
    device,
    chunk: [],
    hit: [],
    ring: { headerWords: 4, recordWords: 2 },
    bindings: [
      { name: 'in', kind: 'read', type: 'u32', slot: 0 },
      { name: 'out', kind: 'rw', type: 'u32', slot: 1 },
      { name: 'also', kind: 'read', type: 'u32', slot: 2 },
    ],
    ...more,
  }) as DeviceProgram;
const emitting = programOf({ hit: [{ name: 'nonce', type: 'u32', length: 1, array: false }], bindings: [] });
const three = () => ({ in: buffer(8), out: buffer(8), also: buffer(8) });
const check = (launch: Omit<Partial<Launch>, 'job'>, program = programOf()) =>
  checkLaunch<Fake>(device, { job: { program }, count: 1, buffers: three(), ...launch });

/** Every refusal says what is wrong, what was asked and what to do. */
function refused(action: () => unknown, code: string, message: RegExp): void {
  let error: unknown;
  try {
    action();
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
  expect(error).toMatchObject({ asked: expect.stringMatching(/./), advice: expect.stringMatching(/./) });
}

describe('checkLaunch', () => {
  test('returns the buffers in the order of the bindings', () => {
    const buffers = three();
    const checked = check({ buffers: { also: buffers.also, out: buffers.out, in: buffers.in }, count: 5, base: 7n });
    expect(checked).toEqual({
      base: 7n,
      count: 5,
      countFrom: undefined,
      buffers: [buffers.in, buffers.out, buffers.also],
      ring: undefined,
      ringCapacity: 0,
    });
  });

  test('rejects missing, unknown, freed, foreign and fake buffers', () => {
    const { in: first, out, also } = three();
    refused(() => check({ buffers: { in: first, out } }), 'launch-arguments', /: buffer also is missing/);
    refused(
      () => check({ buffers: { in: first, out, also, more: also } }),
      'launch-arguments',
      /no buffer called more/,
    );
    const gone = buffer(8);
    gone.free();
    refused(() => check({ buffers: { in: gone, out, also } }), 'buffer-range', /buffer in has been freed/);
    const foreign = new Fake(deviceOf('elsewhere'), 8);
    refused(() => check({ buffers: { in: foreign, out, also } }), 'launch-arguments', /not a buffer of device here/);
    const nothing = { bytes: 8, free: () => undefined };
    refused(() => check({ buffers: { in: nothing, out, also } }), 'launch-arguments', /not a buffer of device here/);
  });

  test('lets two reads share a buffer, but not a read and a write', () => {
    const { in: first, out } = three();
    expect(check({ buffers: { in: first, out, also: first } }).buffers[2]).toBe(first);
    refused(
      () => check({ buffers: { in: out, out, also: first } }),
      'launch-arguments',
      /in and out are the same buffer/,
    );
  });

  test('rejects missing and unknown chunk values', () => {
    const program = programOf({ chunk: [{ name: 'plus', type: 'u32', length: 1, array: false }] });
    expect(check({ chunk: { plus: 0 } }, program).count).toBe(1);
    refused(() => check({}, program), 'launch-arguments', /: chunk value plus is missing/);
    refused(() => check({ chunk: { plus: 0, base: 1 } }, program), 'launch-arguments', /unknown chunk value base/);
  });

  test('checks the ring', () => {
    const ring = buffer(6 * 4);
    expect(check({ buffers: {}, ring }, emitting)).toMatchObject({ ring, ringCapacity: 1 });
    expect(check({ buffers: {}, ring: buffer(103) }, emitting).ringCapacity).toBe(10);
    refused(() => check({ buffers: {} }, emitting), 'launch-arguments', /emits hits and needs a ring/);
    refused(() => check({ buffers: {}, ring: buffer(23) }, emitting), 'buffer-range', /cannot hold one hit/);
    refused(() => check({ ring }), 'launch-arguments', /emits nothing/);
    const both = programOf({ hit: emitting.hit });
    refused(
      () => check({ buffers: { ...three(), out: ring }, ring }, both),
      'launch-arguments',
      /also bound as a buffer/,
    );
  });

  test('checks the count', () => {
    for (const count of [0, 1, 2 ** 32]) expect(check({ count }).count).toBe(count);
    for (const count of [-1, 1.5, 2 ** 32 + 1, Number.NaN, Number.POSITIVE_INFINITY]) {
      refused(() => check({ count }), 'launch-range', /is not a number of items/);
    }
    const counts = buffer(8);
    expect(check({ count: { buffer: counts, word: 1, max: 9 } })).toMatchObject({
      count: 9,
      countFrom: { buffer: counts, word: 1 },
    });
    refused(() => check({ count: { buffer: counts, word: 2, max: 9 } }), 'buffer-range', /not inside the buffer/);
    refused(
      () => check({ count: { buffer: counts, word: 0, max: 2 ** 33 } }),
      'launch-range',
      /is not a number of items/,
    );
    refused(() => check({ count: undefined as never }), 'launch-range', /is not a number of items/);
  });

  test('accepts a base up to a multiple of 2^32, and rejects launches across it', () => {
    expect(check({ base: 2n ** 32n - 5n, count: 5 }).base).toBe(2n ** 32n - 5n);
    expect(check({ base: 2n ** 64n - 5n, count: 5 }).count).toBe(5);
    expect(check({ base: 3n * 2n ** 32n, count: 2 ** 32 }).count).toBe(2 ** 32);
    refused(() => check({ base: 2n ** 32n - 5n, count: 6 }), 'launch-range', /crosses a multiple of 2\^32/);
    refused(() => check({ base: 1n, count: 2 ** 32 }), 'launch-range', /crosses/);
    const counted = { buffer: buffer(4), word: 0, max: 6 };
    refused(() => check({ base: 2n ** 32n - 5n, count: counted }), 'launch-range', /crosses/);
    for (const base of [-1n, 2n ** 64n, 5 as never])
      refused(() => check({ base }), 'launch-range', /not a 64-bit index/);
  });

  test('rejects a program of another device, and a launch without a job', () => {
    const foreign = programOf({ device: deviceOf('elsewhere') });
    refused(() => check({}, foreign), 'launch-arguments', /compiled for device elsewhere, not for here/);
    refused(() => checkLaunch(device, { count: 1 } as Launch), 'launch-arguments', /a launch needs a job/);
  });
});

describe('transfers', () => {
  const small: DeviceBuffer = buffer(10);
  test('must lie inside the buffer, on word boundaries', () => {
    checkRange('read', small, 0, 10, false);
    checkRange('read', small, 8, 1, false);
    checkRange('fill', small, 4, 4, true);
    checkRange('read', small, 8, 0, false);
    for (const [offset, bytes] of [
      [0, 11],
      [12, 0],
      [-4, 4],
      [0, -1],
      [0, Number.NaN],
      [0.5, 1],
    ] as const) {
      refused(() => checkRange('read', small, offset, bytes, false), 'buffer-range', /not inside the buffer/);
    }
    refused(() => checkRange('write', small, 2, 4, false), 'buffer-range', /the offset is not a multiple of 4/);
    refused(() => checkRange('fill', small, 4, 5, true), 'buffer-range', /the length is not a multiple of 4/);
  });

  test('may not copy between overlapping ranges', () => {
    const one = buffer(64);
    checkCopy(one, one, 16, 0, 16);
    checkCopy(one, one, 0, 0, 0);
    checkCopy(one, buffer(64), 64, 0, 0);
    refused(() => checkCopy(one, one, 16, 0, 12), 'buffer-range', /overlap/);
    refused(() => checkCopy(one, small, 12, 0, 0), 'buffer-range', /copy \(target\)/);
  });

  test('take 32-bit words only', () => {
    expect([checkWord(0xffffffff), checkWord(-1), checkWord(5)]).toEqual([0xffffffff, 0xffffffff, 5]);
    for (const word of [2 ** 32, 1.5, Number.NaN, -(2 ** 31) - 1]) {
      refused(() => checkWord(word), 'launch-arguments', /is not a 32-bit word/);
    }
  });
});

test('rejects allocations that are too large or not a size', () => {
  checkAllocation(device, 0);
  checkAllocation(device, 1000);
  refused(() => checkAllocation(device, 1001), 'device-memory', /a buffer of 1001 bytes is too large for device here/);
  for (const bytes of [-1, 1.5, Number.NaN])
    refused(() => checkAllocation(device, bytes), 'buffer-range', /is not a buffer size/);
});

test('checkBuffer keeps the type of the buffer', () => {
  const mine = buffer(4);
  expect(checkBuffer<Fake>(device, mine, 'it')).toBe(mine);
});

test('formats byte counts', () => {
  expect([0, 1023, 1536, 5 * 2 ** 30].map(formatBytes)).toEqual(['0 bytes', '1023 bytes', '1.5 KiB', '5.0 GiB']);
});
