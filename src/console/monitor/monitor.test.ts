import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventsIn } from '../../../test/events.js';
import type { Sensors } from '../../device/device.js';
import type { DeviceStatus } from '../../engine/index.js';
import { MillraceError } from '../../kernel/error.js';
import { Exit } from '../command/exit.js';
import { openOutput } from '../output/output.js';
import { type MonitorOptions, startMonitor } from './monitor.js';

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout', 'performance', 'Date'],
    }),
);
afterEach(() => void vi.useRealTimers());

/** A job on two devices, with a clock and sensors set by the test. */
function watched(options: MonitorOptions, { json = false, card = {}, isOpen = true } = {}) {
  const printed: string[] = [];
  const sink = { write: (text: string) => printed.push(text) };
  const output = openOutput({ json }, { stdout: sink, stderr: sink });
  const sensors = new Map<string, Sensors>([
    ['cuda:0', card],
    ['native', {}],
  ]);
  const state = { isOpen, done: 0n, cpuMs: 0, fault: undefined as MillraceError | undefined };
  const held = new Set<string>();
  const stops: number[] = [];
  const device = (id: string, processor: 'cpu' | 'gpu'): DeviceStatus =>
    ({
      info: { id, processor },
      fed: 1,
      items: state.done,
      fault: id === 'native' ? state.fault : undefined,
    }) as DeviceStatus;
  const job = {
    name: 'zeros',
    unit: 'H',
    length: 1n << 40n,
    progress: () => ({ done: state.done }),
    devices: () => (state.isOpen ? [device('cuda:0', 'gpu'), device('native', 'cpu')] : []),
    hits: () => 0,
  };
  const stop = new AbortController();
  const paused: boolean[] = [];
  const controls = {
    signal: stop.signal,
    onPaused: (isPaused: boolean) => void paused.push(isPaused),
    pause: (id = 'all') => void held.add(id),
    resume: (id = 'all') => void held.delete(id),
    stop: (exit: number) => void stops.push(exit),
  };
  const here = { sensors: async (id: string) => sensors.get(id), processors: 2, cpuMs: () => state.cpuMs };
  const monitor = startMonitor(output, options, job, controls, here);
  const pass = (seconds: number) => vi.advanceTimersByTimeAsync(seconds * 1000);
  return { monitor, printed: () => printed.join(''), sensors, state, held, stops, stop, paused, pass };
}

describe('limits', () => {
  it('pause only the device that is too hot, until it has cooled', async () => {
    const { sensors, held, pass, printed, monitor } = watched({ maxTemp: 80 });
    sensors.set('cuda:0', { temperatureC: 79 }).set('native', { temperatureC: 50 });
    await pass(2.1);
    expect([...held]).toEqual([]);
    sensors.set('cuda:0', { temperatureC: 84 });
    await pass(2);
    expect([...held]).toEqual(['cuda:0']);
    sensors.set('cuda:0', { temperatureC: 77 });
    await pass(10);
    expect([...held]).toEqual(['cuda:0']);
    sensors.set('cuda:0', { temperatureC: 75 });
    await pass(2);
    expect([...held]).toEqual([]);
    const words = printed().replaceAll(/^(\[|warning:).*\n/gm, ''); // without the line after 10 s
    expect(words).toBe('cuda:0 pauses: too hot (84 °C)\ncuda:0 resumes (75 °C)\n');
    monitor.end();
  });

  it('emit events, and warn of devices that report nothing', async () => {
    const card = { temperatureC: 60, powerW: 310 };
    const { pass, printed, monitor } = watched({ maxTemp: 80, maxPower: 300 }, { json: true, card });
    await pass(2.1);
    const events = eventsIn(printed());
    expect(events.filter(({ event }) => event === 'paused')).toEqual([
      { event: 'paused', device: 'cuda:0', reason: 'too much power', temperatureC: 60, powerW: 310 },
    ]);
    expect(events.filter(({ event }) => event === 'warning').map(({ message }) => message)).toEqual([
      'native does not report its temperature: --max-temp has no effect on it',
      'native does not report its power: --max-power has no effect on it',
    ]);
    monitor.end();
  });

  it('keep a requested pause after a pause for heat ends', async () => {
    const { sensors, held, pass, monitor } = watched({ maxTemp: 80 });
    sensors.set('cuda:0', { temperatureC: 90 });
    await pass(2.1);
    monitor.pause(true);
    expect([...held].sort()).toEqual(['cuda:0', 'native']);
    sensors.set('cuda:0', { temperatureC: 40 });
    await pass(2);
    expect([...held].sort()).toEqual(['cuda:0', 'native']);
    monitor.pause(false);
    expect([...held]).toEqual([]);
    monitor.end();
  });

  it('keep CPU devices to their share of the processors, by the time they actually used', async () => {
    const { state, held, pass, monitor } = watched({ maxCpu: 0.25 });
    let heldTicks = 0;
    for (let tick = 0; tick < 100; tick++) {
      if (held.has('native')) heldTicks++;
      else state.cpuMs += 100;
      expect(held.has('cuda:0')).toBe(false);
      await pass(0.1);
    }
    // One thread may work half of the time: a quarter of two processors.
    expect(heldTicks / 100).toBeCloseTo(0.5, 1);
    monitor.end();
  });

  it('end the job when its time is up, however long that is', async () => {
    const { stops, pass, monitor } = watched({ runtime: 40 * 86_400 });
    await pass(60);
    expect(stops).toEqual([]); // a 40-day timer would overflow and fire at once
    monitor.end();
    const short = watched({ runtime: 5 });
    await short.pass(4.9);
    expect(short.stops).toEqual([]);
    await short.pass(1);
    expect(short.stops[0]).toBe(Exit.limit);
    short.monitor.end();
  });
});

describe('without a terminal', () => {
  it('prints a line after 10 s, then one a minute; nothing before', async () => {
    const { state, pass, printed, monitor } = watched({});
    await pass(9);
    expect(printed()).toBe('');
    for (let second = 0; second < 71; second++) {
      state.done += 5_000_000n;
      await pass(1);
    }
    const lines = printed().trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    for (const line of lines)
      expect(line).toMatch(
        /^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\] {2}zeros {2}speed 10s(\/60s)? [\d.]+ [kM]?H\/s( \/ [\d.]+ [kM]?H\/s)? {2}[\d.]+ % {2}/,
      );
    monitor.end();
  });

  it('prints a line as often as --status says', async () => {
    const { pass, printed, monitor } = watched({ status: 2 });
    await pass(10.1);
    expect(printed().trimEnd().split('\n')).toHaveLength(5);
    monitor.end();
    await pass(100);
    expect(printed().trimEnd().split('\n')).toHaveLength(5);
  });
});

