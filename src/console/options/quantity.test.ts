import { describe, expect, it } from 'vitest';
import { amountParser, parseBytes, parseSeconds, parseShare } from './quantity.js';

describe('quantities', () => {
  it.each([
    ['90', 90],
    ['90s', 90],
    ['1.5m', 90],
    ['10min', 600],
    ['1h30m', 5400],
    ['2d', 172_800],
    ['1H30M', 5400],
  ])('%s is %d s', (text, value) => expect(parseSeconds(text)).toBe(value));
  it.each(['', '0', '-5', '5x', 'h', '1 2', '90 30', '1h30', 'Infinity', '1e9'])('%j is not a time', (text) =>
    expect(() => parseSeconds(text)).toThrow('Expected a time'),
  );

  it.each([
    ['1000', 1000],
    ['512M', 512 * 2 ** 20],
    ['4g', 4 * 2 ** 30],
    ['1.5GiB', 1.5 * 2 ** 30],
    ['2TB', 2 ** 41],
    ['64 KiB', 65_536],
  ])('%s is %d bytes', (text, value) => expect(parseBytes(text)).toBe(value));
  it.each(['', '0', '-1G', 'G', '1E', '0.1', '99999999T'])('%j is not a size', (text) =>
    expect(() => parseBytes(text)).toThrow('Expected a size'),
  );

  it('percentages, with or without a sign', () => {
    expect([parseShare('50'), parseShare('12.5%'), parseShare('100 %')]).toEqual([0.5, 0.125, 1]);
    for (const text of ['0', '101', '-1', 'half', '']) expect(() => parseShare(text)).toThrow('Expected a percentage');
  });
  it('amounts, with or without a unit', () => {
    const watts = amountParser('W');
    expect([watts('300'), watts('300W'), watts('299.5 w')]).toEqual([300, 300, 299.5]);
    for (const text of ['0', 'W', '300V', '-3']) expect(() => watts(text)).toThrow('in W');
  });
});
