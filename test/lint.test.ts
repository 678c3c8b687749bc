import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, Visitor } from 'rolldown/utils';
import { describe, expect, test } from 'vitest';
import plugin from '../lint/eslint.js';
import { byTier, isShort } from './tier.js';

const root = fileURLToPath(new URL('..', import.meta.url));

interface Reported {
  readonly line: number;
  readonly text: string;
}

/**
 * Runs ESLint's rule on a module. A rule is a visitor of an ESTree; here rolldown's parser makes the tree, since ESLint itself
 * is 70 packages.
 */
function eslint(name: string, text: string): Reported[] {
  const found: Reported[] = [];
  const { program, errors } = parseSync(name, text, { lang: 'ts' });
  expect(errors, name).toEqual([]);
  const { meta, create } = plugin.rules['no-native-operators'];
  const { messages } = meta as { messages: Record<string, string> };
  const rule = create({
    report: ({ node, messageId, data }) => {
      const { start } = node as { start: number };
      const message = (messages[messageId] as string)
        .replace('{{what}}', data.what)
        .replace('{{instead}}', data.instead);
      found.push({ line: text.slice(0, start).split('\n').length, text: message });
    },
  });
  new Visitor({ CallExpression: (call) => rule.CallExpression(call) }).visit(program);
  return found;
}

/** A kernel's body in a module. Each line is a mistake; the first line of the body is line 1. */
const kernel = (lines: readonly string[], maker = 'items') =>
  `${maker}('k', { job: { n: u32, key: [u32, 2] } }, ({ item, index, tile, job, buffers, each, sum, emit }) => {${lines
    .map((line) => `\n${line}`)
    .join('')}\n});\n`;

