import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listDevices } from '../src/device/registry.js';
import { millrace as command, type Ran } from './command-line.js';
import { byTier, isShort } from './tier.js';

/** A user's kernel in one file, in a folder without this package. */
const { devices } = await listDevices();

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-run-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const MARKED = `import { items, u32, when } from 'millrace';
export default items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
  when(index.lo.rem(job.every).eq(7), () => emit({ n: index.lo }));
});
`;
const marks = (space: number, every: number): number[] =>
  Array.from({ length: Math.ceil((space - 7) / every) }, (_, k) => 7 + k * every);

describe('the kernel that `init` writes', () => {
  const wanted = (space: number, bits: number): { index: number; digest: string }[] =>
    Array.from({ length: space }, (_, index) => {
      const message = Buffer.alloc(12);
      message.writeUInt32BE(2026, 0);
      message.writeBigUInt64BE(BigInt(index), 4);
      return { index, digest: createHash('sha256').update(message).digest('hex') };
    }).filter(({ digest }) => Math.clz32(Number.parseInt(digest.slice(0, 8), 16)) >= bits);

  it('is short, comes with the command to run it, and is never overwritten', async () => {
    expect(await millrace('init')).toMatchObject({
      status: 0,
      stdout: 'millrace run kernel.ts\n',
      stderr: 'wrote kernel.ts; run it with\n',
    });
    const text = readFileSync(join(folder, 'kernel.ts'), 'utf8');
    const [kernel = ''] = /const kernel = [\s\S]*?\n\);\n/.exec(text) ?? [];
    expect(kernel.split('\n').length).toBeLessThanOrEqual(20);
    expect(await millrace('init')).toMatchObject({ status: 64, stdout: '' });
    expect((await millrace('init', 'kernel.cpp')).status).toBe(64);
    expect((await millrace('init', join('none', 'kernel.ts'))).status).toBe(74);
    expect(readFileSync(join(folder, 'kernel.ts'), 'utf8')).toBe(text);
  });

  it.for(devices.map(({ id }) => id))('runs on %s and finds what node:crypto finds', async (id, ctx) => {
    if (isShort && id !== 'wasm') return ctx.skip('SHA-256 takes long to compile: npm run test:all');
    const [space, bits] = id === 'interpreter' ? [600, 5] : [20_000, 10];
    const args = ['--device', id, '--space', String(space), '--param', `bits=${bits}`, '--fresh'];
    const { status, stdout, stderr } = await millrace('run', 'kernel.ts', ...args);
    expect(stderr).toMatch(/ hits; .* tried in .* fed /);
    expect(status).toBe(0);
    const found = lines(stdout).map((line) => line.trim().split(/\s+/));
    expect(found).toEqual(wanted(space, bits).map(({ index, digest }) => [String(index), digest]));
  });

  it('hashes and checks all 64 bits of an index', async () => {
    const space = ['--space', '4294967296:4294968296'];
    const args = ['--device', 'interpreter', ...space, '--param', 'bits=6', '--no-ledger', '--json'];
    const { status, events: all } = await millrace('run', 'kernel.ts', ...args);
    expect(status).toBe(0);
    const first = all.find(({ event }) => event === 'hit');
    const message = Buffer.alloc(12);
    message.writeUInt32BE(2026, 0);
    message.writeBigUInt64BE(BigInt(first?.index as number), 4);
    expect(first?.index).toBeGreaterThan(2 ** 32);
    expect(createHash('sha256').update(message).digest()[0]).toBeLessThan(4);
  });

  it('finds the same in JavaScript, on several devices, with other pipeline options', async () => {
    expect((await millrace('init', 'kernel.mjs')).status).toBe(0);
    const feeding = ['--pipeline', 'callback', '--streams', '3', '--slots', '2'];
    const args = ['--device', 'wasm,interpreter', '--space', '3e3', '--param', 'bits=6', ...feeding, '--json'];
    const { status, events: all } = await millrace('run', 'kernel.mjs', ...args);
    expect(status).toBe(0);
    expect(all.filter(({ event }) => event === 'device').map(({ id }) => id)).toEqual(['wasm', 'interpreter']);
    const found = all.filter(({ event }) => event === 'hit').map(({ index }) => index);
    expect(found).toEqual(wanted(3000, 6).map(({ index }) => index));
    expect(all.at(-1)).toMatchObject({ event: 'done', exit: 0, hits: found.length, tried: 3000 });
  });
});

