import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cudaLowering } from '../src/kernel/abi/lower-gpu.js';
import { lowerGpu, MillraceError } from '../src/kernel/index.js';
import { parseInput, parseOutput } from '../src/workload/block/files/file.js';
import { headerScan } from '../src/workload/block/kernel/kernel.js';
import { type Block, checkNonce, headerPrefix, targetFromBits } from '../src/workload/block/kernel/reference.js';
import { millrace } from './command-line.js';
import { byTier, isShort, patience } from './tier.js';

const run = promisify(execFile);
const MINUTES = patience(60_000);
const data = fileURLToPath(new URL('data/block/', import.meta.url));
const emulation = fileURLToPath(new URL('cu', import.meta.url));
const hasTool = (name: string) => spawnSync(name, ['--version']).status === 0;
const noCompiler = hasTool('g++') ? undefined : 'g++ is not installed';
const noNvcc = hasTool('nvcc') ? undefined : 'nvcc is not installed';

const folder = mkdtempSync(join(tmpdir(), 'millrace-cu-'));
afterAll(() => rmSync(folder, { recursive: true }));

type Pipeline = 'poll' | 'persistent';
const pipelines = byTier<readonly Pipeline[]>(['poll'], ['poll', 'persistent']);

/** The exported files, by pipeline. */
const files = {} as Record<Pipeline, string>;
beforeAll(async () => {
  for (const pipeline of pipelines) {
    const out = join(folder, pipeline);
    const options = pipeline === 'poll' ? [] : ['--pipeline', pipeline];
    const { status, stdout } = await millrace(['export', 'block', '--language', 'cu', '--out', out, ...options]);
    expect(status).toBe(0);
    files[pipeline] = join(out, 'block.cu');
    expect(stdout.trim()).toBe(files[pipeline]);
  }
});

test('kernels without a CUDA program are refused', async () => {
  const { status, stderr } = await millrace(['export', 'words', '--language', 'cu', '--out', join(folder, 'words')]);
  expect(status).toBe(64);
  expect(stderr).toContain('words cannot be exported as a CUDA program');
  const given = ['export', 'block', '--language', 'cu', '--targets', 'cpu', '--out', join(folder, 'cpu')];
  const other = await millrace(given);
  expect([other.status, other.stderr]).toEqual([64, expect.stringContaining('a CUDA program runs on cuda')]);
});

