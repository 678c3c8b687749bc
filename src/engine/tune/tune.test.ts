import { describe, expect, it } from 'vitest';
import type { Device, DeviceInfo } from '../../device/device.js';
import { MillraceError } from '../../kernel/error.js';
import { type Entrant, runContest } from './contest.js';
import { type Axis, PROOF_AXIS, type Setting, settingText, type Tunable, tune } from './tune.js';
import {
  saveTuning,
  setTuningStore,
  settingFor,
  type TuningStore,
  tuningFor,
  type tuningSubject,
} from './tuning-store.js';

/** An entrant that does a unit of work in a given time, which may differ per round. */
function entrant(name: string, seconds: (round: number) => number, log: string[] = [], digest = 'right'): Entrant {
  return {
    name,
    run: async (round) => {
      log.push(name);
      return { work: 1, seconds: seconds(round), digest };
    },
  };
}

const runsOf = (log: readonly string[], name: string): number => log.filter((entry) => entry === name).length;

describe('a contest', () => {
  it('finds the fastest entrant, and drops early those that cannot win', async () => {
    const log: string[] = [];
    const slow = Array.from({ length: 6 }, (_, at) => entrant(`slow${at}`, () => 2 + at / 10, log));
    const all = [entrant('now', () => 1, log), ...slow, entrant('fast', () => 0.9, log)];
    const { winner, standings, rounds } = await runContest(all);
    expect(winner).toBe(7);
    expect(standings[7]?.gain).toBeCloseTo(1 / 0.9, 6);
    for (const { name } of slow) expect(runsOf(log, name)).toBe(1);
    // All of them in all rounds would be 64 runs.
    expect(log.length).toBeLessThan(20);
    expect(rounds).toBeLessThan(8);
  });

  it('keeps the first entrant unless another is better by at least 1 %', async () => {
    const same = await runContest([entrant('now', () => 1), entrant('a', () => 1), entrant('b', () => 1.001)]);
    expect(same.winner).toBe(0);
    const hardly = await runContest([entrant('now', () => 1), entrant('a', () => 0.995)]);
    expect(hardly.winner).toBe(0);
    expect((await runContest([entrant('now', () => 1), entrant('a', () => 0.97)])).winner).toBe(1);
  });

  it('does not take noise for a gain', async () => {
    // Deterministic noise of ±30 %, different for each: none is really faster.
    const noise = (seed: number) => (round: number) => 1 + 0.3 * Math.sin(12.9898 * (seed + 7 * round));
    const { winner } = await runContest([1, 2, 3, 4, 5].map((seed) => entrant(`same${seed}`, noise(seed))));
    expect(winner).toBe(0);
  });

  it('compares within rounds: a machine that slows down affects all entrants alike', async () => {
    const slower = (seconds: number) => (round: number) => seconds * (1 + round);
    const { winner, standings } = await runContest([entrant('now', slower(1)), entrant('fast', slower(0.8))]);
    expect(winner).toBe(1);
    expect(standings[1]?.gain).toBeCloseTo(1.25, 6);
  });

  it('rejects an entrant with different results, by name', async () => {
    const liar = entrant('lanes 512', () => 0.1, [], 'wrong');
    await expect(runContest([entrant('now', () => 1), entrant('fine', () => 1), liar])).rejects.toMatchObject({
      code: 'device-failed',
      message: expect.stringContaining('candidate lanes 512 and now give different results'),
    });
  });

  it('leaves out an entrant that lacks memory, and records why', async () => {
    const large: Entrant = {
      name: 'large',
      run: () => Promise.reject(new MillraceError({ code: 'device-memory', message: 'no memory for it' })),
    };
    const { winner, standings } = await runContest([entrant('now', () => 1), large, entrant('fast', () => 0.5)]);
    expect(winner).toBe(2);
    expect(standings[1]).toMatchObject({ unfit: 'no memory for it', gain: undefined, samples: [] });
  });

  it('ends when the time is up', async () => {
    const log: string[] = [];
    const near = [entrant('now', () => 1, log), entrant('a', () => 0.98, log), entrant('b', () => 0.981, log)];
    const { rounds } = await runContest(near, { isOver: () => true });
    expect(rounds).toBe(1);
  });
});

