import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type OutputOptions, rolldown } from 'rolldown';
import { transformSync } from 'rolldown/utils';
import { afterAll, describe, expect, test } from 'vitest';
import { isShort, patience } from './tier.js';

// Errors name the line of the author's own file, however that file has become what runs.

const root = fileURLToPath(new URL('..', import.meta.url));
const language = join(root, 'dist/kernel/index.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-lines-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A user's module: types and comments are gone when it runs, so lines and columns move. */
const source = `
import { type Expr, items, loop, when } from ${JSON.stringify(language)};

/** A type that takes lines. */
interface Mistake {
  readonly name: string;
  readonly body: (context: { readonly item: Expr<'u32'> }) => void;
}

const isZero = (x: Expr<'u32'>): Expr<'bool'> => x.eq(0); // in a helper

const mistakes: readonly Mistake[] = [
  {
    name: 'unused',
    body: ({ item }) =>
      loop(3, (): void => {
        if (isZero(item)) return; // in a loop
      }),
  },
  {
    name: 'text',
    body: ({ item }) => {
      when(item.eq(0), () => void \`\${item}\`); // in a block
    },
  },
  {
    name: 'scope',
    body: ({ item }) => {
      let kept: Expr<'u32'> = item;
      when(item.eq(1), () => {
        kept = item.add(2); // made
      });
      kept.add(3); // used
    },
  },
];

for (const { name, body } of mistakes)
  try {
    items(name, {}, body).trace();
  } catch (error) {
    console.log(JSON.stringify((error as Error).message));
  }
`;
const user = join(folder, 'kernel.ts');
writeFileSync(user, source);

const lineOf = (mark: string): number => source.split('\n').findIndex((line) => line.endsWith(`// ${mark}`)) + 1;

/** The positions in each error's text. */
async function positions(...args: string[]): Promise<string[][]> {
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: folder,
    timeout: Math.ceil(patience(60_000)),
  });
  const errors = stdout.trim().split('\n');
  expect(errors).toHaveLength(3);
  return errors.map((text) => (JSON.parse(text) as string).match(/\/[^\s:]*:\d+:\d+/g) ?? []);
}

/** The lines of the user's file that the errors must name. */
const [helper, block, made, used] = ['in a helper', 'in a block', 'made', 'used'].map(
  (mark) => `${user}:${lineOf(mark)}`,
);
const right = [[helper, helper], [block], [made, used]];
const withoutColumn = (found: readonly string[][]) => found.map((all) => all.map((one) => one.replace(/:\d+$/, '')));

function compiled(name: string): string {
  const { code, map, errors } = transformSync(user, source, { sourcemap: true });
  expect(errors).toEqual([]);
  expect(code.split('\n').findIndex((line) => line.includes('x.eq(0)')) + 1).not.toBe(lineOf('in a helper'));
  writeFileSync(join(folder, `${name}.map`), JSON.stringify({ ...map, sources: ['kernel.ts'] }));
  const file = join(folder, name);
  writeFileSync(file, `${code}\n//# sourceMappingURL=${name}.map\n`);
  return file;
}

test('node --enable-source-maps, with a compiled file', async () => {
  const file = compiled('compiled.mjs');
  expect(withoutColumn(await positions('--enable-source-maps', file))).toEqual(right);
});

describe.skipIf(isShort)('in a full run', () => {
  test('node, with a compiled file and no source maps: lines of the file that runs', async () => {
    const file = compiled('plain.mjs');
    const text = readFileSync(file, 'utf8').split('\n');
    const lines = (await positions(file)).map((all) =>
      all.map((position) => {
        const [name, line] = position.split(':') as [string, string];
        expect(name).toBe(file);
        return text[Number(line) - 1];
      }),
    );
    expect(lines).toEqual([
      [expect.stringContaining('x.eq(0)'), expect.stringContaining('x.eq(0)')],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: text of the module
      [expect.stringContaining('${item}')],
      [expect.stringContaining('item.add(2)'), expect.stringContaining('kept.add(3)')],
    ]);
  });

  test('a loader that compiles each file when it is imported, as tsx does', async () => {
    const hooks = join(folder, 'hooks.mjs');
    writeFileSync(
      hooks,
      `import { readFileSync } from 'node:fs';
       import { fileURLToPath } from 'node:url';
       import { transformSync } from ${JSON.stringify(join(root, 'node_modules/rolldown/dist/utils-index.mjs'))};
       export async function load(url, context, next) {
         if (!url.endsWith('.ts')) return next(url, context);
         const file = fileURLToPath(url);
         const { code, map } = transformSync(file, readFileSync(file, 'utf8'), { sourcemap: true });
         const inline = Buffer.from(JSON.stringify(map)).toString('base64');
         const source = code + '\\n//# sourceMappingURL=data:application/json;base64,' + inline;
         return { format: 'module', source, shortCircuit: true };
       }`,
    );
    const register = join(folder, 'register.mjs');
    writeFileSync(
      register,
      `import { register } from 'node:module'; process.setSourceMapsEnabled(true); register('./hooks.mjs', import.meta.url);`,
    );
    expect(withoutColumn(await positions('--import', register, user))).toEqual(right);
  });

  test('vitest, if it also compiles the language', async () => {
    const vitest = join(root, 'node_modules/vitest/vitest.mjs');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [vitest, 'run', '--reporter=json', 'src/kernel/language/misuse.test.ts', 'src/kernel/language/trace.test.ts'],
      {
        cwd: root,
        env: { ...process.env, MILLRACE_FROM_SOURCE: '1', MILLRACE_TIER: 'all' },
        timeout: Math.ceil(patience(120_000)),
      },
    );
    const { success, numPassedTests } = JSON.parse(stdout.slice(stdout.indexOf('{'))) as Record<string, unknown>;
    expect({ success, numPassedTests }).toEqual({ success: true, numPassedTests: expect.any(Number) });
    expect(numPassedTests).toBeGreaterThan(10);
  });

  describe('a bundle of everything', () => {
    async function bundle(name: string, options: OutputOptions): Promise<string> {
      const build = await rolldown({ input: user, platform: 'node' });
      const file = join(folder, name);
      await build.write({ file, format: 'esm', ...options });
      await build.close();
      return file;
    }

    test.each([false, true])('with a source map (minified: %s)', async (minify) => {
      const file = await bundle(`mapped-${minify}.mjs`, { sourcemap: true, minify });
      expect(withoutColumn(await positions('--enable-source-maps', file))).toEqual(right);
    });

    test.each([false, true])(
      'without one: the place in the bundle, in the function that the language called (minified: %s)',
      async (minify) => {
        const file = await bundle(`unmapped-${minify}.mjs`, { minify });
        const text = readFileSync(file, 'utf8').split('\n');
        const found = (await positions(file)).map((all) =>
          all.map((position) => {
            const [name, line, column] = position.split(':') as [string, string, string];
            expect(name).toBe(file);
            return (text[Number(line) - 1] ?? '').slice(Number(column) - 1).slice(0, 20);
          }),
        );
        expect(found).toEqual([
          [expect.stringMatching(/^\w+\(\w+\)/), expect.stringMatching(/^\w+\(\w+\)/)], // isZero(item)
          [expect.stringMatching(/^(`\$\{)?\w+\}?/)],
          [expect.stringMatching(/^add\(2\)/), expect.stringMatching(/^add\(3\)/)],
        ]);
      },
    );
  });
});