describe.each(pipelines)('the CUDA program, pipeline %s', (pipeline) => {
  const text = () => readFileSync(files[pipeline], 'utf8');

  test("has the kernel that the engine's CUDA devices compile", () => {
    const harness = pipeline === 'persistent' ? 'queue' : 'range';
    const engine = lowerGpu(headerScan({ topWordZero: false }), { ...cudaLowering, harness });
    const [, own = ''] = /\nextern "C" (__global__[^;{]*\{\n.*)$/s.exec(text()) ?? [];
    expect(canonical(withNumbers(own, text()))).toBe(canonical(engine.text.replace(/^.*?extern "C" /s, '')));
  });

  test('names its licence, its version and the command', () => {
    const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    expect(text()).toMatch(new RegExp(`^// Written by millrace ${version.replaceAll('.', '\\.')}`, 'm'));
    expect(text()).toContain('SPDX-License-Identifier: Apache-2.0');
    expect(text()).toContain('// ./block IN OUT'.replace('// ', '//   '));
  });

  test.skipIf(isShort)('compiles with nvcc without warnings', { timeout: 5 * MINUTES }, async ({ skip }) => {
    if (noNvcc) return skip(noNvcc);
    const flags = ['-O3', '-std=c++17', '-arch=all-major', '-Xcompiler', '-Wall,-Wextra', '-Xptxas', '-v'];
    const { stderr, stdout } = await run('nvcc', [...flags, '-o', join(folder, `${pipeline}-nvcc`), files[pipeline]]);
    const log = stdout + stderr;
    expect(log).not.toMatch(/warning|Warning/);
    expect(log.match(/0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads/g)?.length).toBeGreaterThan(2);
  });
});

/** Without a GPU the program runs on an emulation of the CUDA runtime: see `cu/cuda_runtime.h`. */
describe.skipIf(isShort).each(pipelines)('on an emulated GPU, pipeline %s', (pipeline) => {
  const program = join(folder, `${pipeline}-emulated`);
  beforeAll(async () => {
    if (!noCompiler) await compile(pipeline, program, ['-O2']);
  }, MINUTES);

  const inputs = ['course', 'mainnet', 'synthetic'].flatMap((name) =>
    readdirSync(join(data, name))
      .filter((file) => file.endsWith('.in'))
      .map((file) => join(name, file)),
  );
  // All of a course's blocks take hours of a CPU: the search of each block begins some nonces below its answer.
  test.for(inputs)('solves %s', { timeout: 2 * MINUTES }, async (name, { skip }) => {
    if (noCompiler) return skip(noCompiler);
    const expected = readFileSync(join(data, name.replace(/in$/, 'out')), 'latin1');
    const nonces = parseOutput(expected).map((nonce) => Math.max(0, nonce - 9000));
    const { status, written } = await solve(program, join(data, name), { FAKE_NONCES: nonces.join() });
    expect(written).toBe(expected);
    expect(status).toBe(0);
  });

  test('solves files from the first nonce on', { timeout: 2 * MINUTES }, async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    for (const name of ['synthetic/easy00', 'synthetic/easy01', 'mainnet/regtest-0']) {
      const { written } = await solve(program, join(data, `${name}.in`));
      expect(written).toBe(readFileSync(join(data, `${name}.out`), 'latin1'));
    }
  });

  test('writes 00000000 for a block without a nonce', { timeout: MINUTES }, async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const input = writeInput('none.in', [block('03000001'), block('207fffff'), block('1d00ffff')]);
    const last = String(2 ** 32 - 1000);
    const { status, written, stderr } = await solve(program, input, { FAKE_NONCES: `${last},0,${last}` });
    expect(status).toBe(1);
    expect(written).toMatch(/^3\n00000000\n[0-9a-f]{8}\n00000000\n$/);
    expect(stderr).toContain('warning: block 1 of 3 has no valid nonce; 00000000 stands in its place');
    expect(stderr).toContain('1 of 3 blocks solved');
  });

  test('finds the smallest of many nonces, also if they do not fit a ring', { timeout: MINUTES }, async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const small = join(folder, `${pipeline}-small`);
    await compile(pipeline, small, ['-O1'], (source) => source.replace('RING_HITS = 1024;', 'RING_HITS = 3;'));
    const easy = ['2100ffff', '207fffff', '200fffff', '1f7fffff'].map(block);
    const input = writeInput('all.in', easy);
    const own = easy.map((_, i) => smallest(input, i));
    for (const each of [program, small]) {
      const { status, written } = await solve(each, input);
      expect([status, parseOutput(written)]).toEqual([0, own]);
    }
  });

  test('takes CRLF, upper case and no last line end', async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const odd = join(folder, 'odd.in');
    const text = readFileSync(join(data, 'synthetic/easy00.in'), 'latin1');
    writeFileSync(odd, text.toUpperCase().replaceAll('\n', '\r\n').slice(0, -2));
    expect((await solve(program, odd)).written).toBe(readFileSync(join(data, 'synthetic/easy00.out'), 'latin1'));
  });

  test('refuses bad files with the words of `millrace block`', async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const hash = 'a'.repeat(64);
    const lines = ['1', '00000001', hash, '495fab29', '1d00ffff', '1', hash];
    const withLine = (line: number, value: string) => lines.with(line - 1, value).join('\n');
    const malformed = [
      ...['', '\n', '1', 'x', `${lines.join('\n')}\n\n`, `${lines.join('\n')}\nx`, lines.join('\r'), '2'],
      ...['0', '-1', ' 1', '1e3', '99999999999', '9999999999', '\u00ef\u00bb\u00bf1', '2'].map((n) => withLine(1, n)),
      ...['1', '0x000001', '000000011', ''].map((version) => withLine(2, version)),
      ...[hash.slice(1), `${hash}a`, 'z'.repeat(64), 'f'.repeat(500), '\u001b[2J\t\u0000'].map((h) => withLine(3, h)),
      ...[
        '00000000',
        '1d80ffff',
        '01800000',
        '01000000',
        '02000000',
        'ff00ffff',
        '2200ffff',
        '21010000',
        '23000001',
      ].map((bits) => withLine(5, bits)),
      ...['0', '4294967295', '2'].map((count) => withLine(6, count)),
    ];
    for (const text of malformed) {
      const file = join(folder, 'bad.in');
      writeFileSync(file, text, 'latin1');
      const { status, stderr, written } = await solve(program, file);
      expect(stderr).toBe(`error: ${refusal(text, file)}\n`);
      expect([status, written]).toEqual([74, '']);
    }
  });

  test('reads mutated files as `millrace block` does', { timeout: 2 * MINUTES }, async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const original = readFileSync(join(data, 'mainnet/mainnet-100000.in'), 'latin1');
    const pieces = fc.constantFrom(
      '0',
      '1',
      'f',
      'F',
      'g',
      '\n',
      '\r\n',
      ' ',
      '\0',
      '\u00e9',
      '00ffff',
      'ab'.repeat(32),
    );
    const mutation = fc.record({
      at: fc.nat(original.length),
      cut: fc.oneof(fc.constant(0), fc.nat(70)),
      put: fc.array(pieces, { maxLength: 3 }).map((list) => list.join('')),
    });
    const file = join(folder, `${pipeline}-mutated.in`);
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 3 }), async (mutations) => {
        let mutated = original;
        for (const { at, cut, put } of mutations) mutated = mutated.slice(0, at) + put + mutated.slice(at + cut);
        writeFileSync(file, mutated, 'latin1');
        // Without a GPU a file that was read is not searched.
        const { status, stderr } = await solve(program, file, { FAKE_FAIL: 'cudaSetDevice:1:100' });
        const expected = refusal(mutated, file);
        expect(status).toBe(expected === undefined ? 69 : 74);
        if (expected !== undefined) expect(stderr).toBe(`error: ${expected}\n`);
      }),
      { numRuns: byTier(60, 300) },
    );
  });

  test('accepts the targets that `millrace block` accepts', async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    // The largest of each length, and mantissas that reach the lowest and the highest bit.
    for (const bits of ['2100ffff', '22000001', '220000ff', '207fffff', '20010000']) {
      const input = writeInput('target.in', [block(bits)]);
      targetFromBits(Number.parseInt(bits, 16));
      expect(await solve(program, input)).toMatchObject({ status: 0 });
    }
  });

  test('refuses arguments and files that it cannot use', async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const input = join(data, 'synthetic/easy00.in');
    expect(await start(program, [input])).toMatchObject({ status: 64, stderr: 'error: usage: block IN OUT\n' });
    expect(await start(program, [input, 'a', 'b'])).toMatchObject({ status: 64 });
    const copy = writeInput('same.in', [block('207fffff')]);
    const same = await start(program, [copy, copy]);
    expect(same).toMatchObject({ status: 64, stderr: 'error: IN and OUT are the same file\n' });
    const absent = await start(program, [join(folder, 'absent.in'), join(folder, 'x')]);
    expect(absent.status).toBe(74);
    expect(absent.stderr).toMatch(/^error: cannot read .*absent\.in: No such file or directory\n$/);
    expect(await start(program, [folder, join(folder, 'x')])).toMatchObject({
      status: 74,
      stderr: `error: cannot read ${folder}: it is a folder\n`,
    });
    expect(await start(program, [input, folder])).toMatchObject({
      status: 74,
      stderr: `error: cannot write ${folder}: it is a folder\n`,
    });
    const nowhere = await start(program, [input, join(folder, 'none', 'out')]);
    expect(nowhere.status).toBe(74);
    expect(nowhere.stderr).toMatch(/^error: cannot write .*out: No such file or directory\n$/);
    expect(await start(program, [input, '/dev/null'])).toMatchObject({ status: 0 });
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test('tells each CUDA error with its line, and frees everything', { timeout: 5 * MINUTES }, async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const input = join(data, 'synthetic/easy01.in');
    const source = text(pipeline).split('\n');
    let faults = 0;
    for (const name of functionsUsed(pipeline)) {
      for (const call of [1, 2, 3, 7]) {
        const { status, stderr, written } = await solve(program, input, { FAKE_FAIL: `${name}:${call}` });
        if (status === 0) continue; // fewer calls than that
        faults++;
        expect(`${name}:${call} ${status}`).toBe(`${name}:${call} 76`);
        expect(written).toBe('');
        const [, line = '', what = ''] =
          /block\.cu, line (\d+): (.*) failed: fake error \(cudaErrorFake\)/.exec(stderr) ?? [];
        const [told] = what.split('(');
        expect(source[Number(line) - 1]).toMatch(new RegExp(`(CUDA|IS_READY)\\(${told}\\(`));
        expect(stderr).not.toContain('leak');
      }
    }
    expect(faults).toBeGreaterThan(20);
    const absent = await solve(program, input, { FAKE_FAIL: 'cudaSetDevice:1:100' });
    expect(absent.status).toBe(69);
    expect(absent.stderr).toContain('no CUDA-capable device is detected (cudaErrorNoDevice)');
  });

  test('never writes what the GPU got wrong', async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const input = writeInput('wrong.in', [block('207fffff')]);
    const { status, stderr, written } = await solve(program, input, { FAKE_FAULT: '1' });
    expect([status, written]).toEqual([76, '']);
    expect(stderr).toMatch(/^error: the GPU found nonce \d+ for block 1, which is not valid\n$/);
  });

  test('loses nothing where launches must be short', { timeout: 3 * MINUTES }, async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const input = join(data, 'mainnet/signet-0.in');
    const expected = readFileSync(join(data, 'mainnet/signet-0.out'), 'latin1');
    const from = (parseOutput(expected)[0] ?? 0) - 200_000;
    const limited = await solve(program, input, { FAKE_LIMIT: '1', FAKE_NONCES: String(from) });
    expect(limited.written).toBe(expected);
  });

  test('accesses only its own memory', { timeout: 5 * MINUTES }, async ({ skip }) => {
    if (noCompiler) return skip(noCompiler);
    const sanitized = join(folder, `${pipeline}-sanitized`);
    const flags = ['-O1', '-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all'];
    const isBuilt = await compile(pipeline, sanitized, flags).then(
      () => true,
      () => false,
    );
    if (!isBuilt) return skip('the compiler has no sanitizers');
    for (const name of ['synthetic/easy00', 'mainnet/regtest-0', 'course/case03']) {
      const expected = readFileSync(join(data, `${name}.out`), 'latin1');
      const nonces = parseOutput(expected).map((nonce) => Math.max(0, nonce - 500));
      const { status, written, stderr } = await solve(sanitized, join(data, `${name}.in`), {
        FAKE_NONCES: nonces.join(),
      });
      expect(stderr).not.toMatch(/ERROR|runtime error/);
      expect([status, written]).toEqual([0, expected]);
    }
  });
});