const info: DeviceInfo = {
  id: 'play',
  kind: 'native',
  processor: 'cpu',
  name: 'Play 1',
  memoryBytes: 2 ** 30,
  units: 2,
  capabilities: [],
  limits: { bufferBytes: 2 ** 30, lanes: 16 },
  versions: { driver: '1.0' },
};
const deviceWith = (more: Partial<DeviceInfo> = {}): Device => ({ info: { ...info, ...more } }) as Device;

interface Played extends Tunable {
  readonly runs: string[];
}

/** A workload whose time is the product of the factors of its settings. Settings without a factor have no effect. */
function played(factors: Readonly<Record<string, number>>, axes: readonly Axis[], more: Partial<Tunable> = {}): Played {
  const runs: string[] = [];
  const secondsOf = (setting: Setting): number =>
    Object.entries(setting).reduce((all, [name, value]) => all * (factors[`${name} ${value}`] ?? 1), 1);
  return {
    runs,
    name: 'play',
    unit: 'H',
    kernels: () => [],
    axes: () => axes,
    audit: async () => 'right',
    open: async (_, setting) => ({
      close: () => undefined,
      run: async () => {
        runs.push(settingText(setting));
        return { work: 1, seconds: secondsOf(setting), digest: '' };
      },
    }),
    ...more,
  };
}

const lanes: Axis = { name: 'gang', changes: [{ lanes: 1 }, { lanes: 8 }] };
const slots: Axis = { name: 'slots', changes: [{ slots: 5 }], measured: 'job' };

describe('tuning a workload', () => {
  it('tunes one axis after the other, and compares the result with the default', async () => {
    const play = played({ 'lanes 8': 0.8, 'slots 5': 0.9, 'lanes 1': 3 }, [lanes, slots]);
    const record = await tune(deviceWith(), play);
    expect(record).toMatchObject({ setting: { lanes: 8, slots: 5 }, isWhole: true, unit: 'H' });
    expect(record.gain).toBeCloseTo(1 / 0.72, 6);
    expect(record.rate).toBeCloseTo(1 / 0.72, 6);
    expect(record.axes.map(({ name, measured }) => [name, measured])).toEqual([
      ['gang', 'launches'],
      ['slots', 'job'],
      [PROOF_AXIS, 'job'],
    ]);
    // Every timing is kept.
    const kept = record.axes.flatMap(({ candidates }) => candidates.flatMap(({ samples }) => samples));
    expect(kept.length).toBe(play.runs.length);
  });

  it('reports the median rate: of two runs the mean', async () => {
    let runs = 0;
    const open = async () => ({
      close: () => undefined,
      run: async () => ({ work: 1, digest: '', seconds: 1 + ++runs / 1000 }),
    });
    const record = await tune(deviceWith(), played({}, [lanes], { open }), { rounds: 1 });
    const [axis] = record.axes;
    const [first, second, ...more] = (axis?.candidates[axis.winner]?.samples ?? []).map(([work, took]) => work / took);
    expect(more).toEqual([]);
    expect(first).not.toBe(second);
    expect(record.rate).toBeCloseTo((first! + second!) / 2, 9);
  });

  it('sets nothing if the choices together are no better than the default', async () => {
    // The choice is better in launches, but not in a job.
    const axes = [lanes];
    const play = played({}, axes, {
      open: async (_, setting, measured) => ({
        close: () => undefined,
        run: async () => ({ work: 1, digest: '', seconds: measured === 'job' ? 1 : setting.lanes === 8 ? 0.5 : 1 }),
      }),
    });
    expect(await tune(deviceWith(), play)).toMatchObject({ setting: {}, gain: 1 });
  });

  it('keeps the default on a tie', async () => {
    expect(await tune(deviceWith(), played({}, [lanes, slots]))).toMatchObject({ setting: {}, gain: 1 });
  });

  it('rejects a candidate with wrong results, by name, before it is timed', async () => {
    const play = played({ 'lanes 8': 0.1 }, [lanes], {
      audit: async (_, setting) => (setting.lanes === 8 ? 'poisoned' : 'right'),
    });
    await expect(tune(deviceWith(), play)).rejects.toMatchObject({
      code: 'device-failed',
      message: expect.stringContaining('candidate lanes 8 and default give different results'),
    });
    expect(play.runs).not.toContain('lanes 8');
  });

  it('measures identical candidates only once, and records those that the device refuses', async () => {
    const many: Axis = { name: 'gang', changes: [{ lanes: 4 }, { lanes: 8 }, { lanes: 4096 }] };
    const play = played({ 'lanes 8': 0.5 }, [many]);
    const wrapped: Tunable = {
      ...play,
      open: async (device, setting, measured) => {
        if (setting.lanes === 4096) throw new MillraceError({ code: 'device-capability', message: 'too many threads' });
        const identity = setting.lanes === 8 ? 'eight' : 'four';
        return { ...(await play.open(device, setting, measured)), identity };
      },
    };
    const record = await tune(deviceWith(), wrapped);
    expect(record.setting).toEqual({ lanes: 8 });
    expect(record.axes[0]?.candidates.map(({ name, unfit }) => [name, unfit])).toEqual([
      ['default', undefined],
      ['lanes 4', 'the same as default'],
      ['lanes 8', undefined],
      ['lanes 4096', 'too many threads'],
    ]);
    expect(play.runs).not.toContain('lanes 4');
  });

  it('opens one trial at a time if each takes all memory', async () => {
    let [open, maxOpen] = [0, 0];
    const play = played({ 'lanes 8': 0.5 }, [lanes, slots]);
    await tune(deviceWith(), {
      ...play,
      isExclusive: true,
      open: async (device, setting, measured) => {
        open++;
        maxOpen = Math.max(maxOpen, open);
        const trial = await play.open(device, setting, measured);
        return { ...trial, close: () => void open-- };
      },
    });
    expect([open, maxOpen]).toEqual([0, 1]);
  });

  it('leaves the remaining axes as they are when its time is up', async () => {
    let now = 0;
    const play = played({ 'lanes 8': 0.5, 'slots 5': 0.5 }, [lanes, slots], {});
    const timed: Tunable = {
      ...play,
      open: async (device, setting, measured) => {
        now += 50;
        return play.open(device, setting, measured);
      },
    };
    const record = await tune(deviceWith(), timed, { seconds: 150, clock: () => now });
    expect(record).toMatchObject({ isWhole: false });
    expect(record.axes.map(({ name }) => name)).not.toContain('slots');
  });
});

