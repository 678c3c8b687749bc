import { afterEach, describe, expect, it } from 'vitest';
import type { Completion, Device, Report, Stream } from '../device/device.js';
import type { Flow } from './flow.js';
import type { Piece } from './space.js';
import { nameOf, type Setting, type Tunable, type TuningRecord } from './tune.js';
import { keepTuningsOn, type TuningShelf } from './tune-known.js';
import { tunedFlow, tuneWhileWorking } from './tune-live.js';

const device = (): Device =>
  ({
    info: { kind: 'cuda', processor: 'gpu', name: 'Play', units: 1, versions: {}, limits: { lanes: 64 } },
  }) as unknown as Device;

/** A device's time: a chunk of so many items takes as long as the setting says, one after the other. */
class Played {
  nowNs = 0n;
  readonly chunks: { readonly setting: string; readonly ms: number }[] = [];
  readonly msPerItem: (setting: Setting) => number;

  constructor(msPerItem: (setting: Setting) => number) {
    this.msPerItem = msPerItem;
  }

  flow(setting: Setting): Flow<string> {
    const submit = ({ count }: Piece): Completion => {
      const ms = count * this.msPerItem(setting);
      this.chunks.push({ setting: nameOf(setting), ms });
      const startedNs = this.nowNs;
      this.nowNs += BigInt(Math.round(ms * 1e6));
      return { done: Promise.resolve<Report>({ startedNs, endedNs: this.nowNs, complete: true }) };
    };
    const slot = async () => ({ submit, reap: () => nameOf(setting), close: () => undefined });
    const shape = { granularity: 1, least: 1, most: 2 ** 20, stride: 100 };
    return { name: 'play', open: async (on) => ({ device: on, shape, slot, close: () => undefined }) };
  }

  tunable(more: Partial<Tunable> = {}): Tunable {
    return {
      name: 'play',
      unit: 'H',
      kernels: () => [],
      axes: () => [
        { name: 'workgroup', changes: [{ lanes: 1 }, { lanes: 64 }] },
        { name: 'slots', changes: [{ slots: 9 }], measured: 'job' },
      ],
      audit: async () => 'right',
      open: () => Promise.reject(new Error('the job is what is measured')),
      ...more,
    };
  }

  shareOf(setting: string): number {
    const sum = (some: typeof this.chunks) => some.reduce((all, { ms }) => all + ms, 0);
    return sum(this.chunks.filter((chunk) => chunk.setting === setting)) / sum(this.chunks);
  }
}

/** A job: chunks of 100 items, two in flight, so many. */
async function work(flow: Flow<string>, on: Device, chunks: number): Promise<string[]> {
  const open = await flow.open(on);
  const slots = [await open.slot({} as Stream), await open.slot({} as Stream)];
  const piece: Piece = { start: 0n, count: 100 };
  const results: string[] = [];
  const flying = slots.map((slot) => slot.submit(piece));
  for (let at = 0; at < chunks; at++) {
    await flying[at % 2]?.done;
    results.push(slots[at % 2]?.reap(piece) as string);
    await new Promise((resolve) => setImmediate(resolve)); // as the engine, which is told by events
    flying[at % 2] = (slots[at % 2] as (typeof slots)[number]).submit(piece);
  }
  open.close();
  return results;
}

afterEach(() => {
  tuneWhileWorking(undefined);
  keepTuningsOn(undefined);
});

describe('tuning while a job runs', () => {
  it('tries candidates on the job, keeps the best, and goes on with it', async () => {
    const play = new Played(({ lanes }) => (lanes === 64 ? 0.8 : lanes === 1 ? 4 : 1));
    const told: TuningRecord[] = [];
    let kept: TuningRecord | undefined;
    const keep = async (_: unknown, record: TuningRecord | undefined): Promise<void> => {
      kept = record;
    };
    const shelf: TuningShelf = { find: async () => kept, keep };
    keepTuningsOn(shelf);
    tuneWhileWorking({ tuned: (_, __, record) => void told.push(record) });
    const on = device();
    const flow = () => tunedFlow(play.tunable(), (setting) => play.flow(setting));
    const results = await work(flow(), on, 2500);
    expect(told).toMatchObject([{ setting: { lanes: 64 }, isWhole: false }]);
    expect(told[0]?.gain).toBeCloseTo(1.25, 2);
    // How jobs are fed is not tried here, and not the whole of 10 s is over before anything is.
    expect(results.slice(0, 90).every((setting) => setting === 'default')).toBe(true);
    expect(results.at(-1)).toBe('lanes 64');
    expect(new Set(results)).toEqual(new Set(['default', 'lanes 1', 'lanes 64']));
    // What was slower had little of the time.
    expect(play.shareOf('lanes 1')).toBeLessThan(0.05);
    expect(kept?.setting).toEqual({ lanes: 64 });
    // The next job begins with it, on any device of that sort.
    expect(new Set(await work(flow(), device(), 10))).toEqual(new Set(['lanes 64']));
  });

  it('goes on over several jobs', async () => {
    const play = new Played(({ lanes }) => (lanes === 64 ? 0.8 : 1));
    const told: TuningRecord[] = [];
    tuneWhileWorking({ tuned: (_, __, record) => void told.push(record) });
    const on = device();
    for (let job = 0; job < 60 && told.length === 0; job++) {
      await work(
        tunedFlow(play.tunable(), (setting) => play.flow(setting)),
        on,
        50,
      );
    }
    expect(told).toMatchObject([{ setting: { lanes: 64 } }]);
  });

  it('leaves short jobs alone, and does nothing unless it is asked', async () => {
    const play = new Played(() => 1);
    const flow = tunedFlow(play.tunable(), (setting) => play.flow(setting));
    expect(new Set(await work(flow, device(), 2500))).toEqual(new Set(['default']));
    tuneWhileWorking({});
    expect(new Set(await work(flow, device(), 90))).toEqual(new Set(['default']));
  });

  it('never lets a candidate that is wrong do work, and says so', async () => {
    const play = new Played(() => 1);
    const faults: unknown[] = [];
    tuneWhileWorking({ failed: (_, __, error) => void faults.push(error) });
    const audit = async (_: Device, setting: Setting) => (setting.lanes === 64 ? 'poisoned' : 'right');
    const flow = tunedFlow(play.tunable({ audit }), (setting) => play.flow(setting));
    const results = await work(flow, device(), 1000);
    expect(results).not.toContain('lanes 64');
    expect(results.at(-1)).toBe('default');
    expect(faults).toMatchObject([{ message: expect.stringContaining('candidate lanes 64') }]);
  });
});