describe('a file', () => {
  it.each(devices.map(({ id }) => id))('runs on %s', async (id) => {
    write('plain.ts', MARKED);
    const args = ['--device', id, '--space', '2000', '--param', 'every=50', '--fresh', '--json'];
    const { status, events } = await millrace('run', 'plain.ts', ...args);
    expect(status).toBe(0);
    expect(events.flatMap(({ event, index }) => (event === 'hit' ? index : []))).toEqual(marks(2000, 50));
  });

  it('may export only a kernel, in JavaScript; the first hit, no hit, and a limit', async () => {
    write('marked.mjs', MARKED);
    const run = (...args: string[]) => millrace('run', 'marked.mjs', '--device', 'wasm', ...args);
    expect(await run('--space', '1000', '--param', 'every=100', '--mode', 'first')).toMatchObject({
      status: 0,
      stdout: '    7           7\n',
    });
    expect(await run('--space', '8:100', '--param', 'every=100')).toMatchObject({ status: 1, stdout: '' });
    const limited = await run('--space', byTier('1e4', '1e6'), '--param', 'every=0x10', '--limit', '3');
    expect(limited).toMatchObject({
      status: 4,
      stdout: expect.stringMatching(/^ +7 .*\n +23 .*\n +39 .*\n$/) as unknown,
    });
  });

  it('may import other files, and export a function of the parameters', async () => {
    write('rest.ts', 'export const rest = (of: number): number => of - 1;\n');
    write(
      'made.ts',
      `import { items, u32, when, type In } from 'millrace/kernel';
import { rest } from './rest.js';
interface Params { name?: string; seven?: number }
export default async ({ name = 'none', seven = 0 }: Params) => ({
  kernel: items(name, { job: { every: u32 }, hit: { n: u32 } }, ({ job, index, emit }) => {
    when(index.lo.rem(job.every).eq(rest(seven) as In<'u32'>), () => emit({ n: index.lo }));
  }),
  space: 60,
  mode: 'first' as const,
});
`,
    );
    const run = (...args: string[]) => millrace('run', 'made.ts', '--device', 'interpreter', ...args);
    const given = ['--param', 'name=marked', '--param', 'seven=8', '--param', 'every=50'];
    expect(await run(...given)).toMatchObject({ status: 0, stdout: '    7           7\n' });
    const unknown = await run(...given, '--param', 'color=red');
    expect(unknown).toMatchObject({ status: 64, stdout: '' });
    expect(unknown.stderr).toContain('unknown parameter: color');
    expect(unknown.stderr).toContain('known parameters: every: u32, name, seven');
    expect((await run('--param', 'seven=8')).stderr).toContain('the kernel needs every: u32');
    // A function may read its parameters in other ways; those that it has read are not unknown.
    write(
      'looks.ts',
      `import made from './made.js';
export default (params: object) => made('seven' in params ? { ...params } : {});
`,
    );
    const looked = await millrace('run', 'looks.ts', '--device', 'interpreter', ...given, '--param', 'colour=red');
    expect(looked).toMatchObject({ status: 0, stdout: '    7           7\n' });
  });

  it('may have its hits verified in a thread, also by TypeScript', async () => {
    write('right.ts', 'export const isSmall = ({ n }: { n: number }, most: number): boolean => n < most;\n');
    const task = (most: number): string =>
      `${MARKED.replace('default items', 'const kernel = items')}
const verify = { module: new URL('./right.ts', import.meta.url), name: 'isSmall', data: ${most} };
export default { kernel, space: 100, job: { every: 50 }, verify };
`;
    // Two runs in two threads. A short run does only the second, which accepts the first hit and refuses the next.
    if (!isShort) {
      write('right-checked.ts', task(60));
      const right = await millrace('run', 'right-checked.ts', '--device', 'interpreter');
      expect(right).toMatchObject({ status: 0, stdout: '    7           7\n   57          57\n' });
    }
    write('wrong-checked.ts', task(10));
    const wrong = await millrace('run', 'wrong-checked.ts', '--device', 'interpreter');
    expect(wrong.status).toBe(74);
    expect(wrong.stderr).toContain('your kernel and your verify disagree at index 57');
    expect(wrong.stderr).toContain('kernel marked: n = 57; verify: false');
  });

  it('has its first chunk checked for accesses outside buffers, unless --no-checked is given', async () => {
    const linked = (link: string): string => `import { items, read, u32, when } from 'millrace';
const kernel = items('linked', { buffers: { links: read(u32) }, hit: { n: u32 } }, ({ index, buffers, emit }) => {
  const n = buffers.links.at(buffers.links.at(index.lo.and(1)));
  when(n.eq(1), () => emit({ n }));
});
export default { kernel, space: 8, buffers: { links: Uint32Array.of(1, ${link}) } };
`;
    write('stray.ts', linked('0x3fff0000'));
    const run = (file: string, ...args: string[]) => millrace('run', file, '--device', 'wasm', '--no-ledger', ...args);
    const checked = await run('stray.ts');
    expect(checked).toMatchObject({ status: 74, stdout: '' });
    expect(checked.stderr).toMatch(
      /index 1073676288 is outside its buffer, table or array of 2 elements[\s\S]*stray\.ts:3:/,
    );
    // Undefined, and harmless in WebAssembly's memory.
    expect((await run('stray.ts', '--no-checked')).stderr).not.toContain('of 2 elements');
    for (const [file, buffers, message] of [
      ['dataless.ts', '', 'kernel linked: buffer links is not given'],
      ['sized.ts', ', buffers: { links: 100 }', 'kernel linked: buffer links: 100 is not a typed array'],
      ['float.ts', ', buffers: { links: new Float32Array(2) }', 'not those of a Float32Array'],
      ['named.ts', ', buffers: { link: new Uint32Array(2) }', 'there is no buffer called link\n'],
    ] as const) {
      write(file, linked('1').replace(/, buffers: \{ links: U.* \} \}/, `${buffers} }`));
      for (const args of isShort ? [[]] : [[], ['--explain', '0'], ['--hot']]) {
        const refused = await run(file, ...args);
        expect(refused).toMatchObject({ status: 74, stdout: '', stderr: expect.stringContaining(message) });
        expect(refused.stderr).not.toMatch(/alloc|flow|ring/);
      }
    }
    write('linked.ts', linked('1'));
    const right = await run('linked.ts', '--no-checked');
    write('throwing.ts', linked('1').replace('space: 8,', "space: 8, verify: () => { throw new Error('oops'); },"));
    const thrown = await run('throwing.ts', '--no-checked');
    expect(thrown.status).toBe(74);
    expect(thrown.stderr).toMatch(/throwing\.ts:6:\d+: Error: oops\n {2}asked: {2}to run/);
    expect([right.status, lines(right.stdout)]).toMatchObject([0, { length: 8 }]);
  });

  it('may have a space beyond 64 bits if its chunk values give the upper bits', async () => {
    write('plain.ts', MARKED);
    const beyond = ['--space', '2^64:0x10000000000000100', '--device', 'interpreter'];
    const refused = await millrace('run', 'plain.ts', '--param', 'every=50', ...beyond);
    expect(refused).toMatchObject({ status: 64, stdout: '' });
    expect(refused.stderr).toContain('an index has 64 bits');
    write(
      'wide.ts',
      `import { items, u64, when } from 'millrace';
const kernel = items('wide', { chunk: { high: u64 }, hit: { sum: u64 } }, ({ chunk, index, emit }) => {
  when(index.rem(100n).eq(7n), () => emit({ sum: index.add(chunk.high.shl(8)) }));
});
export default { kernel, chunk: ({ start }: { start: bigint }) => ({ high: start >> 64n }) };
`,
    );
    const { status, stdout } = await millrace('run', 'wide.ts', ...beyond);
    expect(status).toBe(0);
    expect(lines(stdout).map((line) => line.trim().split(/\s+/))).toEqual(
      [7n, 107n, 207n].map((low) => [String((1n << 64n) + low), String(low + 256n)]),
    );
  });

  it.each([
    ['that does not exist', 'none.ts', undefined, 'none.ts: no such file'],
    [
      'with TypeScript that is more than types',
      'enum.ts',
      '\nenum Colour { red }\nexport default Colour;\n',
      'enum.ts:2:1: ',
    ],
    ['with an error in an import', 'outer.ts', "import './enum.js';\nexport default 1;\n", 'enum.ts:2:1: '],
    ['with a syntax error', 'broken.mjs', 'const a = 1;\nconst b = ;\n', 'broken.mjs:2:11: SyntaxError'],
    [
      'that throws',
      'throws.ts',
      'type A = 1;\nconst a: any = null;\nexport default a.b;\n',
      'throws.ts:3:18: TypeError',
    ],
    ['with a missing package', 'far.mjs', "import 'no-such-package';\n", "Cannot find package 'no-such-package'"],
    ['without a default export', 'empty.js', 'export const kernel = 1;\n', 'it has no default export, only kernel'],
    ['that does not export a kernel', 'number.ts', 'export default 7;\n', 'its default export is not a kernel'],
    [
      'with an unknown member',
      'odd.ts',
      `${MARKED.replace('default items', 'const kernel = items')}export default { kernel, spase: 1 };\n`,
      'has unknown members: spase',
    ],
    [
      'with an error in its kernel',
      'wrong.ts',
      MARKED.replace('eq(7)', 'eq(7.5)'),
      'wrong.ts:3:32: 7.5 is not a valid u32',
    ],
    [
      'with a kernel that emits no hits',
      'mute.ts',
      "import { items } from 'millrace';\nexport default items('mute', {}, () => {});\n",
      'kernel mute emits no hits',
    ],
    [
      'with chunk values but no function for them',
      'chunks.ts',
      MARKED.replace('job: {', 'chunk: { high: u32 }, job: {'),
      'chunk: (piece) =>',
    ],
  ])('%s is an error with its location', async (_what, name, text, message) => {
    if (text !== undefined) write(name, text);
    const { status, stdout, stderr } = await millrace('run', name, '--space', '9', '--device', 'interpreter');
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('at file:');
    expect({ status, stdout }).toEqual({ status: 74, stdout: '' });
  });

  const usages: readonly (readonly [args: readonly string[], message: string])[] = [
    [['--space', '2^200'], 'FROM:TO; at most 2^128'],
    [[], 'the number of indices is not given'],
    [['--space', '9', '--param', 'every'], 'write --param name=value'],
    [['--space', '9', '--param', 'every=-1'], 'give a whole number from 0 to 4294967295'],
    [['--space', '9', '--mode', 'last'], 'Allowed choices are all, first, any, arrival'],
    [['--space', '9', '--streams', '99'], 'from 1 to 32'],
    [['--space', '9', '--device', 'abacus'], 'no device called "abacus"'], // looks for all devices
  ];
  it.each(byTier(usages.slice(0, -1), usages))('%j is a usage error', async (args, message) => {
    write('plain.ts', MARKED);
    const given = args.includes('--param') ? args : [...args, '--param', 'every=9'];
    const { status, stdout, stderr } = await millrace('run', 'plain.ts', ...given);
    expect(stderr).toContain(message);
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' });
  });
});

