import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COUNT } from '../../../../test/gpu-core/driver.mjs';
import { Rig } from '../../../../test/gpu-core/rig.js';
import { byTier } from '../../../../test/tier.js';
import type { Completion, Report } from '../../device.js';

/** The word after these launches of the scripted driver. */
const stepped = (counts: readonly number[], from = 0): number =>
  counts.reduce((x, count) => (Math.imul(x, 3) + count) >>> 0, from);

describe('order', () => {
  test('commands of a stream reach the driver in order, and its marks pass in order', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const stream = rig.stream();
    const reports: Promise<Report>[] = [];
    for (let i = 1; i <= 20; i++) {
      rig.launch(stream, x, i * 100);
      if (i % 3 === 0) stream.fill(x, i, 32, 4);
      if (i % 4 === 0) reports.push(stream.mark().done);
    }
    rig.settle();
    const sent = rig.driver.log.filter((line) => line.startsWith('launch')).map((line) => Number(line.split(' ')[2]));
    expect(sent).toEqual(Array.from({ length: 20 }, (_, i) => (i + 1) * 100));
    expect(await rig.word(x)).toBe(stepped(sent));
    let last = 0n;
    for (const { startedNs, endedNs, complete } of await Promise.all(reports)) {
      expect(complete).toBe(true);
      expect(startedNs).toBeGreaterThanOrEqual(last);
      expect(endedNs).toBeGreaterThanOrEqual(startedNs);
      last = endedNs;
    }
  });

  test('a full line does not block others, and continues after a mark has passed', async () => {
    const rig = new Rig({ room: 2 });
    const [x, y] = [await rig.alloc(64), await rig.alloc(64)];
    const [a, b] = [rig.stream(), rig.stream()];
    for (let i = 0; i < 2; i++) rig.launch(a, x, 1000);
    const first = a.mark();
    for (let i = 0; i < 2; i++) rig.launch(a, x, 7);
    const second = a.mark();
    rig.launch(b, y, 5);
    const other = b.mark();
    rig.turn(0);
    const sent = ['launch 0 1000', 'launch 0 1000', 'mark 0', 'launch 1 5', 'mark 1'];
    expect(rig.driver.log.slice(-5)).toEqual(sent);
    rig.settle();
    await Promise.all([first.done, second.done, other.done]);
    expect(rig.driver.served.slice(0, 3)).toEqual([1, 0, 0]);
  });

  test('a stream waits for a mark of another, also if it has not reached the driver yet', async () => {
    const rig = new Rig({ room: 1 });
    const x = await rig.alloc(64);
    const [a, b] = [rig.stream(), rig.stream()];
    rig.launch(a, x, 3000);
    const blocker = a.mark();
    rig.launch(a, x, 11); // no room before the first mark has completed
    const first = a.mark();
    b.wait(first);
    rig.launch(b, x, 5);
    const second = b.mark();
    a.wait(second);
    rig.launch(a, x, 2);
    const third = a.mark();
    rig.settle();
    expect(await rig.word(x)).toBe(stepped([3000, 11, 5, 2]));
    const times = await Promise.all([blocker, first, second, third].map(({ done }) => done));
    for (let i = 1; i < times.length; i++) expect(times[i]!.startedNs).toBeGreaterThanOrEqual(times[i - 1]!.endedNs);
  });

  test('service is round robin despite a slow stream', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const slow = rig.stream();
    rig.launch(slow, x, 200_000);
    const last = slow.mark();
    const quick = [rig.stream(), rig.stream(), rig.stream()];
    const marks: Promise<Report>[] = [];
    for (let i = 0; i < 10; i++) {
      for (const stream of quick) {
        rig.launch(stream, x, 500);
        marks.push(stream.mark().done);
      }
    }
    rig.until(60_000);
    await Promise.all(marks);
    const { served } = rig.driver;
    expect(served).not.toContain(0);
    expect(served.length).toBe(30);
    // Equally quick streams are never two marks apart.
    for (let n = 1; n <= served.length; n++) {
      const counts = [1, 2, 3].map((line) => served.slice(0, n).filter((one) => one === line).length);
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    }
    rig.settle();
    await last.done;
  });
});