const text = (pipeline: Pipeline): string => readFileSync(files[pipeline], 'utf8');

/** Compiles the program as C++ for the emulation. */
async function compile(
  pipeline: Pipeline,
  program: string,
  flags: readonly string[],
  change = (source: string) => source,
): Promise<void> {
  const source = change(text(pipeline))
    .replaceAll(/(\w+)<<<(.+?), (.+?), 0, (.+?)>>>\(/g, 'fake_launch($1, $2, $3, $4, ')
    .replaceAll(/asm volatile\("mov\.u32 %0, %%smid;" : "=r"\((\w+)\)\);/g, '$1 = fake_processor();')
    .replaceAll(/asm volatile\("mov\.u64 %0, %%globaltimer;" : "=l"\((\w+)\)\);/g, '$1 = fake_time();');
  const file = join(folder, `${basename(program)}.cpp`);
  writeFileSync(file, `#line 1 "block.cu"\n${source}`);
  const warnings = ['-Wall', '-Wextra', '-Werror', '-Wno-unknown-pragmas'];
  const own = ['-std=c++17', ...warnings, `-I${emulation}`, '-DFIRST_NONCE=fake_nonce', '-pthread'];
  await run('g++', [...own, ...flags, '-o', program, file]);
}

/** The smallest valid nonce of a block, by node:crypto. */
function smallest(input: string, at: number): number {
  const given = parseInput(readFileSync(input, 'latin1'))[at] as Block;
  const [prefix, target] = [headerPrefix(given), targetFromBits(given.bits)];
  for (let nonce = 0; ; nonce++) if (checkNonce(prefix, target, nonce).valid) return nonce;
}

interface Ended {
  readonly status: number;
  readonly stderr: string;
}

function start(program: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(program, args, { env: { ...process.env, ...environment } }, (error, _, stderr) => {
      resolve({ status: error ? Number(error.code ?? -1) : 0, stderr });
    });
  });
}