describe('Ctrl-C', () => {
  it('stops a search so that it can be resumed: no hit is repeated or lost', async () => {
    write('plain.ts', MARKED);
    const hits: number[] = [];
    const end = byTier(30_000, 100_000);
    let space = `0:${end}`;
    let stops = 0;
    for (let next: string | undefined = space; next !== undefined; ) {
      space = next;
      const all = await stopped(space, byTier(60_000, 100) * stops);
      hits.push(...all.filter(({ event }) => event === 'hit').map(({ index }) => Number(index)));
      const done = all.at(-1);
      expect(done).toMatchObject({ event: 'done', exit: done?.next === undefined ? 0 : 2 });
      next = done?.next as string | undefined;
      if (next !== undefined) stops++;
    }
    expect(stops).toBeGreaterThan(0);
    expect(hits).toEqual(marks(end, 11));
  });

  /** Runs slowly, and is interrupted some milliseconds after its first hit. */
  async function stopped(space: string, ms: number): Promise<Ran['events']> {
    // Without a ledger the caller keeps the position; test/jobs.test.ts tests the ledger.
    const args = ['--device', 'interpreter', '--space', space, '--param', 'every=11', '--json', '--no-ledger'];
    // test/conventions.test.ts interrupts a child process; this interrupts its own process.
    let timer: NodeJS.Timeout | undefined;
    const heard = (text: string): void => {
      if (/"event":"hit"/.test(text)) timer ??= setTimeout(() => process.kill(process.pid, 'SIGINT'), ms);
    };
    const { events } = await command(['run', 'plain.ts', ...args], { cwd: folder, heard });
    clearTimeout(timer);
    return events;
  }
});