describe('errors and cancels', () => {
  test('an error fails only its own mark, and the rest of its group is not sent', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const stream = rig.stream();
    rig.launch(stream, x, 1);
    const before = stream.mark();
    rig.launch(stream, x, COUNT.refused);
    rig.launch(stream, x, 2);
    const failed = stream.mark();
    rig.launch(stream, x, 3);
    const clean = stream.mark();
    rig.settle();
    await before.done;
    await expect(failed.done).rejects.toMatchObject({
      code: 'device-capability',
      message: 'the runtime refused the launch\n  asked:  it\n  advice: none',
    });
    await clean.done;
    expect(await rig.word(x)).toBe(stepped([1, 3]));
  });

  test('a trap is reported with its TypeScript line', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const [stream, other] = [rig.stream(), rig.stream()];
    rig.launch(stream, x, COUNT.trapped);
    const trapped = stream.mark();
    other.wait(trapped);
    const waiting = other.mark();
    rig.settle();
    await expect(trapped.done).rejects.toMatchObject({ code: 'kernel-bounds' });
    await expect(trapped.done).rejects.toThrow(/kernel step: index 7 .* of 5 elements[\s\S]*gpu-core\/rig\.ts:\d+/);
    await expect(waiting.done).rejects.toMatchObject({ code: 'kernel-bounds' });
  });

  test('a lost device ends the loop with its error', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const stream = rig.stream();
    rig.launch(stream, x, COUNT.fatal);
    stream.mark();
    expect(() => rig.turn()).toThrow(/the device is lost/);
  });

  test('a device that is lost while a request waits ends the loop', async () => {
    const rig = new Rig();
    const alloc = () => Promise.reject(rig.driver.tools.fatal('the device is lost'));
    Object.assign(rig.driver, { alloc });
    void rig.alloc(64); // is not answered: the device ends
    await new Promise((resolve) => setImmediate(resolve));
    expect(() => rig.turn()).toThrow(/the device is lost/);
  });

  test('a launch cancelled before it is sent is skipped and reported as incomplete', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const [slow, stream] = [rig.stream(), rig.stream()];
    rig.launch(stream, x, 1000);
    const running = stream.mark();
    stream.wait(slow.mark());
    rig.launch(stream, x, 50);
    const stopped = stream.mark();
    stream.cancel();
    rig.launch(stream, x, 9);
    const afterwards = stream.mark();
    rig.settle();
    expect((await running.done).complete).toBe(false);
    expect((await stopped.done).complete).toBe(false);
    expect((await afterwards.done).complete).toBe(true);
    expect(await rig.word(x)).toBe(9);
  });

  test('a cancel of a running launch is passed to the driver', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const stream = rig.stream();
    rig.launch(stream, x, 100_000);
    const { done } = stream.mark();
    rig.until(1000);
    rig.driver.onCancel = () => {
      for (const mark of rig.driver.inFlight) Object.assign(mark, { end: rig.us, complete: false });
    };
    stream.cancel();
    rig.until(5000);
    expect(rig.driver.log).toContain('cancel 0 1');
    expect((await done).complete).toBe(false);
  });
});

