import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineSplitter } from './line-splitter.js';

describe('lines', () => {
  it('are the same however the bytes are split', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 200 });
    const cuts = fc.array(fc.nat({ max: 500 }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), cuts, (given, at) => {
        const bytes = Buffer.from(`${given.join('\n')}\n`);
        const ends = [...new Set([...at.filter((one) => one < bytes.length), bytes.length])].sort((a, b) => a - b);
        const splitter = new LineSplitter();
        let from = 0;
        const lines = ends.flatMap((end) => {
          const piece = bytes.subarray(from, end);
          from = end;
          return splitter.push(piece) ?? ['too long'];
        });
        const wanted = bytes
          .toString('utf8')
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '');
        expect(lines).toEqual(wanted);
      }),
    );
  });

  it('that are too long are refused, with or without their end; shorter ones are not', () => {
    const push = (bytes: number, end: string) => new LineSplitter(1000).push(Buffer.from('x'.repeat(bytes) + end));
    expect(push(1000, '\n')).toEqual(['x'.repeat(1000)]);
    expect(push(1001, '\n')).toBeUndefined();
    expect(push(1001, '')).toBeUndefined();
    const slow = new LineSplitter(1000);
    for (let n = 0; n < 1000; n++) expect(slow.push(Buffer.from('x'))).toEqual([]);
    expect(slow.push(Buffer.from('x'))).toBeUndefined();
  });
});