describe('a kernel under the magnifying glass', () => {
  const COLLATZ = `import { cell, items, u32, when, whileTrue } from 'millrace';
export default items('steps', { job: { least: u32 }, hit: { steps: u32 } }, ({ job, index, emit }) => {
  const limit = job.least.add(1);
  const n = cell(u32, index.lo);
  const steps = cell(u32, 0);
  whileTrue(
    () => n.gt(1),
    () => {
      const half = n.shr(1);
      when(n.and(1).eq(1), () => n.set(n.mul(3).add(1))).otherwise(() => n.set(half));
      steps.set(steps.add(1));
    },
  );
  when(steps.ge(limit), () => emit({ steps }));
});
`;

  it('--explain shows the values of each line that an index executes', async () => {
    write('collatz.ts', COLLATZ);
    const { status, stdout, stderr } = await millrace('run', 'collatz.ts', '--explain', '6', '--param', 'least=7');
    expect([status, stderr]).toEqual([0, 'index 6: 1 hit\n']);
    const valuesAt = (line: number): string[] =>
      lines(stdout).flatMap((row) => new RegExp(`^collatz\\.ts:${line} .* {2}(.*)$`).exec(row)?.[1] ?? []);
    expect(valuesAt(3)).toEqual(['8']);
    // 6, 3, 10, 5, 16, 8, 4, 2, 1
    expect(valuesAt(9)).toEqual(['3', '1', '5', '2', '8', '4', '2', '1']);
    expect(valuesAt(11)).toEqual(['1', '2', '3', '4', '5', '6', '7', '8']);
    expect(valuesAt(14)).toEqual(['true', 'hit steps = 8']);
    expect((await millrace('run', 'collatz.ts', '--explain', 'six')).status).toBe(64);
  });

  it('an access outside a buffer is a fault of the file', async () => {
    write(
      'outside.mjs',
      `import { items, rw, u32, when } from 'millrace';
const kernel = items('outside', { buffers: { seen: rw(u32) }, hit: { n: u32 } }, ({ index, buffers, emit }) => {
  buffers.seen.set(index.lo, 1);
  when(index.lo.eq(3), () => emit({ n: 1 }));
});
export default { kernel, space: 200, buffers: { seen: new Uint32Array(100) } };
`,
    );
    for (const args of [['--explain', '150'], ['--hot']]) {
      const { status, stderr } = await millrace('run', 'outside.mjs', ...args);
      expect([args, status, stderr]).toEqual([args, 74, expect.stringMatching(/outside buffer seen of 100 elements/)]);
    }
  });

  it.skipIf(isShort)('--explain and hits show an i64 with its sign', async () => {
    const source = `import { i64, items, when } from 'millrace';
export default items('below', { job: { by: i64 }, hit: { at: i64 } }, ({ job, index, emit }) => {
  const at = index.to(i64).mul(job.by);
  when(at.lt(-20), () => emit({ at }));
});
`;
    write('below.ts', source);
    const { stdout } = await millrace('run', 'below.ts', '--explain', '6', '--param', 'by=-5');
    expect(lines(stdout).map((row) => row.replace(/^.* {2}/, ''))).toEqual(['-30', 'true', 'hit at = -30']);
    const found = await millrace('run', 'below.ts', '--space', '7', '--param', 'by=-5', '--device', 'interpreter');
    expect(found.stdout).toMatch(/^ +5 +-25\n +6 +-30$/m);
  });

  it('--hot counts the operations of each line', async () => {
    write('collatz-hot.ts', COLLATZ);
    const args = ['run', 'collatz-hot.ts', '--hot', '--space', '1:9', '--param', 'least=7', '--json'];
    const { status, events } = await millrace(...args);
    expect(status).toBe(0);
    // Steps of 1 to 8: 0, 1, 7, 2, 5, 8, 16, 3, together 42.
    const { indices, lines: hot } = events.at(-1) as unknown as {
      indices: number;
      lines: { place: string; operations: number }[];
    };
    expect(indices).toBe(8);
    const half = hot.find(({ place }) => place === 'collatz-hot.ts:9');
    expect(half?.operations).toBeCloseTo((42 / 8) * 2); // reads n and shifts it
    expect(hot.some(({ place }) => place === 'collatz-hot.ts:3')).toBe(false); // computed once for the job
  });
});

