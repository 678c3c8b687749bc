import { describe, expect, it } from 'vitest';
import type { Buffer, Device, Encoder, Pass } from '../api.js';
import { Timeline } from './timeline.js';

/** A fake device: its maps resolve when the test calls `back`. */
function rig({ spins }: { spins: boolean }) {
  const waiting: { resolve(): void; reject(cause: Error): void }[] = [];
  const log: string[] = [];
  const pass: Pass = { setPipeline: () => {}, setBindGroup: () => {}, dispatchWorkgroups: () => {}, end: () => {} };
  const encoder: Encoder = {
    beginComputePass: () => pass,
    copyBufferToBuffer: () => {},
    clearBuffer: () => {},
    resolveQuerySet: () => {},
    finish: () => ({}),
  };
  const buffer = (size: number): Buffer => ({
    size,
    mapAsync: () =>
      new Promise((resolve, reject) => {
        log.push('asked');
        waiting.push({ resolve: () => resolve(undefined), reject });
      }),
    getMappedRange: () => new ArrayBuffer(size),
    unmap: () => {},
    destroy: () => {},
  });
  const device = {
    queue: { submit: () => log.push('submitted'), writeBuffer: () => log.push('written') },
    createBuffer: ({ size }: { size: number }) => buffer(size),
    createCommandEncoder: () => encoder,
  } as unknown as Device;
  const clock = { ms: 1000 };
  const failures: unknown[] = [];
  const timeline = new Timeline(device, {
    timestamps: false,
    spins,
    now: () => clock.ms,
    ended: () => log.push('news'),
    failed: (cause) => failures.push(cause),
  });
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };
  return {
    timeline,
    clock,
    log,
    failures,
    /** Submits work of `expectedMs` and calls `ended` at its end. */
    submit(expectedMs: number, ended: () => void = () => {}) {
      const recording = timeline.recording();
      recording.expectedMs = expectedMs;
      recording.isUsed = true;
      recording.onEnd(ended);
      timeline.flush();
    },
    async back() {
      waiting.shift()?.resolve();
      await settle();
    },
    async lose() {
      for (const one of waiting.splice(0)) one.reject(new Error('lost'));
      await settle();
    },
  };
}

describe('asking whether submissions have ended', () => {
  it('happens late and one at a time if waiting uses a core', async () => {
    const { timeline, clock, log, submit, back } = rig({ spins: true });
    const ends: string[] = [];
    submit(20, () => ends.push(`first at ${clock.ms}`));
    submit(20, () => ends.push(`second at ${clock.ms}`));
    expect(timeline.flushAndRequest()).toBe(10);
    expect(timeline.napMs).toBe(0);
    clock.ms += 9;
    expect(timeline.flushAndRequest()).toBe(1);
    expect(log).not.toContain('asked');
    clock.ms += 1;
    expect(timeline.flushAndRequest()).toBeUndefined(); // asked: `ended` will be called
    expect(log.filter((one) => one === 'asked').length).toBe(1);
    // The open promise would keep the thread busy.
    expect(timeline.napMs).toBeGreaterThan(0);
    expect(timeline.napMs).toBeLessThan(1);
    clock.ms += 10;
    await back();
    expect(log).toContain('news');
    // The second began when the first ended.
    expect(timeline.flushAndRequest()).toBe(10);
    clock.ms += 18;
    timeline.flushAndRequest();
    await back();
    expect(ends).toEqual(['first at 1020', 'second at 1038']);
    expect(timeline.flushAndRequest()).toBeUndefined();
    expect(timeline.napMs).toBe(0);
  });

  it('leaves most of a core to the compiler while a kernel is compiled, unless work is in flight', async () => {
    const { timeline, clock, submit, back } = rig({ spins: true });
    let compiled = (): void => undefined;
    const compilation = timeline.trackCompilation(new Promise<void>((resolve) => (compiled = resolve)));
    expect(timeline.napMs).toBe(0);
    clock.ms += 10;
    expect(timeline.napMs).toBeCloseTo(0.4);
    clock.ms += 10_000;
    expect(timeline.napMs).toBe(2);
    submit(0, () => undefined);
    timeline.flushAndRequest();
    expect(timeline.napMs).toBe(0);
    await back();
    expect(timeline.napMs).toBe(2);
    compiled();
    await compilation;
    expect(timeline.napMs).toBe(0);
  });

  it('includes transfers behind the first, which end with it, but no launches', async () => {
    const { timeline, clock, log, submit, back } = rig({ spins: true });
    const ends: string[] = [];
    for (const [what, ms] of [
      ['launch', 20],
      ['read', 0],
      ['write', 0],
      ['next launch', 20],
      ['next read', 0],
    ] as const)
      submit(ms, () => ends.push(what));
    expect(log).not.toContain('asked');
    clock.ms += 18;
    timeline.flushAndRequest();
    expect(log.filter((one) => one === 'asked').length).toBe(3);
    for (let i = 0; i < 3; i++) await back();
    expect(ends).toEqual(['launch', 'read', 'write']);
    expect(log.filter((one) => one === 'asked').length).toBe(3);
    expect(timeline.flushAndRequest()).toBe(10);
  });

  it('happens at once if waiting is free, and ends are reported in order', async () => {
    const { log, submit, back } = rig({ spins: false });
    const ends: number[] = [];
    for (const number of [1, 2, 3]) submit(50, () => ends.push(number));
    expect(log.filter((one) => one === 'asked').length).toBe(3);
    await back();
    expect(ends).toEqual([1]);
    await back();
    await back();
    expect(ends).toEqual([1, 2, 3]);
  });

  it('always happens at once for short ones', () => {
    const { timeline, log, submit } = rig({ spins: true });
    submit(0.5);
    expect(log).toEqual(['submitted', 'asked']);
    expect(timeline.napMs).toBe(0);
  });
});

describe('the queue', () => {
  it('knows how much work waits behind what runs', async () => {
    const { timeline, submit, back } = rig({ spins: false });
    const launch = (ms: number): void => {
      timeline.recording().assumedMs = ms;
      submit(ms);
    };
    expect(timeline.waitingMs).toBe(0);
    submit(0); // a transfer is not work
    launch(7);
    expect(timeline.waitingMs).toBe(0);
    launch(3);
    submit(0);
    timeline.recording().assumedMs = 2; // not submitted yet
    expect(timeline.waitingMs).toBe(5);
    await back();
    await back();
    expect(timeline.waitingMs).toBe(2);
  });

  it('writes after the commands recorded before, and counts the bytes held', () => {
    const { timeline, log, submit } = rig({ spins: true });
    timeline.recording().isUsed = true;
    timeline.write(2 ** 26, () => log.push('write'));
    expect(log).toEqual(['submitted', 'asked', 'write']);
    expect(timeline.hasSpace).toBe(false);
    submit(0);
    expect(timeline.hasSpace).toBe(false);
  });

  it('fails if a pending map fails, but not after close', async () => {
    const open = rig({ spins: true });
    open.submit(0);
    await open.lose();
    expect(open.failures).toEqual([new Error('lost')]);
    const closed = rig({ spins: true });
    closed.submit(0);
    const left = closed.timeline.close(() => closed.log.push('destroyed'));
    await closed.lose();
    await left;
    expect(closed.log.at(-1)).toBe('destroyed');
    expect(closed.failures).toEqual([]);
    // It asks for nothing after that.
    closed.timeline.flushAndRequest();
    expect(closed.log.filter((one) => one === 'asked').length).toBe(1);
  });
});
