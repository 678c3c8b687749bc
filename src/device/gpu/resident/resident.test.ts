import { expect, test } from 'vitest';
import { isHit, ModelGrids } from '../../../../test/gpu-core/grid-model.js';
import { byTier } from '../../../../test/tier.js';
import { MillraceError } from '../../../kernel/error.js';
import type { Device, Report } from '../../device.js';
import type { GpuJob } from '../host/program.js';
import { newBoard } from '../wire/board.js';
import { ResidentClock } from './clock.js';
import { Grids } from './grids.js';
import { ResidentMemory } from './memory.js';
import { type ResidentLink, ResidentQueue } from './resident.js';

/** Runs both host sides against a model of the grid; a seed decides the order of every access. */

const RING_HITS = 6;
const device = { info: { id: 'model' } } as Device;
const job = {
  program: {
    name: 'model',
    device,
    chunk: [],
    ring: { headerWords: 4, recordWords: 1 },
    params: { jobWords: 0 },
  },
  parameters: { words: (base: bigint) => Uint32Array.of(Number(base)) },
} as unknown as GpuJob;

interface Range {
  readonly base: number;
  readonly count: number;
  readonly ring: Uint32Array;
  report: Report | undefined;
  error: unknown;
  /** True if it may be reported as incomplete. */
  mayEnd: boolean;
}

class Play {
  us = 0;
  readonly model: ModelGrids;
  readonly grids: Grids;
  readonly queues: ResidentQueue[] = [];
  readonly ranges: Range[] = [];
  readonly faults: string[] = [];
  #next = 0;
  #state: number;

  constructor(seed: number, workgroups: number, boundMs?: number) {
    this.#state = seed + 1;
    this.model = new ModelGrids(workgroups, boundMs);
    this.grids = new Grids(this.model, {
      now: () => this.us,
      log: () => undefined,
      gridEnded: (number, error) => {
        this.faults.push(error.message);
        this.queues.find((queue) => queue.number === number)?.end(error);
      },
      sleep: (ms) => {
        this.us += ms * 1000;
        for (let k = 0; k < 200 && !this.model.isStill; k++) this.model.step(this.pick);
      },
    });
  }

  /** A random number less than `below`, from the seed. */
  readonly pick = (below: number): number => {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * below);
  };

  open(capacityLog: number): ResidentQueue {
    const memory = ResidentMemory.allocate({ capacityLog, entryWords: 2, ringWords: 4 + RING_HITS });
    const number = this.queues.length + 1;
    const call = async (kind: string) => {
      if (kind === 'dismiss') this.grids.close(number);
    };
    const link = {
      board: newBoard(),
      call,
      watch: () => undefined,
      keepProcessAlive: () => undefined,
      recheck: () => undefined,
    } as unknown as ResidentLink;
    const now = (): bigint => BigInt(Math.round(this.us * 1000)) + 1n;
    const queue = new ResidentQueue({ device, link, job, number, memory, hits: RING_HITS, buffers: [], now });
    this.queues.push(queue);
    expect(this.grids.open(number, memory, { program: 0, memory, block: new Uint32Array(8), buffers: [] })).toBe(true);
    return queue;
  }

  submit(queue: ResidentQueue): void {
    const count = 1 + this.pick(40);
    const ring = new Uint32Array(4 + RING_HITS);
    const range: Range = { base: this.#next, count, ring, report: undefined, error: undefined, mayEnd: false };
    this.#next += count;
    this.ranges.push(range);
    queue.submit({ base: BigInt(range.base), count }, ring).done.then(
      (report) => {
        range.report = report;
      },
      (error) => {
        range.error = error;
      },
    );
  }

  /** Allows the ranges submitted so far to end without a result. */
  release(): void {
    for (const range of this.ranges) if (range.report === undefined) range.mayEnd = true;
  }

  turn(): void {
    this.us += this.pick(300);
    this.grids.runTurn(this.us, this.pick(50) === 0);
  }

  async settle(): Promise<void> {
    for (let k = 0; k < 20_000 && this.ranges.some(({ report, error }) => !report && !error); k++) {
      for (let i = 0; i < 8; i++) this.model.step(this.pick);
      if (k % 3 === 0) this.turn();
      if (k % 5 === 0) for (const queue of this.queues) queue.processFlags();
      if (k % 50 === 0) await Promise.resolve();
    }
  }

  check(label: string): void {
    for (const { base, count, ring, report, error, mayEnd } of this.ranges) {
      expect({ label, base, error, isReported: report !== undefined }).toEqual({
        label,
        base,
        error: undefined,
        isReported: true,
      });
      if (!report?.complete) {
        expect({ label, base, mayEnd }).toEqual({ label, base, mayEnd: true });
        continue;
      }
      const hits = Array.from({ length: count }, (_, item) => item).filter((item) => isHit(base + item));
      expect({ label, base, found: ring[0] }).toEqual({ label, base, found: hits.length });
      const stored = [...ring.subarray(4, 4 + Math.min(hits.length, RING_HITS))].sort((a, b) => a - b);
      expect(new Set(stored).size).toBe(stored.length);
      if (hits.length <= RING_HITS) expect({ label, base, stored }).toEqual({ label, base, stored: hits });
    }
  }
}

test('a closed queue takes no range', async () => {
  const play = new Play(1, 2);
  const queue = play.open(2);
  await queue.closeAndWait();
  expect(() => play.submit(queue)).toThrow(
    expect.objectContaining({ code: 'device-closed', summary: 'the resident grid of kernel model has been closed' }),
  );
});

const SEEDS = byTier(50, 400);

