import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/wasm-typescript';
import fc from 'fast-check';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, test } from 'vitest';
import type { RunData } from '../src/web/playground/messages.js';
import { firstDifference } from '../src/web/playground/page/compare.js';
import { erase } from '../src/web/playground/page/erase.js';
import { decodeShare, encodeShare, MAX_CODE } from '../src/web/playground/page/share.js';
import { LateError, withWatchdog } from '../src/web/playground/page/watchdog.js';
import { fromWire, taskFromWire, toWire } from '../src/web/playground/wire.js';
import { millrace } from './command-line.js';
import { anyText } from './text.js';
import { byTier, isShort, patience } from './tier.js';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('types become spaces', () => {
  const codeOf = (source: string): string => {
    const erased = erase(source);
    if ('error' in erased) throw new Error(`${erased.error.message} at ${erased.error.at}`);
    return erased.code;
  };

  test.for([
    ['let a: number = (b as T)! + c!;', 'let a         = (b     )  + c ;'],
    ['const f = <T,>(x?: T, ...r: U[]): x => x;', 'const f =     (x    , ...r     )    => x;'],
    ["import type { A } from 'x';", ';                          '],
    ["import { type B, c, type D } from 'y';", "import {         c,        } from 'y';"],
    ['interface I { a: 1 }\ntype K = 1;\n', ';                   \n;          \n'],
    [
      'class A<T> extends B<T> implements C { private readonly x?: T = 1; }',
      'class A    extends B                 {                  x     = 1; }',
    ],
    [
      'class A { declare y: T; z!: T; abstract m(): T; over(a: 1): T; over(a) {} }',
      'class A { ;             z    ; ;                ;              over(a) {} }',
    ],
    ['function f(a: T): U;\nfunction f(this: X, a: T) {}', ';                   \nfunction f(         a   ) {}'],
    ['new Map<A, B>(); f<T>(x);', 'new Map      (); f   (x);'],
    ['const a = <T>b;', 'const a =    b;'],
    ['const A = class extends B<T> { private x: T = 1; };', 'const A = class extends B    {         x    = 1; };'],
    // Without these semicolons and brackets the next line would belong to the statement.
    ['const a = b\ntype X = 1\n(c)', 'const a = b\n;         \n(c)'],
    ['const a = b as T\n(c)', 'const a = b ;   \n(c)'],
    ['const f = (a): T<\n  U\n> => a', 'const f = (a     \n   \n) => a'],
  ] as const)('%s', ([source, wanted]) => {
    // A character for each: lines and columns stay.
    expect(codeOf(source)).toBe(wanted.padEnd(source.length));
  });

  test.for([
    ['enum E { A }', 'enum'],
    ['namespace N { export const x = 1 }', 'namespace'],
    ['class A { constructor(private x: number) {} }', 'parameter property'],
    ['const x = await import("y");', 'import()'],
    ['import x = require("y");', ''],
    ['const x = ;', 'syntax error at ;'],
    ['const x = (1', 'the end of the code'],
    ['const a = b < c > d;', 'type arguments'],
    ['@d class A {}', 'decorators'],
  ] as const)('%s is refused', ([source, message]) => {
    expect(erase(source)).toMatchObject({ error: { message: expect.stringContaining(message) } });
  });

  test('imports get the URL of their module, others are refused at their place', () => {
    const resolve = (name: string): string | undefined => (name === 'millrace' ? 'blob:x' : undefined);
    expect(erase("import { a } from 'millrace';", { resolve })).toEqual({ code: 'import { a } from "blob:x";' });
    expect(erase("\nexport * from 'fs';", { resolve })).toEqual({
      error: { message: 'there is no module "fs" here', at: 15 },
    });
  });

  test('sources mean the same as without their types by swc', { timeout: patience(120_000) }, () => {
    const folders = byTier(['examples/playground'], ['examples', 'src/kernel', 'src/workload', 'src/engine']);
    const files = folders.flatMap((folder) =>
      readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${root}${folder}/${name}`),
    );
    let erased = 0;
    for (const file of files) {
      const source = readFileSync(file, 'utf8');
      const result = erase(source);
      if ('error' in result) continue; // what the parser does not understand is refused, never guessed
      erased++;
      expect(result.code.length, file).toBe(source.length);
      const { code } = transformSync(source, { mode: 'strip-only', filename: file });
      expect(treeOf(result.code), file).toBe(treeOf(code));
    }
    expect(erased / files.length).toBeGreaterThan(0.9);
  });
});

/** The syntax tree without positions and empty statements. */
function treeOf(code: string): string {
  return JSON.stringify(parseAst(code), (key, value: unknown) => {
    if (key === 'start' || key === 'end') return undefined;
    if (typeof value === 'bigint') return String(value);
    return Array.isArray(value) ? value.filter((one) => one?.type !== 'EmptyStatement') : value;
  });
}

describe('an example', () => {
  test.skipIf(isShort)('is a file for millrace run', { timeout: patience(120_000) }, async () => {
    const { status, stdout } = await millrace(['run', 'examples/playground/collatz.ts', '--device', 'wasm'], {
      cwd: root,
    });
    expect(status).toBe(0);
    // Among the numbers up to 100,000 the one with most steps is 77,031, with 350.
    expect(stdout).toMatch(/^77030 +350$/m);
  });
});

describe('code in an address', () => {
  test('comes back', async () => {
    await fc.assert(
      fc.asyncProperty(anyText(2000), async (code) => {
        const fragment = await encodeShare(code);
        expect(fragment).toMatch(/^code=1\.[\w-]*$/);
        expect(await decodeShare(`#${fragment}`)).toBe(code);
      }),
      { numRuns: byTier(10, 200) },
    );
  });

  test('is refused if it is damaged or too long', async () => {
    expect(await decodeShare('#token=abc')).toBeUndefined();
    expect(await decodeShare('')).toBeUndefined();
    const fragment = await encodeShare('export default 1;'.repeat(50));
    await expect(decodeShare(fragment.slice(0, -4))).rejects.toThrow('damaged');
    await expect(decodeShare('code=1.!!')).rejects.toThrow('damaged');
    // A short fragment may stand for a very long text.
    const bomb = await packed('x'.repeat(100 * MAX_CODE));
    expect(bomb.length).toBeLessThan(20_000);
    await expect(decodeShare(bomb)).rejects.toThrow('more than');
  });
});

