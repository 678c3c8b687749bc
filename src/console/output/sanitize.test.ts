import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../../test/text.js';
import { openLiveLines } from './live.js';
import { jsonLine, openOutput } from './output.js';
import { MESSAGE_LIMITS, sanitizeForFile, sanitizeText } from './sanitize.js';
import { styleFor } from './style.js';
import { table } from './table.js';

/** Characters that a terminal may interpret. */
const ACTIVE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const any = anyText(300);
const colour = styleFor({ isTTY: true }, {});

describe('text for people', () => {
  it('has no active character for any input', () => {
    fc.assert(
      fc.property(any, (text) => {
        expect(sanitizeText(`a${text}b`).replaceAll('\n  ', '')).not.toMatch(ACTIVE);
      }),
    );
  });
  it.each([
    ['\u001b[31mred', '\\u001b[31mred'],
    ['\u009b2J', '\\u009b2J'],
    ['a\rb\tc\u0000', 'a\\rb\\tc\\u0000'],
    ['\u202eabc\u2066', '\\u202eabc\\u2066'],
    ['tag \u{e0041}', 'tag \\u{e0041}'],
    ['one\nerror: two', 'one\\nerror: two'],
    ['what is wrong\n  asked:  this\n  advice: that', 'what is wrong\n  asked:  this\n  advice: that'],
    ['\nheading\n', '\nheading\n'],
    ['naïve 文字 😀', 'naïve 文字 😀'],
  ])('%j', (text, wanted) => expect(sanitizeText(text)).toBe(wanted));

  it('has our own styles, and no others', () => {
    expect(sanitizeText(`${colour.bad('error:')} \u001b[32mgood\u001b[39m`)).toBe(
      '\u001b[31merror:\u001b[39m \\u001b[32mgood\\u001b[39m',
    );
    expect(sanitizeForFile(`${colour.bad('error:')} \u001b[32m`)).toBe('error: \\u001b[32m');
  });

  it('is limited in word length, line length and number of lines', () => {
    const cut = (text: string): string => sanitizeText(text, MESSAGE_LIMITS);
    expect(cut(`cannot read ${'x'.repeat(1000)}: why`)).toMatch(/^cannot read x{90,100}…x{90,100}: why$/);
    expect(cut('ab '.repeat(1e6))).toHaveLength(400);
    expect(cut('\u001b'.repeat(1e6)).length).toBeLessThanOrEqual(400);
    expect(cut('x\n  y'.repeat(1000)).split('\n')).toHaveLength(101);
    expect(sanitizeText('7'.repeat(1000))).toBe('7'.repeat(1000));
  });
});

it('events keep every character, and escape the active ones', () => {
  fc.assert(
    fc.property(any, (text) => {
      const line = jsonLine({ text });
      expect(line).not.toMatch(ACTIVE);
      expect(JSON.parse(line)).toEqual({ text });
    }),
  );
});

describe('on a terminal', () => {
  const written: string[] = [];
  const stream = { isTTY: true, columns: 60, rows: 10, write: (text: string) => void written.push(text) };
  const sent = (act: () => void): string => {
    written.length = 0;
    act();
    return written.join('');
  };
  const hostile = 'a\u001b[2J\u009b31m\u202e';

  it.each(['line', 'say', 'warn', 'fail', 'explain'] as const)('%s escapes hostile text', (way) => {
    const output = openOutput({ log: 'debug' }, { stdout: stream, stderr: stream });
    expect(sent(() => output[way](hostile))).toContain('a\\u001b[2J\\u009b31m\\u202e');
    for (const active of ['\u001b[2J', '\u009b', '\u202e']) expect(written.join('')).not.toContain(active);
  });

  it('live lines escape hostile text, also when redrawn', async () => {
    const live = openLiveLines(stream);
    expect(sent(() => live.show([colour.bold(hostile)]))).toContain('\u001b[1ma\\u001b[2J\\u009b31m\\u202e\u001b[22m');
    written.length = 0;
    live.writeAbove('above\n', stream);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(written.join('')).toContain('\u001b[1ma\\u001b[2J\\u009b31m\\u202e\u001b[22m');
    live.clear();
  });

  it('tables align visible text', () => {
    const [first, second] = table([
      [colour.dim('name'), 'x'],
      [hostile, 'y'],
    ]).map((line) => sanitizeText(line));
    expect(second).toBe('a\\u001b[2J\\u009b31m\\u202e  y');
    expect(first).toBe(`\u001b[2mname\u001b[22m${' '.repeat(second!.length - 'name'.length - 'x'.length)}x`);
  });
});