test(`in any order each range runs once and reports all its hits, or is cancelled (${SEEDS} seeds)`, async () => {
  let incomplete = 0;
  let relaunched = 0;
  for (let seed = 0; seed < SEEDS; seed++) {
    const play = new Play(seed, 2 + (seed % 7), seed % 5 === 0 ? 1 : undefined);
    const queues = [play.open(seed % 4)];
    if (seed % 3 === 0) queues.push(play.open(2));
    for (let k = 0; k < 1500; k++) {
      const queue = queues[play.pick(queues.length)]!;
      const roll = play.pick(1000);
      if (roll < 800) play.model.step(play.pick);
      else if (roll < 900) play.turn();
      else if (roll < 950) queue.processFlags();
      else if (roll < 990) play.submit(queue);
      else if (roll < 993) play.model.pause();
      else if (roll < 996) {
        play.release();
        queue.cancel();
      } else await Promise.resolve();
    }
    await play.settle();
    play.check(`seed ${seed}`);
    expect(play.faults).toEqual([]);
    for (const queue of play.queues) await queue.closeAndWait();
    expect(play.model.grids.size).toBe(0);
    incomplete += play.ranges.filter(({ report }) => !report?.complete).length;
    relaunched += play.model.launches - queues.length;
  }
  expect(incomplete).toBeGreaterThan(SEEDS);
  expect(relaunched).toBeGreaterThan(SEEDS);
});

test('a stalled grid is stopped and gives its ranges back; finished ranges keep their results', async () => {
  for (let seed = 0; seed < 50; seed += byTier(4, 1)) {
    const play = new Play(seed, 3);
    const queue = play.open(2);
    for (let k = 0; k < 12; k++) play.submit(queue);
    for (let k = 0; k < 100 + 4 * seed; k++) {
      play.model.step(play.pick);
      if (k % 20 === 0) play.turn();
      if (k % 20 === 0) queue.processFlags();
    }
    play.model.isStill = true;
    play.release();
    for (let k = 0; k < 40; k++) {
      play.us += 100_000;
      play.grids.runTurn(play.us, false);
    }
    expect(play.faults).toEqual([expect.stringContaining('a resident grid stalled')]);
    expect(queue.fault?.code).toBe('device-failed');
    await Promise.resolve();
    play.submit(queue);
    play.release();
    await Promise.resolve();
    play.check(`seed ${seed}`);
    play.model.isStill = false; // it resumes too late
    for (let k = 0; k < 500; k++) play.model.step(play.pick);
    await queue.closeAndWait();
    play.check(`seed ${seed}`);
  }
});

test('a launch that fails, and one that does nothing, give the ranges back', async () => {
  const play = new Play(1, 2);
  play.model.refusal = new MillraceError({ code: 'device-failed', message: 'no resources' });
  const queue = play.open(2);
  play.submit(queue);
  play.release();
  play.turn();
  expect(queue.fault?.message).toContain('could not be launched: no resources');
  await Promise.resolve();
  play.check('refused');
  const vain = new Play(1, 0); // no workgroup starts
  const other = vain.open(2);
  vain.submit(other);
  vain.release();
  for (let k = 0; k < 20; k++) {
    vain.us += 2000;
    vain.grids.runTurn(vain.us, false);
  }
  expect(other.fault?.message).toContain('without taking any work');
  await Promise.resolve();
  vain.check('vain');
});

test('flags are read every 250 µs while there is work, whatever time the last entries took', async () => {
  const play = new Play(3, 3);
  const queue = play.open(2);
  for (let k = 0; k < 10; k++) {
    play.submit(queue);
    play.turn();
    play.us += 20_000; // the next one is expected to take as long
    await play.settle();
  }
  play.submit(queue);
  play.grids.runTurn(play.us, false);
  expect(play.grids.untilNextCheckUs(play.us)).toBeLessThanOrEqual(250);
  await play.settle();
  play.check('seed 3');
  await queue.closeAndWait();
});

test('device times convert to host times within the interval the host saw', () => {
  const clock = new ResidentClock();
  const offset = 1_700_000_000_000_000_000n;
  for (let k = 0n; k < 50n; k++) {
    const queued = k * 1_000_000n;
    const [began, ended, seen] = [queued + 3000n, queued + 700_000n, queued + 750_000n + (k % 7n) * 10_000n];
    const times = { began: began + offset, ended: ended + offset, arrived: 0n };
    const { startedNs, endedNs } = clock.convert(times, queued, seen);
    expect(startedNs >= queued && endedNs <= seen && startedNs <= endedNs).toBe(true);
    if (k > 0n) expect(Number(endedNs - ended)).toBeLessThan(4000);
    expect(Number(endedNs - ended)).toBeGreaterThan(-4000);
  }
  expect(clock.convert({ began: 0n, ended: 0n, arrived: 0n }, 5n, 9n)).toEqual({ startedNs: 5n, endedNs: 9n });
});

test('device times convert exactly although the first entry waits for the launch and the others for those before them', () => {
  const clock = new ResidentClock();
  const offset = 1_700_000_000_000_000_000n;
  for (let k = 0n; k < 50n; k++) {
    const queued = k * 1_000_000n;
    const arrived = queued + (k === 0n ? 1_200_000n : 2500n);
    const [began, ended] = [queued + 3_000_000n, queued + 4_000_000n];
    const times = { began: began + offset, ended: ended + offset, arrived: arrived + offset };
    const { endedNs } = clock.convert(times, queued, ended + 250_000n);
    if (k > 0n) expect(Math.abs(Number(endedNs - ended))).toBeLessThan(1000);
  }
});