describe('memory', () => {
  test('of the host that is freed just before closing is unlocked', async () => {
    const rig = new Rig();
    const number = rig.streams.nextMemoryNumber();
    await rig.call('host', { number, bytes: 4096 });
    rig.streams.freeHost(number);
    expect(rig.driver.log).not.toContain('unlock 4096'); // the worker has not taken the command
    rig.loop.drainForClose();
    expect(rig.driver.log).toContain('unlock 4096');
  });

  test('is freed after the commands that use it, marked or not', async () => {
    const rig = new Rig();
    const [x, y, z] = [await rig.alloc(64), await rig.alloc(128), await rig.alloc(256)];
    const [a, b] = [rig.stream(), rig.stream()];
    rig.launch(a, x, 5000);
    const mark = a.mark();
    rig.launch(b, y, 3000); // without a mark
    for (const buffer of [x, y, z]) buffer.free();
    rig.turn(0);
    expect(rig.driver.log).toContain('free 256');
    expect(rig.driver.allocated).toBe(64 + 128);
    rig.until(2500);
    expect(rig.driver.allocated).toBe(64 + 128);
    rig.settle();
    expect(rig.driver.allocated).toBe(0);
    expect(rig.us).toBeGreaterThan(4999);
    await mark.done;
  });

  test('a mark that the worker adds does not appear in reports', async () => {
    const rig = new Rig();
    const [x, y] = [await rig.alloc(64), await rig.alloc(64)];
    const stream = rig.stream();
    rig.launch(stream, x, 500);
    rig.launch(stream, y, COUNT.refused);
    x.free();
    rig.settle();
    expect(rig.driver.allocated).toBe(64);
    rig.launch(stream, y, 700);
    const failed = stream.mark();
    rig.launch(stream, y, 300);
    y.free();
    rig.turn(0);
    const whole = stream.mark();
    rig.settle();
    await expect(failed.done).rejects.toMatchObject({ code: 'device-capability' });
    const { startedNs, endedNs, complete } = await whole.done;
    expect(complete).toBe(true);
    expect(Number(endedNs - startedNs)).toBeGreaterThanOrEqual(300_000);
    expect(rig.driver.allocated).toBe(0);
  });

  test('an allocation waits for memory that is being freed', async () => {
    const rig = new Rig({ memory: 1024 });
    const x = await rig.alloc(1024);
    const stream = rig.stream();
    rig.launch(stream, x, 5000);
    x.free();
    const wanted = rig.alloc(512);
    rig.settle();
    await wanted;
    await expect(rig.alloc(1024)).rejects.toMatchObject({ code: 'device-memory' });
  });
});

describe('the command ring', () => {
  test('keeps the order of commands that do not fit', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const [stream, other] = [rig.stream(), rig.stream()];
    const counts: number[] = [];
    // About 40 words each: more than 2^18 of them.
    for (let i = 0; i < 9000; i++) {
      rig.launch(stream, x, (i % 5) + 1);
      counts.push((i % 5) + 1);
    }
    const mark = stream.mark();
    other.wait(mark); // may find room before the mark it waits for
    rig.launch(other, x, 77);
    const second = other.mark();
    x.free(); // must not get in before the commands that use it
    rig.settle();
    await Promise.all([mark.done, second.done]);
    const sent = rig.driver.log.filter((line) => line.startsWith('launch')).map((line) => Number(line.split(' ')[2]));
    expect(sent).toEqual([...counts, 77]);
    expect(rig.driver.allocated).toBe(0);
  });

  test('wraps around with records of every size', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const stream = rig.stream();
    let mark = stream.mark();
    for (let round = 0; round < 60; round++) {
      for (let i = 0; i < 200; i++) {
        rig.launch(stream, x, 1 + ((i * 7 + round) % 11));
        if (i % 3 === 0) stream.fill(x, 0, 4, 8);
      }
      mark = stream.mark();
      rig.settle();
    }
    await mark.done;
    expect(rig.driver.log.filter((line) => line.startsWith('launch')).length).toBe(12_000);
  });

  test('holds results until the main thread has taken some', async () => {
    const rig = new Rig();
    const stream = rig.stream();
    const marks = Array.from({ length: 3000 }, () => stream.mark());
    for (let i = 0; i < 50; i++) rig.loop.runTurn(); // while the main thread is busy elsewhere
    rig.settle();
    await Promise.all(marks.map(({ done }) => done));
  });
});

test('streams are closed when their work is done, and their slots reused', async () => {
  const rig = new Rig({ streams: 2 });
  const x = await rig.alloc(64);
  const [a, b] = [rig.stream(), rig.stream()];
  expect(() => rig.stream()).toThrow(/all 2 streams/);
  rig.launch(a, x, 3000);
  const mark = a.mark();
  a.close();
  expect(() => a.mark()).toThrow(/closed/);
  const third = rig.stream(); // at once, on a separate line
  rig.launch(third, x, 10);
  third.wait(mark);
  const waiting = third.mark();
  rig.settle();
  await mark.done;
  await waiting.done;
  expect(rig.driver.log).toContain('close 0');
  expect(rig.driver.log).not.toContain('close 1');
  third.close();
  b.close();
  rig.settle();
  const again = rig.stream();
  expect(rig.streams.count).toBe(1);
  rig.launch(again, x, 5);
  const last = again.mark();
  rig.settle();
  await last.done;
  expect(rig.driver.log.filter((line) => line.startsWith('open'))).toEqual(['open 0', 'open 1', 'open 2', 'open 0']);
});