it('progress events come once a second and fit the schema; a lost device is reported once', async () => {
  const { state, pass, printed, monitor } = watched({}, { json: true });
  state.done = 12n;
  await pass(3.1);
  state.fault = new MillraceError({ code: 'device-failed', message: 'gone' });
  await pass(2);
  monitor.end();
  const events = eventsIn(printed());
  expect(events.filter(({ event }) => event === 'progress')).toHaveLength(5);
  expect(events.find(({ event }) => event === 'progress')).toMatchObject({
    state: 'running',
    done: 12,
    length: 2 ** 40,
  });
  expect(events.filter(({ event }) => event === 'lost')).toEqual([
    { event: 'lost', device: 'native', code: 'device-failed', message: 'gone' },
  ]);
});

describe('a pause before devices are opened', () => {
  it('holds them when they open, before they get work', async () => {
    const { monitor, state, held, paused, pass } = watched({}, { isOpen: false });
    monitor.pause(true);
    monitor.pause(true, 'outranked');
    expect([paused.at(-1), [...held]]).toEqual([true, []]);
    state.isOpen = true;
    monitor.devicesOpened();
    expect([...held].sort()).toEqual(['cuda:0', 'native']);
    monitor.pause(false);
    expect([paused.at(-1), held.size]).toEqual([true, 2]);
    monitor.pause(false, 'outranked');
    expect([paused.at(-1), held.size]).toEqual([false, 0]);
    monitor.devicesOpened();
    await pass(1);
    expect(held.size).toBe(0);
    monitor.end();
  });

  it('holds them at the next check, if their opening is not reported', async () => {
    const { monitor, state, held, pass } = watched({}, { isOpen: false });
    monitor.pause(true);
    state.isOpen = true;
    await pass(0.6);
    expect(held.size).toBe(2);
    monitor.end();
  });

  it('holds up the host until it is over, or the job is stopped', async () => {
    const { monitor, stop } = watched({}, { isOpen: false });
    const log: string[] = [];
    const wait = (name: string) => void monitor.whenRunning()?.then(() => log.push(name));
    wait('not paused');
    monitor.pause(true);
    wait('resumed');
    await Promise.resolve();
    expect(log).toEqual([]);
    monitor.pause(false);
    await Promise.resolve();
    expect(log).toEqual(['resumed']);
    monitor.pause(true);
    wait('stopped');
    stop.abort();
    await Promise.resolve();
    expect(log).toEqual(['resumed', 'stopped']);
    expect(monitor.whenRunning()).toBeUndefined();
    monitor.end();
  });
});