describe('a saved tuning', () => {
  /** A store in memory, keyed by subject like the ledger. */
  function memoryStore(): TuningStore & { readonly kept: Map<string, unknown> } {
    const kept = new Map<string, unknown>();
    const keyOf = ({ kernels: _, ...about }: ReturnType<typeof tuningSubject>) => JSON.stringify(about);
    return {
      kept,
      find: async (about) => kept.get(keyOf(about)) as never,
      save: async (about, record) => {
        if (record === undefined) kept.delete(keyOf(about));
        else kept.set(keyOf(about), record);
      },
    };
  }

  it('is used on the same device, but not if driver, hardware or candidates differ', async () => {
    setTuningStore(memoryStore());
    const play = played({ 'lanes 8': 0.5 }, [lanes]);
    const device = deviceWith();
    expect(await settingFor(device, play)).toEqual({});
    await saveTuning(device, play, await tune(device, play));
    expect(await settingFor(device, play)).toEqual({ lanes: 8 });
    expect(await settingFor(deviceWith({ id: 'play:7' }), play)).toEqual({ lanes: 8 });
    expect(await settingFor(deviceWith({ versions: { driver: '1.1' } }), play)).toEqual({});
    expect(await settingFor(deviceWith({ name: 'Play 2' }), play)).toEqual({});
    expect(await settingFor(deviceWith({ units: 4 }), play)).toEqual({});
    expect(await settingFor(deviceWith(), played({}, [slots]))).toEqual({});
    await saveTuning(device, play, undefined);
    expect(await tuningFor(device, play)).toBeUndefined();
    setTuningStore(undefined);
  });

  it('is ignored if the store cannot be read', async () => {
    setTuningStore({ find: () => Promise.reject(new Error('the disk is full')), save: async () => undefined });
    expect(await settingFor(deviceWith(), played({}, [lanes]))).toEqual({});
    setTuningStore(undefined);
  });
});
