import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, test } from 'vitest';
import { isShort } from './tier.js';

/**
 * Regular expressions in the sources read text from files, servers and arguments. None may take more than linear time:
 * one that does lets such text hang the program.
 */
const sources = fileURLToPath(new URL('../src/', import.meta.url));
const { analyse } = createRequire(import.meta.url)('scslre') as {
  analyse(pattern: Pattern): { readonly reports: readonly { readonly type: string }[] };
};

interface Pattern {
  readonly source: string;
  readonly flags: string;
}

interface Found extends Pattern {
  readonly file: string;
}

/** Patterns in a module's text. A value in a template counts as one letter. */
function patternsIn(file: string, text: string): Found[] {
  const found: Found[] = [];
  const { program, errors } = parseSync(file, text, { lang: 'ts' });
  expect(errors, file).toEqual([]);
  const construct = ([source, flags]: readonly Argument[]): void => {
    const pattern = textOf(source);
    if (pattern === undefined)
      throw new Error(`${file}: give RegExp a literal or a template, so that it can be checked`);
    found.push({ file, source: pattern, flags: textOf(flags) ?? '' });
  };
  const isRegExp = (callee: { readonly type: string; readonly name?: unknown }): boolean =>
    callee.type === 'Identifier' && callee.name === 'RegExp';
  new Visitor({
    Literal: (node) => {
      if ('regex' in node) found.push({ file, source: node.regex.pattern, flags: node.regex.flags });
    },
    NewExpression: ({ callee, arguments: given }) => void (isRegExp(callee) && construct(given as readonly Argument[])),
    CallExpression: ({ callee, arguments: given }) =>
      void (isRegExp(callee) && construct(given as readonly Argument[])),
  }).visit(program);
  return found;
}

interface Argument {
  readonly type: string;
  readonly value?: unknown;
  readonly quasis?: readonly { readonly value: { readonly cooked?: string | null } }[];
}

function textOf(argument: Argument | undefined): string | undefined {
  if (argument?.type === 'Literal') return typeof argument.value === 'string' ? argument.value : undefined;
  return argument?.quasis?.map(({ value }) => value.cooked ?? '').join('x');
}

const isSlow = (pattern: Pattern): boolean => analyse(pattern).reports.length > 0;

test.skipIf(isShort)('no regular expression in the sources takes more than linear time', () => {
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' });
  const found = files
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => patternsIn(file, readFileSync(`${sources}${file}`, 'utf8')));
  expect(found.length).toBeGreaterThan(150);
  const slow = found.filter(isSlow).map(({ file, source, flags }) => `${file}: /${source}/${flags}`);
  expect(slow).toEqual([]);
});

describe('the check', () => {
  test.each([
    ['quadratic time of one repetition', "/a*b/.exec('')"],
    ['quadratic time of two repetitions', "/^a*a*b/.exec('')"],
    ['exponential time', "/^(a*)*$/.test('')"],
    ['a pattern from a string', "new RegExp('a+$')"],
    ['a pattern from a template', `RegExp(\`^$\{name}\\\\s*:\\\\s*(.*)$\`)`],
    ['the pattern that stopped miners', '/[\\w-]*token[\\w-]*=/.test(line)'],
  ])('finds %s', (_, text) => {
    expect(patternsIn('one.ts', text).map(isSlow)).toEqual([true]);
  });
  test('accepts linear patterns', () => {
    const text = `/^a*b/.test(''); /^(?:\\d+)(?:\\.\\d+)?$/; new RegExp(\`$\{name}[0-9]*m\`, 'g')`;
    expect(patternsIn('two.ts', text).map(isSlow)).toEqual([false, false, false]);
  });
  test('rejects a pattern that it cannot read', () => {
    expect(() => patternsIn('three.ts', 'new RegExp(given)')).toThrow(/so that it can be checked/);
  });
});
