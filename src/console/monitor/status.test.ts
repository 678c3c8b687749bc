import { describe, expect, it } from 'vitest';
import type { DeviceStatus } from '../../engine/index.js';
import { styleFor } from '../output/style.js';
import { type MonitoredJob, StatusMeter } from './status.js';
import { statusLine, statusLines } from './status-lines.js';

const plain = styleFor({});

/** A job on one device, whose progress is set by `at`. */
function job(more: Partial<MonitoredJob> = {}) {
  const state = { done: 0n, hits: 0, device: 0n };
  const device = (): DeviceStatus =>
    ({
      info: { id: 'cuda:0', processor: 'gpu' },
      fed: 0.995,
      queueDepth: 6,
      activeStreams: 2,
      chunkMs: 49.8,
      launchSize: { lanes: 256, items: 4_194_304 },
      items: state.device,
      isPaused: false,
      fault: undefined,
    }) as DeviceStatus;
  const watched: MonitoredJob = {
    name: 'zeros',
    unit: 'H',
    length: 1n << 40n,
    progress: () => ({ done: state.done }),
    devices: () => [device()],
    hits: () => state.hits,
    ...more,
  };
  const watch = new StatusMeter(watched, 0);
  const at = (second: number, done: bigint, hits = 0) => {
    Object.assign(state, { done, hits, device: done });
    return watch.measure(
      'running',
      () => ({ sensors: { temperatureC: 61.4, powerW: 411.6 }, pauseReason: undefined }),
      second * 1000,
    );
  };
  return { at, watch, state };
}

describe('the status of a job', () => {
  it('has a rate once the job has run that long, not before', () => {
    const { at } = job();
    at(0, 0n);
    expect(at(1, 1_000_000n)).toMatchObject({ perSecond: 1e6, etaSeconds: 2 ** 40 / 1e6 - 1 });
    let last = at(2, 6_000_000n);
    for (let second = 3; second <= 60; second++) {
      expect(last.rates.tenSeconds === undefined).toBe(second <= 10);
      expect(last.rates.minute).toBeUndefined();
      last = at(second, 1_000_000n + BigInt(second - 1) * 5_000_000n);
    }
    expect(last.rates.tenSeconds).toBeCloseTo(5e6, -3);
    expect(last.rates.minute).toBeCloseTo((1e6 + 59 * 5e6) / 60, -3);
    for (let second = 61; second <= 900; second++) {
      expect(last.rates.quarterHour).toBeUndefined();
      last = at(second, 1_000_000n + BigInt(second - 1) * 5_000_000n);
    }
    expect(last.rates.quarterHour).toBeCloseTo((1e6 + 899 * 5e6) / 900, -3);
    expect(last.devices[0]).toMatchObject({ id: 'cuda:0', chunkMs: 49.8, lanes: 256, fed: 0.995, temperatureC: 61.4 });
  });

  it('counts work of earlier runs as progress, not as speed', () => {
    const { at } = job({ length: 1000n, before: 500n });
    at(0, 0n);
    expect(at(10, 100n)).toMatchObject({ done: 600n, fraction: 0.6, perSecond: 10, etaSeconds: 40 });
  });

  it('shows work that waits for a canary as done, and removes it with its device', () => {
    const state = { held: 0n };
    const { at } = job({ length: 1000n, progress: () => ({ done: 100n, held: state.held }) });
    at(0, 0n);
    state.held = 100n;
    expect(at(10, 0n)).toMatchObject({ done: 200n, perSecond: 10 });
    state.held = 0n;
    expect(at(11, 0n)).toMatchObject({ done: 100n });
    expect(at(12, 0n).perSecond).toBeGreaterThanOrEqual(0);
  });

  it('does not count work that a device did for other jobs', () => {
    const { watch, state } = job();
    state.device = 1n << 50n;
    watch.measure('running', undefined, 0);
    state.device += 1000n;
    expect(watch.measure('running', undefined, 1000).devices[0]?.perSecond).toBe(1000);
  });

  it('has the share of each device, of its own work and without that of a device that was wrong', () => {
    const items = { 'cuda:0': 1n << 50n, 'wasm:0': 7n };
    const devices = () =>
      Object.entries(items).map(([id, done]) => ({ info: { id }, items: done, queueDepth: 0, activeStreams: 0 }));
    const { watch } = job({ devices: devices as unknown as MonitoredJob['devices'] });
    const shares = (ms: number) => watch.measure('running', undefined, ms).devices.map(({ share }) => share);
    expect(shares(0)).toEqual([undefined, undefined]);
    items['cuda:0'] += 300n;
    items['wasm:0'] += 100n;
    expect(shares(1000)).toEqual([0.75, 0.25]);
    items['cuda:0'] -= 300n;
    expect(shares(2000)).toEqual([0, 1]);
  });

  it('has no estimated end while paused', () => {
    const { at, watch } = job();
    at(0, 0n);
    at(5, 1000n);
    expect(watch.measure('paused', undefined, 6000).etaSeconds).toBeUndefined();
  });

  it('says when a search that ends with a hit should find one, and how long it takes at most', () => {
    const { at } = job({ chance: 1e-6 });
    at(0, 0n);
    const status = at(10, 500_000n);
    expect(status).toMatchObject({ odds: { expectedSeconds: 20, expectedHits: 0.5 } });
    expect(status.etaSeconds).toBeCloseTo((2 ** 40 - 500_000) / 50_000, 3);
    expect(status.odds?.luck).toBeUndefined();
    expect(at(20, 4_000_000n, 2).odds).toMatchObject({ expectedHits: 4, luck: 0.5 });
  });

  it('expects a hit in the remaining indices, not in all possible ones', () => {
    // The 2^32 nonces of a current block, where one in 2^78 hits on average.
    let left = 2 ** 32;
    const { at } = job({ chance: 2 ** -78, left: () => left });
    at(0, 0n);
    left -= 2 ** 30;
    const status = at(10, 2n ** 30n);
    expect(status.odds?.expectedSeconds).toBeUndefined();
    expect(status.etaSeconds).toBeCloseTo(30, 6);
    expect(statusLine(status)).toContain('30.0 s left at most');
    expect(statusLine(status)).not.toContain('a hit in');
    // If one more hit is expected on average, the search ends with it or with the last index.
    const even = job({ chance: 2 ** -31, left: () => 2 ** 31 });
    even.at(0, 0n);
    expect(even.at(10, 2n ** 30n).odds?.expectedSeconds).toBeCloseTo(20 * (1 - Math.exp(-1)), 6);
  });
});

