import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { byTier } from '../../test/tier.js';
import type { Device } from '../device/device.js';
import { openDevice } from '../device/registry.js';
import { MillraceError } from '../kernel/error.js';
import { verdictsOf } from './baseline.js';
import type { BenchCase } from './case.js';
import { type Limit, measureLimit } from './limits.js';
import { machine } from './machine.js';
import { markdownOf } from './report.js';
import { type Figure, isFigure, runSuite } from './suite.js';

let device: Device;
beforeAll(async () => {
  device = await openDevice('wasm', { threads: 1 });
});
afterAll(() => device.close());

/** A case whose runs report the given time. */
function taking(seconds: number, more: Partial<BenchCase> = {}): BenchCase {
  const open = async (_: Device, { runs }: { readonly runs: number }) => ({
    name: 'steady',
    unit: 'H',
    runs,
    run: async () => ({ seconds, work: 120, digest: 'same' }),
    fed: () => 0.97,
    close: () => {},
  });
  return { name: 'steady', checkedBy: 'hand', open, ...more };
}

const options = { runs: 5, seconds: 0.01, isFull: false };
async function figures(...cases: BenchCase[]) {
  const all = [];
  for await (const one of runSuite([{ workload: 'steady', cases }], [device], options)) all.push(one);
  return all;
}
const onlyFigure = async (one: BenchCase): Promise<Figure> => {
  const [figure] = await figures(one);
  if (!figure || !isFigure(figure)) throw new Error('the suite gave no figure');
  return figure;
};

describe('a suite', () => {
  it('gives rates, bytes and the share of a limit', async () => {
    const one = await onlyFigure(taking(2, { unitBytes: 8, bound: { limit: 'integer', perUnit: 3 } }));
    expect(one).toMatchObject({
      workload: 'steady',
      device: 'wasm',
      unit: 'H',
      runs: 5,
      bytesPerSecond: 480,
      fed: 0.97,
    });
    expect(one.rate).toEqual({ median: 60, min: 60, max: 60, relative: 0 });
    expect(one.bound?.limit).toBe('integer');
    expect(one.bound?.share).toBeCloseTo(180 / (one.bound?.perSecond ?? 0), 12);
  });

  it('leaves out long cases, and says why a figure is missing', async () => {
    const wrong = async () => {
      throw new MillraceError({ code: 'device-failed', message: 'it reported nonsense' });
    };
    const all = await figures(
      taking(1, { name: 'long', isLong: true }),
      taking(1, { name: 'lacking', unsupportedReason: () => 'it has no 64-bit floats' }),
      taking(1, { name: 'wrong', open: wrong }),
    );
    expect(all).toEqual([
      { workload: 'steady', name: 'lacking', device: 'wasm', reason: 'it has no 64-bit floats', isWrong: false },
      { workload: 'steady', name: 'wrong', device: 'wasm', reason: 'it reported nonsense', isWrong: true },
    ]);
    const host = { cpu: 'a CPU', cores: 2, node: '20', platform: 'linux x64', devices: [] };
    expect(markdownOf('2026-01-01', host, all)).toContain('- steady on wasm, wrong: it reported nonsense');
  });
});

describe('saved figures', () => {
  const known = (name: string, units = 1) => [{ id: 'wasm', name, units, versions: {} }];
  const named = known('a CPU');
  const saved = (figure: Figure, devices = named) => [{ machine: { ...machine(), devices }, figures: [figure] }];

  it('a slowdown of a tenth is a loss, one of 3 % is not', async () => {
    const before = await onlyFigure(taking(1));
    const lossOf = async (seconds: number) =>
      verdictsOf([await onlyFigure(taking(seconds))], named, saved(before)).map(({ isLost }) => isLost);
    expect(await lossOf(1.1)).toEqual([true]);
    expect(await lossOf(1.03)).toEqual([false]);
    expect(await lossOf(0.5)).toEqual([false]);
  });

  it('a loss of a third is reported even if the saved runs vary widely', async () => {
    const now = { ...(await onlyFigure(taking(2))), rates: [47, 55, 60, 66, 78, 52, 58, 63, 71] };
    const then = { ...now, rates: now.rates.map((rate) => rate * 1.5) };
    expect(verdictsOf([now], named, saved(then))[0]).toMatchObject({ isPaired: false, isLost: true });
    expect(verdictsOf([now], named, saved(now))[0]?.isLost).toBe(false);
  });

  it('with a frozen kernel, a slower machine is not a loss', async () => {
    const then = { ...(await onlyFigure(taking(1))), frozenRatios: [2, 2.1, 2.05, 1.98, 2.02] };
    const now = { ...(await onlyFigure(taking(2))), frozenRatios: [2.01, 2.06, 1.97, 2.04, 2.1] };
    expect(verdictsOf([now], named, saved(then))[0]).toMatchObject({ isPaired: true, isLost: false });
    const slower = { ...now, frozenRatios: now.frozenRatios.map((one) => one * 0.9) };
    expect(verdictsOf([slower], named, saved(then))[0]).toMatchObject({ isPaired: true, isLost: true });
  });

  it('a difference explained by chance is not a loss, and other machines are ignored', async () => {
    const now = await onlyFigure(taking(2));
    const wide = { ...now, rate: { median: 120, min: 59, max: 130, relative: 0.6 }, rates: [59, 120, 130, 50, 125] };
    expect(verdictsOf([now], named, saved(wide))[0]?.isLost).toBe(false);
    expect(verdictsOf([now], named, saved(now, known('another')))).toEqual([]);
    expect(verdictsOf([now], named, saved(now, known('a CPU', 64)))).toEqual([]);
    // The report of the same machine is found among others.
    const among = [...saved(now, known('another')), ...saved(wide)];
    expect(verdictsOf([now], named, among)[0]).toMatchObject({ before: 120, now: 60 });
  });
});

// The integer limit is measured above as well.
const limits: readonly Limit[] = ['write', 'to device', 'to host', 'copy', 'integer'];
it.each(byTier(limits.slice(0, 3), limits))('the limit %s can be measured', async (limit) => {
  expect(await measureLimit(device, limit)).toBeGreaterThan(1e6);
});
