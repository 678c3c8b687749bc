import { describe, expect, test } from 'vitest';
import { fn, items, returnItem, u32, u64, when } from '../index.js';
import { kernelText } from './lower.js';
import { passTexts } from './pass-texts.js';

const twice = fn('twice', { x: u64 }, ({ x }) => x.add(x));
const kernel = items('found', { job: { least: u64 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.eq(5), () => returnItem());
  when(twice({ x: index }).ge(job.least.mul(3)), () => emit({ n: index.lo.add(0) }));
});

describe('the program after each pass', () => {
  const texts = Object.fromEntries(passTexts(kernel).map(({ pass, text }) => [pass, text]));
  const has = (part: string): string[] => Object.keys(texts).filter((pass) => texts[pass]?.includes(part));

  test('loses what the pass lowers', () => {
    expect(has('= twice(')).toEqual(['trace']);
    expect(has('emit %')).toEqual(['trace', 'inline']);
    expect(has('  return\n')).toEqual(['trace', 'inline', 'ring']);
    // least · 3 is computed on the host.
    expect(has('mul least, 3')).toEqual(['trace', 'inline', 'ring', 'returns', 'fold']);
    expect(texts['split u64 (wgsl)']).not.toContain('u64 =');
    expect(texts.place).toContain('u64 =');
  });

  test('ends with the program that is printed', () => {
    expect(texts.place).toBe(kernelText(kernel, { target: 'ir' }));
  });
});
