import { expect, it } from 'vitest';
import { kernelStats } from '../../../kernel/index.js';
import { headerScan } from '../kernel/kernel.js';
import { blockCases } from './cases.js';

it('the bound counts the operations of the kernel per hash', () => {
  const { always } = kernelStats(headerScan({ topWordZero: true }));
  const { additions, rotations, shifts, logic } = always;
  expect(blockCases.cases[0]?.bound?.perUnit).toBe(additions + rotations + shifts + logic);
});