/** Runs the program on a file. `written` is empty if it wrote no output. */
async function solve(
  program: string,
  input: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<Ended & { readonly written: string }> {
  const output = join(folder, `${basename(program)}.out`);
  rmSync(output, { force: true });
  const ended = await start(program, [input, output], environment);
  try {
    return { ...ended, written: readFileSync(output, 'latin1') };
  } catch {
    return { ...ended, written: '' };
  }
}

/** A block of one transaction. */
const block = (bits: string): string[] => ['00000001', '0'.repeat(64), '4d49e5da', bits, '1', 'ab'.repeat(32)];

function writeInput(name: string, blocks: readonly string[][]): string {
  const file = join(folder, name);
  writeFileSync(file, `${[String(blocks.length), ...blocks.flat()].join('\n')}\n`);
  return file;
}

/** The words with which `millrace block` refuses a file; undefined if it does not. */
function refusal(given: string, name: string): string | undefined {
  try {
    parseInput(given, name);
    return undefined;
  } catch (error) {
    if (error instanceof MillraceError) return error.summary;
    throw error;
  }
}

/** The functions of the CUDA runtime whose failure ends the program. */
function functionsUsed(pipeline: Pipeline): string[] {
  const called = [...text(pipeline).matchAll(/(?:CUDA|IS_READY)\((cuda\w+)\(/g)].map(([, name = '']) => name);
  return [...new Set(called), 'cudaLaunchKernel'].filter((name) => name !== 'cudaGetLastError');
}

/** The kernel's text without comments and line breaks, and with one name for each parameter word. */
function canonical(kernel: string): string {
  const words = kernel.replaceAll(/\/\/.*/g, '').replace(/(search_nonces|millrace_\w+)\(/, 'entry(');
  const names = new Map(
    [...words.matchAll(/const u32 (p_\w+) = launch\.words\[(\d+)\]/g)].map(([, name, at]) => [name, at]),
  );
  return words
    .replaceAll(/\bp_\w+/g, (name) => (names.has(name) ? `p${names.get(name)}` : name))
    .replaceAll(/\s+/g, ' ')
    .replaceAll('( ', '(')
    .trim();
}

/** The text with the values of its enumerations in place of their names. */
function withNumbers(kernel: string, whole: string): string {
  const enums = [...whole.matchAll(/^enum (?:Launch|State|Entry)Word \{([^}]*)\}/gm)].map(([, list]) => list).join();
  const values = new Map([...enums.matchAll(/(\w+) = (\d+)/g)].map(([, name = '', value]) => [name, Number(value)]));
  return kernel
    .replaceAll(/\b[A-Z][A-Z_]+\b/g, (name) => String(values.get(name) ?? name))
    .replaceAll(/\[(\d+) \+ (\d+)\]/g, (_, a, b) => `[${Number(a) + Number(b)}]`);
}