/** One step of a random program; the numbers choose the stream and the arguments. */
const operation = fc.record({
  kind: fc.constantFrom(
    'launch',
    'launch',
    'launch',
    'fill',
    'mark',
    'mark',
    'wait',
    'renew',
    'swap',
    'turn',
    'cancel',
  ),
  stream: fc.nat(3),
  number: fc.nat(400),
});

test('a program is unloaded once the marks behind its launches have passed', async () => {
  const rig = new Rig({ room: 2 });
  const x = await rig.alloc(64);
  const [a, b] = [rig.stream(), rig.stream()];
  for (let i = 0; i < 6; i++) rig.launch(a, x, 1000);
  rig.launch(b, x, 5); // without a mark: the worker makes one
  const last = a.mark();
  rig.job.program.close();
  rig.turn(0);
  expect(rig.driver.log.filter((line) => line.startsWith('unload'))).toEqual([]);
  rig.settle();
  expect((await last.done).complete).toBe(true);
  const { log } = rig.driver;
  expect(log.filter((line) => line.startsWith('unload'))).toHaveLength(1);
  expect(log.findIndex((line) => line.startsWith('unload'))).toBeGreaterThan(
    log.findLastIndex((line) => line.startsWith('launch')),
  );
});

test('random programs on random runtimes settle in order and leave nothing behind', async () => {
  const program = fc.array(operation, { minLength: 10, maxLength: 150 });
  const rooms = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined });
  const modes = fc.constantFrom('poll' as const, 'callback' as const, 'sync' as const);
  const property = fc.asyncProperty(program, rooms, modes, async (operations, room, completion) => {
    const rig = new Rig({ completion, lose: 5, ...(room && { room }) });
    rig.driver.onBlock = (mark) => {
      rig.us = Math.max(rig.us, mark.end);
    };
    const fresh = async () => ({
      stream: rig.stream(),
      x: await rig.alloc(16),
      counts: [] as number[],
      cancelled: false,
    });
    const lines = [await fresh(), await fresh(), await fresh(), await fresh()];
    const marks: { completion: Completion; cancelled: boolean }[] = [];
    for (const { kind, stream: at, number } of operations) {
      const line = lines[at]!;
      if (kind === 'launch') rig.launch(line.stream, line.x, number + 1);
      if (kind === 'launch') line.counts.push(number + 1);
      if (kind === 'fill') line.stream.fill(line.x, number, 4, 8);
      if (kind === 'mark') marks.push({ completion: line.stream.mark(), cancelled: line.cancelled });
      if (kind === 'wait' && marks.length > 0) line.stream.wait(marks[number % marks.length]!.completion);
      if (kind === 'renew') {
        const before = line.stream.mark();
        line.stream.close();
        line.stream = rig.stream();
        line.stream.wait(before);
      }
      if (kind === 'swap') {
        line.x.free();
        line.x = await rig.alloc(16);
        line.counts = [];
      }
      if (kind === 'cancel') line.stream.cancel();
      if (kind === 'cancel') line.cancelled = true;
      if (kind === 'turn') for (let i = 0; i < number % 7; i++) rig.turn();
    }
    rig.settle();
    for (const { completion, cancelled } of marks) {
      const { complete, startedNs, endedNs } = await completion.done;
      expect(endedNs).toBeGreaterThanOrEqual(startedNs);
      if (!complete) expect(lines.some((line) => line.cancelled) || cancelled).toBe(true);
    }
    for (const { x, counts, cancelled } of lines) if (!cancelled) expect(await rig.word(x)).toBe(stepped(counts));
    for (const { x, stream } of lines) {
      x.free();
      stream.close();
    }
    rig.settle();
    expect(rig.driver.allocated).toBe(0);
    expect(rig.driver.inFlight.size).toBe(0);
    expect(rig.streams.count).toBe(0);
  });
  await fc.assert(property, { numRuns: byTier(30, 150) });
});
