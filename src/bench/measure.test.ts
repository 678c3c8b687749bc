import { expect, it } from 'vitest';
import { firstLine, MillraceError } from '../kernel/error.js';
import { machine, machineLine } from './machine.js';
import { type Candidate, compare, measure, spreadOf } from './measure.js';
import { comparisonTable, measurementFields } from './report.js';

/** A clock that stands still until a run moves it. */
function fakeClock() {
  let now = 100;
  const pass = (seconds: number) => {
    now += seconds;
  };
  return { clock: () => now, pass };
}

function timed(
  name: string,
  pass: (seconds: number) => void,
  seconds: readonly number[],
  log: string[] = [],
): Candidate {
  let run = 0;
  return {
    name,
    unit: 'H',
    run: async () => {
      pass(seconds[run % seconds.length] ?? 0);
      log.push(`${name}${run}`);
      run += 1;
      return { work: 120, digest: 'same' };
    },
  };
}

it('gives the median, the spread and the rate of the runs after the warm-up', async () => {
  const { clock, pass } = fakeClock();
  const result = await measure(timed('a', pass, [1000, 2, 3, 4, 5, 6]), clock);
  expect(result).toEqual({
    name: 'a',
    unit: 'H',
    runs: 5,
    seconds: { median: 4, min: 2, max: 6, relative: 1 },
    rate: { median: 30, min: 20, max: 60, relative: 40 / 30 },
    rates: [60, 40, 30, 24, 20],
    digest: 'same',
  });
});

it('uses the seconds that a run reports', async () => {
  const { clock, pass } = fakeClock();
  const run = async () => {
    pass(50);
    return { seconds: 2, work: 10, digest: '' };
  };
  expect((await measure({ name: 'a', unit: 'B', run }, clock)).rate.median).toBe(5);
});

it('alternates candidates, and compares run by run', async () => {
  const { clock, pass } = fakeClock();
  const log: string[] = [];
  // Both slow down together, tenfold; the ratio does not change.
  const a = timed('a', pass, [9, 1, 2, 4, 8, 10], log);
  const b = timed('b', pass, [9, 2, 4, 8, 16, 20], log);
  const { ratios } = await compare([a, b], { clock });
  expect(log.join(' ')).toBe('a0 b0 a1 b1 a2 b2 a3 b3 a4 b4 a5 b5');
  expect(ratios[0]).toEqual({ median: 1, min: 1, max: 1, relative: 0 });
  expect(ratios[1]).toEqual({ median: 0.5, min: 0.5, max: 0.5, relative: 0 });
});

it('refuses runs whose results differ, the warm-up included', async () => {
  for (const odd of [0, 3]) {
    let run = 0;
    const one = { name: 'a', unit: 'H', run: async () => ({ seconds: 1, work: 1, digest: run++ === odd ? 'x' : 'y' }) };
    await expect(measure(one)).rejects.toMatchObject({ code: 'device-failed' });
  }
});

it('refuses fewer than three runs', async () => {
  const run = async () => ({ work: 1, digest: '' });
  await expect(measure({ name: 'a', unit: 'H', runs: 2, run })).rejects.toMatchObject({ code: 'usage' });
});

it('takes the mean of the two middle values of an even number', () => {
  expect(spreadOf([4, 1, 3, 2])).toEqual({ median: 2.5, min: 1, max: 4, relative: 1.2 });
});

it('prints a table for people and fields for programs', async () => {
  const { clock, pass } = fakeClock();
  const work = (name: string, seconds: number) => timed(name, pass, [seconds]);
  const comparison = await compare([work('kernel', 4e-6), work('OpenSSL', 8e-6)], { clock });
  expect(comparisonTable(comparison).join('\n')).toMatchInlineSnapshot(`
    "            median        min        max  spread  ratio          run  digest
    kernel   30.0 MH/s  30.0 MH/s  30.0 MH/s     0 %   1.00  5 × 4.00 µs  same
    OpenSSL  15.0 MH/s  15.0 MH/s  15.0 MH/s     0 %   0.50  5 × 8.00 µs  same"
  `);
  const [first] = comparison.measurements;
  expect(Object.keys(measurementFields(first!))).toEqual(['name', 'unit', 'runs', 'perSecond', 'seconds', 'digest']);
});

it('names the machine', () => {
  const line = machineLine(machine());
  expect(line).toContain(`Node ${process.versions.node}`);
  expect(line).toMatch(/\d+ cores? · /);
  expect(line).not.toMatch(/^ ·/);
});

it('leaves out a candidate that fails, if asked to, but never the first', async () => {
  const failing = (name: string, at: number): Candidate => {
    let run = 0;
    const fail = { code: 'device-failed', message: `${name} broke`, asked: 'a run', advice: 'none' } as const;
    return {
      name,
      unit: 'H',
      run: async () => {
        if (run++ === at) throw new MillraceError(fail);
        return { seconds: 1, work: 3, digest: '' };
      },
    };
  };
  const failed: string[] = [];
  const onFailed = (_: string, error: MillraceError) => failed.push(firstLine(error));
  const candidates = [failing('a', -1), failing('b', 0), failing('c', 4), failing('d', -1)];
  const { measurements, ratios } = await compare(candidates, { onFailed });
  expect(measurements.map(({ name }) => name)).toEqual(['a', 'd']);
  expect(ratios.map(({ median }) => median)).toEqual([1, 1]);
  expect(failed).toEqual(['b broke', 'c broke']);
  await expect(compare([failing('a', 2), failing('b', -1)], { onFailed })).rejects.toThrow('a broke');
  await expect(compare([failing('a', -1), failing('b', 1)])).rejects.toThrow('b broke');
});