describe('`kernel show` and `kernel stats` of a file', () => {
  const SEVERAL = `import { items, rw, u32, when } from 'millrace';
const stored = items('stored', { buffers: { x: rw(u32) } }, ({ item, buffers }) => buffers.x.set(item, item.mul(7)));
export const above = items('over', { job: { least: u32 }, hit: { n: u32 } }, ({ job, item, emit }) => {
  when(item.gt(job.least), () => emit({ n: item }));
});
export const times = ({ by = 3 }: { by?: number }) =>
  items('times', { buffers: { x: rw(u32) } }, ({ item, buffers }) => buffers.x.set(item, item.mul(by)));
export { stored };
`;
  const show = (...args: string[]) => millrace('kernel', 'show', ...args);

  it('show the kernel that `run` takes, for every target', async () => {
    write('marked-too.ts', MARKED);
    const expected: Record<string, RegExp> = {
      c: /kernel marked, .*uint64_t millrace_run/s,
      wat: /kernel marked, .*\(func \(export "run"\)/s,
      cuda: /kernel marked, .*__global__/s,
      opencl: /kernel marked, .*__kernel/s,
      wgsl: /kernel marked, .*@compute/s,
      ir: /^kernel marked\n.*rem %/s,
    };
    for (const [target, text] of Object.entries(expected)) {
      const { status, stdout, stderr } = await show('marked-too.ts', '--target', target);
      expect([status, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(text);
    }
    const { status, events } = await millrace('kernel', 'stats', join(folder, 'marked-too.ts'), '--json');
    expect(status).toBe(0);
    expect(events.at(-1)).toMatchObject({ event: 'done', always: { divisions: 1 } });
  });

  it('show the lines of the source as comments, and all targets at once', async () => {
    write('marked-all.ts', MARKED);
    const { status, stdout } = await show('marked-all.ts', '--target', 'all');
    expect(status).toBe(0);
    const texts = Object.fromEntries(
      stdout.split(/^==> /m).flatMap((part) => (part === '' ? [] : [part.split(' <==\n') as [string, string]])),
    );
    expect(Object.keys(texts)).toEqual(['c', 'wat', 'cuda', 'opencl', 'wgsl', 'ir']);
    for (const target of ['c', 'cuda', 'opencl', 'wgsl'])
      expect(texts[target]).toMatch(/ \/\/ marked-all\.ts:3 {2}when\(index\.lo\.rem\(job\.every\)/);
    expect(texts.wat).toMatch(/ ;; marked-all\.ts:3 {2}when\(index\.lo/);
    expect((await show('marked-all.ts', '--no-comments')).stdout).not.toContain('marked-all.ts');
  });

  it('choose one of several kernels by name, and call a function with parameters', async () => {
    write('several.ts', SEVERAL);
    expect((await show('several.ts#stored', '--target', 'ir')).stdout).toMatch(/^kernel stored\n/);
    expect((await show('./several.ts#above', '--target', 'ir')).stdout).toMatch(/^kernel over\n/);
    expect((await show('several.ts#over', '--target', 'ir')).stdout).toMatch(/^kernel over\n/);
    expect((await show('several.ts#times', '--target', 'ir', '--param', 'by=11')).stdout).toMatch(/mul item, 11$/m);
    const unnamed = await show('several.ts');
    expect(unnamed.status).toBe(74);
    expect(unnamed.stderr).toContain('it exports several kernels');
    for (const choice of ['several.ts#above (over)', 'several.ts#stored,', 'several.ts#times (a function)'])
      expect(unnamed.stderr).toContain(choice);
    expect((await show('several.ts#none')).stderr).toContain('it does not export a kernel called "none"');
    expect((await show('several.ts#times', '--param', 'bye=1')).stderr).toContain('unknown parameter: bye');
  });

  it('report an error with its line, or list the choices', async () => {
    write('faulty.ts', MARKED.replace('job.every', 'job.evry'));
    const { status, stderr } = await millrace('kernel', 'stats', 'faulty.ts');
    expect(status).toBe(74);
    expect(stderr).toMatch(/faulty\.ts:3:/);
    expect((await show('absent.ts')).stderr).toContain('absent.ts: no such file');
    expect((await show('absent')).stderr).toContain('kernels: block');
    expect((await show('block', '--param', 'a=1')).status).toBe(64);
    write('nothing.mjs', 'export const number = 7;');
    expect((await show('nothing.mjs')).stderr).toContain('it does not export a kernel');
  });
});

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

/** A ledger of its own: these jobs have thousands of hits, which would be checked by each later command of the run. */
const millrace = (...args: string[]): Promise<Ran> => command(args, { cwd: folder, env: { XDG_DATA_HOME: folder } });

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');
