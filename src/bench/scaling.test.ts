import { expect, it } from 'vitest';
import { fitPoints, measurePoints, type ScalableWork } from './scaling.js';

const line = (fixed: number, perSecond: number): ScalableWork => ({
  unit: 'H',
  maxWork: 1_000_000,
  run: async (work) => fixed + work / perSecond,
  close: () => {},
});

it('measures four decades, and fits a linear cost', async () => {
  const points = await measurePoints(line(0.002, 5e6));
  expect(points.map(({ work }) => work)).toEqual([100, 1000, 10_000, 100_000, 1_000_000]);
  const fit = fitPoints(points);
  expect(fit.fixed).toBeCloseTo(0.002, 9);
  expect(fit.perSecond).toBeCloseTo(5e6, 0);
  expect(fit.off).toBeLessThan(1e-9);
});

it('reports the error of the fit if the cost is not linear', async () => {
  const square: ScalableWork = { ...line(0, 1), run: async (work) => work * work };
  expect(fitPoints(await measurePoints(square)).off).toBeGreaterThan(0.5);
});

it('takes the best run of each size', async () => {
  let run = 0;
  const noisy: ScalableWork = { ...line(0, 1), run: async (work) => work * (1 + (run++ % 3)) };
  expect((await measurePoints(noisy)).map(({ work, seconds }) => seconds / work)).toEqual([1, 1, 1, 1, 1]);
});