async function packed(text: string): Promise<string> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return `code=1.${Buffer.from(await new Response(stream).arrayBuffer()).toString('base64url')}`;
}

describe('a watchdog', () => {
  test('ends work that does not end, once', async () => {
    let ends = 0;
    const work = withWatchdog(new Promise(() => undefined), 20, 'the code', () => ends++);
    await expect(work).rejects.toThrow(LateError);
    await expect(work).rejects.toThrow('the code took more than 0.02 s and was ended');
    expect(ends).toBe(1);
  });

  test('leaves work alone that ends in time, or fails', async () => {
    const end = (): void => expect.unreachable();
    expect(await withWatchdog(Promise.resolve(5), 20, '', end)).toBe(5);
    await expect(withWatchdog(Promise.reject(new Error('no')), 20, '', end)).rejects.toThrow('no');
    await new Promise((resolve) => setTimeout(resolve, 40));
  });
});

describe('values as JSON', () => {
  const scalar = fc.oneof(fc.double(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }), fc.boolean());
  const name = fc.string({ minLength: 1 }).filter((text) => !text.startsWith('$') && text !== '__proto__');

  test('come back', () => {
    const value = fc.dictionary(name, fc.oneof(scalar, fc.array(scalar), fc.uint8Array()), { noNullPrototype: true });
    fc.assert(
      fc.property(value, (one) => {
        expect(fromWire(JSON.parse(JSON.stringify(toWire(one))))).toEqual(one);
      }),
      { numRuns: byTier(50, 1000) },
    );
  });

  test('of another form are refused', () => {
    expect(() => fromWire({ $code: 'alert(1)' })).toThrow('$code is not a value');
    expect(() => fromWire({ $big: '1e5' })).toThrow(TypeError);
    const task = { kernel: { $bytes: 'AAAA' }, start: { $big: '0' }, length: { $big: '1' } };
    expect(taskFromWire(task)).toMatchObject({ job: {}, buffers: {}, length: 1n });
    expect(() => taskFromWire({ ...task, kernel: 'items()' })).toThrow('no kernel');
    expect(() => taskFromWire({ ...task, job: { n: { nested: 1 } } })).toThrow('n is not a number');
    expect(() => taskFromWire({ ...task, buffers: { x: 'text' } })).toThrow('neither bytes');
  });
});

describe('a comparison with the interpreter', () => {
  const run = (hits: RunData['hits'], head: readonly number[]): RunData => ({
    ...{ device: 'wasm', tried: 10n, seconds: 0, hits },
    buffers: [{ name: 'x', type: 'f32', length: head.length, head }],
  });
  const hit = (index: bigint, ...digest: number[]) => ({ index, fields: { digest } });

  test('finds the first difference', () => {
    const wanted = run([hit(3n, 1, 2)], [1, 2.5]);
    expect(firstDifference(run([hit(3n, 1, 2)], [1, 2.5]), wanted, 0)).toBeUndefined();
    expect(firstDifference(run([], [1, 2.5]), wanted, 0)).toBe('a hit at index 3 is missing');
    expect(firstDifference(run([hit(3n, 1, 3)], [1, 2.5]), wanted, 0)).toBe('digest of the hit at index 3 differs');
    expect(firstDifference(run([hit(3n, 1, 2), hit(4n, 1)], [1, 2.5]), wanted, 0)).toBe(
      'the hit at index 4 is not one',
    );
    expect(firstDifference(run([hit(3n, 1, 2)], [2, 2.5]), wanted, 1e-5)).toBe('x[0] is 2, the interpreter has 1');
    expect(firstDifference(run([hit(3n, 1, 2)], [1, 2.500001]), wanted, 1e-5)).toBeUndefined();
    expect(firstDifference(run([hit(3n, 1, 2)], [1, 2.500001]), wanted, 0)).toContain('x[1]');
  });
});