describe('the screen', () => {
  const now = new Date(2026, 10, 15, 15, 0, 0);
  const shown = (columns: number, more: Partial<MonitoredJob> = {}) => {
    const { at } = job(more);
    at(0, 0n);
    return statusLines(at(20, 400_000_000n, 3), plain, columns, now);
  };

  it('is in hashcat’s order, a line per device', () => {
    expect(shown(120)).toEqual([
      'job        zeros',
      'status     running',
      'started    14:59:40  20.0 s ago',
      'estimated  2026-11-16 06:15:55  15 h 16 min left',
      'speed      cuda:0  20.0 MH/s  49.8 ms  256 × 4.19 M  fed 99.5 %  6 chunks on 2 streams  61 °C  412 W  48.6 kH/J',
      'total      20.0 MH/s  10 s 20.0 M  max 20.0 M',
      'hits       3',
      'progress   400,000,000 of 1,099,511,627,776 (0.04 %)',
    ]);
  });

  it('wraps to the next line if it is narrow; nothing is left out', () => {
    const narrow = shown(39);
    expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(39);
    const words = (lines: readonly string[]) => lines.join(' ').split(/\s+/).sort();
    expect(words(narrow)).toEqual(words(shown(100)));
    expect(narrow).toContain('speed      cuda:0  20.0 MH/s  49.8 ms');
  });

  it('shows the expected hits and the luck', () => {
    expect(shown(100, { chance: 1e-8 })[3]).toBe(
      'expected   a hit in 5.00 s  15 h 16 min left at most  4.00 by now  luck 75.0 %',
    );
  });

  it('fits in one line, for a log', () => {
    const { at } = job();
    at(0, 0n);
    expect(statusLine(at(20, 400_000_000n, 1))).toBe(
      'speed 10s 20.0 MH/s  0.04 %  15 h 16 min left  1 hit  cuda:0 fed 99.5 % 61 °C',
    );
  });
});
