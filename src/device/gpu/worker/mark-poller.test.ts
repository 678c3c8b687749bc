import { describe, expect, test } from 'vitest';
import { Rig } from '../../../../test/gpu-core/rig.js';

/** Runs kernels of these microseconds one after the other, each with its mark. */
async function inALoop(rig: Rig, times: readonly number[]): Promise<void> {
  const x = await rig.alloc(64);
  const stream = rig.stream();
  for (const us of times) {
    rig.launch(stream, x, us);
    const { done } = stream.mark();
    rig.settle();
    await done;
  }
}

describe('polling', () => {
  test('polls steady kernels a few times each, sees them end within a step, and never blocks', async () => {
    const rig = new Rig();
    await inALoop(rig, [50_000]);
    const before = { polls: rig.loop.telemetry().polls, us: rig.us };
    await inALoop(rig, new Array(20).fill(50_000));
    const { polls, blockingWaits, launches } = rig.loop.telemetry();
    expect(launches).toBe(21);
    expect(blockingWaits).toBe(0);
    expect((polls - before.polls) / 20).toBeLessThan(110);
    expect(rig.us - before.us).toBeLessThan(20 * (50_000 + 60));
  });

  test('does not block on new kernels of changing length either', async () => {
    const rig = new Rig();
    await inALoop(rig, [10, 300, 5000, 80, 200_000, 1_500_000, 20]);
    expect(rig.loop.telemetry().blockingWaits).toBe(0);
  });

  test('does not block on a delay of some milliseconds after short kernels', async () => {
    const rig = new Rig();
    await inALoop(rig, new Array(20).fill(300));
    const x = await rig.alloc(64);
    const stream = rig.stream();
    rig.launch(stream, x, 300);
    const { done } = stream.mark();
    rig.turn(0);
    for (const mark of rig.driver.inFlight) mark.end += 20_000;
    rig.settle();
    await done;
    expect(rig.loop.telemetry().blockingWaits).toBe(0);
  });

  test('blocks once if kernels take much longer than before, on the one launched first', async () => {
    const rig = new Rig();
    await inALoop(rig, new Array(5).fill(1000));
    const x = await rig.alloc(64);
    const [early, late] = [rig.stream(), rig.stream()];
    // The same kind of work by its size, but a hundred times as slow.
    const blocked: number[] = [];
    rig.driver.onBlock = (mark) => {
      blocked.push(mark.line.number);
      rig.us = Math.max(rig.us, mark.end);
    };
    const slowed = (stream: typeof early): Promise<unknown> => {
      rig.launch(stream, x, 1000);
      const { done } = stream.mark();
      return done;
    };
    const marks = [slowed(early), slowed(late)];
    rig.turn(0);
    rig.us += 10;
    for (const mark of rig.driver.inFlight) mark.end += 100_000;
    rig.settle();
    await Promise.all(marks);
    const { blockingWaits, blockedNs } = rig.loop.telemetry();
    expect(blockingWaits).toBe(1);
    expect(blocked).toEqual([1]);
    expect(blockedNs).toBeGreaterThan(50_000_000);
  });

  test('stops oversleeping a kernel that was slow once, while another stream is busy', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const [slow, other] = [rig.stream(), rig.stream()];
    const noticed = async (moreUs: number): Promise<number> => {
      rig.launch(slow, x, 400);
      rig.launch(other, x, 1000); // work of another kind
      const marks = [slow, other].map((stream) => stream.mark().done);
      rig.turn(0);
      const begun = rig.us;
      const [first] = rig.driver.inFlight;
      first!.end += moreUs;
      rig.settle();
      await Promise.all(marks);
      return rig.us - begun;
    };
    await noticed(20_000);
    const times: number[] = [];
    for (let round = 0; round < 16; round++) times.push(await noticed(0));
    expect(times[0]).toBeGreaterThan(5000);
    expect(Math.max(...times.slice(-4))).toBeLessThan(1200);
  });

  test('does not oversleep a kernel that gets the device to itself midway', async () => {
    const rig = new Rig();
    const x = await rig.alloc(64);
    const [early, late] = [rig.stream(), rig.stream()];
    const started = (...streams: (typeof early)[]): Promise<unknown> => {
      const marks = streams.map((stream) => {
        rig.launch(stream, x, 1200);
        return stream.mark().done;
      });
      rig.turn(0);
      return Promise.all(marks);
    };
    const oversleep = async (marks: Promise<unknown>): Promise<number> => {
      const last = Math.max(...[...rig.driver.inFlight].map(({ end }) => end));
      rig.settle();
      await marks;
      return rig.us - last;
    };
    const overslept: number[] = [];
    for (let round = 0; round < 12; round++) {
      await oversleep(started(early, late)); // its time while they share the device
      const alone = started(early, late, late);
      [...rig.driver.inFlight].at(-1)!.end -= 600; // alone from its start
      const first = await oversleep(alone);
      const left = started(early, late);
      for (const [at, mark] of [...rig.driver.inFlight].entries()) mark.end -= at === 0 ? 900 : 450; // from a quarter on
      if (round >= 4) overslept.push(first, await oversleep(left));
      else await oversleep(left);
    }
    expect(Math.max(...overslept)).toBeLessThan(100);
    expect(rig.loop.telemetry().polls).toBeLessThan(12 * 7 * 30);
  });

  test('finds many marks that passed meanwhile at once', async () => {
    const rig = new Rig();
    await inALoop(rig, new Array(3).fill(20_000));
    const x = await rig.alloc(64);
    const stream = rig.stream();
    const marks = Array.from({ length: 8 }, () => {
      rig.launch(stream, x, 20_000);
      return stream.mark().done;
    });
    rig.turn(0);
    rig.us += 8 * 20_000; // the worker did not get the processor
    rig.turn(0);
    rig.turn(0);
    await Promise.all(marks);
  });

  test('does not poll a runtime that notifies', async () => {
    const rig = new Rig({ tells: true });
    const x = await rig.alloc(64);
    const stream = rig.stream();
    rig.launch(stream, x, 30_000);
    const { done } = stream.mark();
    rig.turn();
    expect(rig.turn()).toBe(Number.POSITIVE_INFINITY);
    rig.us += 30_000;
    rig.turn(); // the driver has woken the worker
    await done;
    expect(rig.loop.telemetry().polls).toBeLessThan(5);
  });

  test('sleeps until woken if nothing is in flight', async () => {
    const rig = new Rig();
    await inALoop(rig, [100]);
    expect(rig.loop.runTurn()).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('callbacks', () => {
  test('are read from memory; each mark is polled once', async () => {
    const rig = new Rig({ completion: 'callback', overhead: 5 });
    await inALoop(rig, new Array(10).fill(50_000));
    const { polls, lostCallbacks, blockingWaits } = rig.loop.telemetry();
    expect(lostCallbacks).toBe(0);
    expect(blockingWaits).toBe(0);
    // The first kernel is unknown, and polled with a back-off of up to 2 ms.
    expect(polls).toBeLessThan(9 + 40);
  });

  test('that never come are found by polling, counted, and delay nothing', async () => {
    const rig = new Rig({ completion: 'callback', lose: 3 });
    const before = rig.us;
    await inALoop(rig, new Array(12).fill(10_000));
    expect(rig.loop.telemetry().lostCallbacks).toBe(4);
    expect(rig.us - before).toBeLessThan(12 * 10_000 + 4 * 5000 + 12 * 2000);
  });

  test('that come a little late do not count as lost', async () => {
    const rig = new Rig({ completion: 'callback', overhead: 400 });
    await inALoop(rig, [10, 700, 10, 5000, 60, 30_000, 20]);
    expect(rig.loop.telemetry().lostCallbacks).toBe(0);
  });
});

test('sync waits in the driver for every mark', async () => {
  const rig = new Rig({ completion: 'sync' });
  rig.driver.onBlock = (mark) => {
    rig.us = Math.max(rig.us, mark.end);
  };
  await inALoop(rig, new Array(7).fill(3000));
  const { blockingWaits, blockedNs } = rig.loop.telemetry();
  expect(blockingWaits).toBe(7);
  expect(blockedNs).toBe(7 * 3_000_000);
});