/** Mistakes, and what ESLint's rule writes about each. */
const mistakes: readonly (readonly [code: string, message: string])[] = [
  ['if (item.eq(0)) emit();', 'if does not see a value of the kernel: write when()'],
  ['item.eq(0) ? 1 : 2;', '?: does not see a value of the kernel: write select()'],
  ['!item.eq(0);', '! does not see a value of the kernel: write not()'],
  ['job.n.lt(3) && emit();', '&& does not see a value of the kernel: write and()'],
  ['item.eq(0) || emit();', '|| does not see a value of the kernel: write or()'],
  ['item === job.n;', '=== does not see a value of the kernel: write eq()'],
  ['3 !== item;', '!== does not see a value of the kernel: write ne()'],
  ['for (let i = 0; i < job.n; i++) emit();', '< does not see a value of the kernel: write lt()'],
  ['while (job.n) emit();', 'a loop of JavaScript does not see a value of the kernel: write loop() or whileTrue()'],
  ['switch (item) { default: }', 'switch does not see a value of the kernel: write choose()'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: text of a module
  ['`item ${item}`;', 'a template does not see a value of the kernel: write text without it'],
  ['index + 1n;', '+ does not see a value of the kernel: write add()'],
  ['-item;', '- does not see a value of the kernel: write neg()'],
  ['[1, 2][item];', '[ ] does not see a value of the kernel: write table(type, values).at(index)'],
  ['Math.max(item, 3);', 'Math.max() does not see a value of the kernel: write operations of the language'],
  ['const a = item.mul(7).add(1); if (a as never) emit();', 'if does not see a value of the kernel: write when()'],
  ['const [b] = job.key; if (b) emit();', 'if does not see a value of the kernel: write when()'],
  ['const { n } = job; n > 3;', '> does not see a value of the kernel: write gt()'],
  ['for (const word of job.key) if (word) emit();', 'if does not see a value of the kernel: write when()'],
  ['let c = lit(u32, 1); c++;', '++ does not see a value of the kernel: write set() of a cell()'],
  ['let d = select(item.eq(1), 2, item); d += 3;', '+= does not see a value of the kernel: write add()'],
  ['if (buffers.x.slice(3).at(item)) emit();', 'if does not see a value of the kernel: write when()'],
  ['loop(3, (i) => { if (i) emit(); });', 'if does not see a value of the kernel: write when()'],
  ['each(3, (i) => { i === 0 ? 1 : 2; });', '=== does not see a value of the kernel: write eq()'],
  ['if (sum(u32, 3, (i) => i)) emit();', 'if does not see a value of the kernel: write when()'],
  ['const t = table(u32, [1, 2]); t.at(0) * 2;', '* does not see a value of the kernel: write mul()'],
  ['when(item.eq(1), () => { if (item.eq(2)) emit(); });', 'if does not see a value of the kernel: write when()'],
];

/** Lines that are right, or that a syntactic rule cannot judge. */
const right = [
  'for (let i = 0; i < 8; i++) item.add(i);',
  'if (job.key.length > 1) emit();',
  'job.key.map((word, index) => (index === 0 ? word : word.add(1)));',
  'if (job.n === undefined || item != null) emit();',
  'const names = new Set(); if (names.add(1)) emit();',
  'if (isFast && [1, 2].includes(3)) emit();',
  'const isLast = (k: number) => k === 3; if (isLast(3)) emit();',
  'const f = (item: number) => (item ? 1 : 2); f(3);',
  'let best: Expr<"u32"> | undefined; if (best) emit();',
  'item.type === "u32" ? 1 : 2;',
  'select(item.eq(0), item, 3).add(index.lo);',
];

describe("ESLint's rule", () => {
  test('names each mistake and what to write instead', () => {
    const found = eslint('kernel.ts', kernel(mistakes.map(([code]) => code)));
    expect(found).toEqual(mistakes.map(([, text], at) => ({ line: at + 2, text })));
  });

  test('works in tiles(), and with a context that is not taken apart', () => {
    expect(eslint('kernel.ts', kernel(['if (tile) emit();'], 'tiles'))).toHaveLength(1);
    const whole =
      "tiles('k', {}, (context) => {\nif (context.tile.eq(0)) context.once(f);\nif (context.job.n) f();\n});";
    expect(eslint('kernel.ts', whole).map(({ line }) => line)).toEqual([2, 3]);
  });

  test('works in fn(), also inside a kernel', () => {
    const text =
      "fn('f', { x: u32, key: [u32, 2] }, ({ x, key }) => {\nif (x) return key[0];\nreturn x.lt(3) ? x : key[1];\n});";
    expect(eslint('kernel.ts', text).map(({ line }) => line)).toEqual([2, 3]);
    expect(eslint('kernel.ts', kernel([`const f = ${text}`])).map(({ line }) => line)).toEqual([3, 4]);
  });

  test('accepts what is right, and code outside a kernel', () => {
    expect(eslint('kernel.ts', kernel(right))).toEqual([]);
    expect(eslint('other.ts', 'if (item.eq(0)) f(); items(3); items(list, (item) => item === 3);')).toEqual([]);
  });

  test('finds nothing in the kernels of this repository', () => {
    let kernels = 0;
    for (const folder of byTier(['src/workload', 'examples'], ['src', 'test', 'examples']))
      for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
        if (!/\.(ts|mjs)$/.test(name) || /(misuse|lint|language)\.test/.test(name)) continue;
        const text = readFileSync(join(root, folder, name), 'utf8');
        const calls = text.match(/\b(items|tiles)\(/g)?.length ?? 0;
        if (calls === 0) continue;
        kernels += calls;
        expect(eslint(name, text), name).toEqual([]);
      }
    expect(kernels).toBeGreaterThan(byTier(20, 100));
  });

  test('is a plugin with a recommended configuration', () => {
    expect(plugin.configs.recommended).toMatchObject({
      plugins: { millrace: plugin },
      rules: { 'millrace/no-native-operators': 'error' },
    });
  });
});

describe.skipIf(isShort)("Biome's rule", () => {
  /** Runs the installed Biome on a module with the plugin alone. */
  function biome(text: string): Reported[] {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-lint-'));
    try {
      const settings = { plugins: [join(root, 'lint/biome.grit')], linter: { rules: { preset: 'none' } } };
      writeFileSync(join(folder, 'biome.json'), JSON.stringify(settings));
      writeFileSync(join(folder, 'kernel.ts'), text);
      const program = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome');
      const output = reporting(() =>
        execFileSync(process.execPath, [program, 'lint', '--reporter=github', '--max-diagnostics=none', 'kernel.ts'], {
          cwd: folder,
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      );
      return [...output.matchAll(/^::error .*?line=(\d+),.*?::(.*)$/gm)].map(([, line, message]) => ({
        line: Number(line),
        text: (message as string).replace('%25', '%'),
      }));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  /** The output of a command that may exit with 1. */
  function reporting(command: () => string): string {
    try {
      return command();
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  }

  const found: readonly (readonly [code: string, message: string])[] = [
    ['if (item.eq(0)) emit();', '`if` does not see a value of the kernel: write when()'],
    ['if (item.eq(0)) emit(); else f();', '`if` does not see a value of the kernel: write when()'],
    ['item.eq(0) ? 1 : 2;', '`?:` does not see a value of the kernel: write select()'],
    ['!item.eq(0);', '`!` does not see a value of the kernel: write not()'],
    ['item.eq(0) && emit();', '`&& || ??` do not see a value of the kernel: write and(), or(), select()'],
    ['item === job.n;', '`===` and `!==` do not see a value of the kernel: write eq() or ne()'],
    ['job.key[0] !== 3;', '`===` and `!==` do not see a value of the kernel: write eq() or ne()'],
    [
      'for (let i = 0; i < job.n; i++) emit();',
      'Operators do not see a value of the kernel: write lt(), add() and so on',
    ],
    ['job.n + 1;', 'Operators do not see a value of the kernel: write lt(), add() and so on'],
    ['while (job.n) emit();', 'A loop of JavaScript does not see a value of the kernel: write loop() or whileTrue()'],
    ['switch (job.n) { default: }', '`switch` does not see a value of the kernel: write choose()'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: text of a module
    ['`${job.n}`;', 'A template does not see a value of the kernel: leave it out'],
    ['[1, 2][job.n];', '`[ ]` does not see a value of the kernel: write table(type, values).at(index)'],
    ['-job.n;', '`- + ~` do not see a value of the kernel: write neg(), to() or not()'],
    [
      'when(item.eq(1), () => { if (buffers.x.at(2)) emit(); });',
      '`if` does not see a value of the kernel: write when()',
    ],
  ];

  test('names each mistake and what to write instead, and accepts what is right', () => {
    const inFunction = "fn('f', { x: u32 }, ({ x }) => (x.eq(1) ? x : y));\n";
    const text = `${kernel(found.map(([code]) => code))}${inFunction}${kernel(right, 'tiles')}if (x.eq(3)) f();\n`;
    const expected = [...found, found.find(([code]) => code.includes('?')) as (typeof found)[number]];
    const lines = expected.map((_, at) => (at < found.length ? at + 2 : at + 3));
    expect(biome(text)).toEqual(expected.map(([, message], at) => ({ line: lines[at], text: message })));
  });
});
