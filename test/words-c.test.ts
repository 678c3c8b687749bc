import { type ExecFileOptions, execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exportC } from '../src/export/c.js';
import { exportTargets } from '../src/export/request.js';
import { writeFiles } from '../src/export/write.js';
import { exportedWords } from '../src/workload/words/library/exported.js';
import { type Mask, parseMask } from '../src/workload/words/space/mask.js';
import { PlainWords } from '../src/workload/words/space/plain.js';
import { parseRequest, type WordRequest } from '../src/workload/words/space/request.js';
import { buildFake, type Fake } from './cuda/fake.js';
import { clang, compiler, ownLeaks, thisArch } from './export/build.js';
import { openClShim } from './export/opencl.js';
import { byTier, isShort } from './tier.js';
import { right } from './words/goldens.js';

const run = promisify(execFile);
const here = fileURLToPath(new URL('words-c', import.meta.url));
const KERNEL_FLAGS = ['-std=gnu11', '-fno-strict-aliasing', '-fwrapv'];
const STRICT = ['-std=c11', '-Wall', '-Wextra', '-Wconversion', '-Werror'];

/** The C library of `millrace export words`, built and used by C programs. */
describe('the C library', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-words-c-'));
  const request = { kernel: exportedWords(), name: 'words', targets: exportTargets };
  let fake: Fake | { readonly reason: string };
  let shim: Awaited<ReturnType<typeof openClShim>>;
  beforeAll(async () => {
    writeFiles(folder, exportC(request, { arch: thisArch }));
    if (!compiler) await compile('plain', byTier(['-O0'], ['-O1']));
    fake = isShort ? { reason: 'a short run' } : await buildFake();
    shim = isShort || compiler ? { reason: 'a short run' } : await openClShim(folder);
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    if (fake && 'remove' in fake) await fake.remove();
  });

  const objects = (kind: string): string[] => {
    const at = join(folder, kind);
    return readdirSync(at).map((name) => join(at, name));
  };
  /** Compiles the library once for all programs. */
  async function compile(kind: string, flags: readonly string[], cc = 'gcc'): Promise<void> {
    mkdirSync(join(folder, kind));
    const sources = readdirSync(folder).filter((name) => name.endsWith('.c') && name !== 'example.c');
    for (const name of sources) {
      const own = /^(millrace_runtime|wordlist_generator)\.c$/.test(name) ? STRICT : KERNEL_FLAGS;
      const out = join(folder, kind, `${name}.o`);
      await run(cc, [...own, ...flags, '-g', `-I${folder}`, '-c', '-o', out, join(folder, name)]);
    }
  }
  async function link(name: string, kind = 'plain', flags: readonly string[] = [], from = here): Promise<string> {
    const out = join(folder, `${name}.${kind}`);
    const common = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-O1', '-g', ...flags, `-I${folder}`];
    const many = kind === 'small' ? 200_000 : byTier(200_000, 8_000_000);
    const sizes = [`-DROUNDS=${byTier(20, 300)}`, `-DMANY=${many}`, `-DTURNS=${byTier(2, 20)}`];
    const source = join(from, `${name}.c`);
    await run('gcc', [...common, ...sizes, '-o', out, source, ...objects(kind), '-lm', '-ldl', '-lpthread']);
    return out;
  }

  /** The environment of a device, or why it is not here. */
  function environmentOf(device: string): ExecFileOptions['env'] | { readonly reason: string } {
    const [name = '', face] = device.split(' as ');
    const common = { ...process.env, MILLRACE_DEVICE: name, MILLRACE_EXPORT_CACHE: join(folder, 'cache') };
    if (device.startsWith('cuda')) return 'reason' in fake ? fake : { ...common, ...fake.environment };
    if (!device.startsWith('opencl')) return common;
    return 'reason' in shim ? shim : { ...common, ...shim(face === 'gpu' ? 'gpu' : 'own') };
  }

  const devices = byTier(['cpu:2'], ['cpu:2', 'opencl', 'opencl as gpu', 'cuda']);
  const programs = byTier(['words', 'errors'], ['words', 'errors', 'device', 'several', 'threads', 'caller']);
  test.for(devices.flatMap((device) => programs.map((name) => [name, device] as const)))(
    '%s.c passes on %s',
    async ([name, device], ctx) => {
      if (compiler) return ctx.skip(compiler);
      const env = environmentOf(device);
      if (env && 'reason' in env) return ctx.skip(String(env.reason));
      expect(await run(await link(name), { env })).toEqual({ stdout: 'ok\n', stderr: '' });
      if (device === 'cuda' && 'calls' in fake)
        expect(fake.calls().filter((call) => call.name === 'MISUSE')).toEqual([]);
    },
  );

  test.skipIf(isShort)('several kinds of devices share a batch', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const env = environmentOf('cpu:1,cpu:2');
    expect((await run(await link('several'), { env: env as NodeJS.ProcessEnv })).stdout).toBe('ok\n');
  });

  test.skipIf(isShort)('uses a caller’s context and stream', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const env = environmentOf('cuda');
    if (env && 'reason' in env) return ctx.skip(String(env.reason));
    if ('calls' in fake) fake.clearCalls();
    expect((await run(await link('stream'), { env })).stdout).toBe('ok\n');
    const calls = 'calls' in fake ? fake.calls() : [];
    const count = (name: string): number => calls.filter((call) => call.name === name).length;
    expect(calls.filter((call) => call.name === 'MISUSE')).toEqual([]);
    // 200 batches in turns allocate and open nothing.
    expect(count('cuLaunchKernel')).toBeGreaterThan(200);
    expect(count('cuMemAllocAsync') + count('cuMemAlloc')).toBeLessThan(20);
    expect([count('cuStreamCreate'), count('cuMemHostAlloc')].every((number) => number < 20)).toBe(true);
  });

  test.skipIf(isShort).for(devices)('writes the recorded words on %s', async (device, ctx) => {
    if (compiler) return ctx.skip(compiler);
    const env = environmentOf(device);
    if (env && 'reason' in env) return ctx.skip(String(env.reason));
    const cases = recorded();
    expect(cases.length).toBeGreaterThan(50);
    const ways = ['host', 'device', 'several'];
    const lines = cases.flatMap(({ parts, format }, at) =>
      parts.map(({ mask, start, count }) => {
        const sets = mask.map((charset) => Buffer.from(charset.join(''), 'latin1').toString('hex'));
        return [format, start, count, ways[at % ways.length], mask.length, ...sets].join(' ');
      }),
    );
    const { stdout, status, stderr } = spawnSync(await link('golden'), {
      env: env as NodeJS.ProcessEnv,
      input: `${lines.join('\n')}\n`,
      maxBuffer: 1 << 30,
    });
    expect([status, String(stderr)]).toEqual([0, '']);
    let at = 0;
    for (const { parts, format, sha256 } of cases) {
      const from = at;
      for (const { mask, count } of parts) at += Number(count) * (mask.length + (format === 2 ? 0 : 1));
      expect(createHash('sha256').update(stdout.subarray(from, at)).digest('hex')).toBe(sha256);
    }
    expect(at).toBe(stdout.length);
  });

  test.skipIf(isShort).for([
    ['address', ['-fsanitize=address,undefined', '-fno-sanitize=alignment', '-fno-sanitize-recover=all']],
    ['thread', ['-fsanitize=thread']],
  ] as const)('passes with the sanitizer of %s', async ([kind, flags], ctx) => {
    if (compiler) return ctx.skip(compiler);
    const built = await compile(kind, ['-O1', ...flags]).then(
      () => true,
      () => false,
    );
    if (!built) return ctx.skip('the compiler has no sanitizers');
    // The fake CUDA has a thread for each stream.
    for (const device of kind === 'thread' ? ['cpu:2', 'cuda'] : ['cpu:2']) {
      const env = environmentOf(device);
      if (env && 'reason' in env) continue;
      for (const name of ['errors', 'device', 'several', 'threads'])
        expect((await run(await link(name, kind, flags), { env })).stdout).toBe('ok\n');
    }
  });

  test.skipIf(isShort)('joins the parts of batches that take many launches', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const sizes = {
      MAX_LAUNCH_BYTES: 65536,
      DIRECT_BYTES: 20000,
      STAGED_BYTES: 7000,
      COPY_BYTES: 500,
      CPU_BYTES: 30000,
    };
    const small = Object.entries(sizes).map(([name, bytes]) => `-D${name}=${bytes}`);
    await compile('small', ['-O1', ...small]);
    for (const device of ['cpu:2', 'cuda']) {
      const env = environmentOf(device);
      if (env && 'reason' in env) continue;
      for (const name of ['words', 'device', 'several'])
        expect((await run(await link(name, 'small'), { env })).stdout).toBe('ok\n');
    }
  });

  test.skipIf(isShort)('turns each failure of the system into a code and a text', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const hook = join(folder, 'fault.h');
    writeFileSync(hook, 'int fault(const char *what);\n#define MR_FAULT(what) fault(what)\n');
    const flags = ['-fsanitize=address,undefined', '-fno-sanitize=alignment', '-fno-sanitize-recover=all'];
    const built = await compile('faults', ['-O1', ...flags, '-include', hook]).then(
      () => true,
      () => false,
    );
    if (!built) return ctx.skip('the compiler has no sanitizers');
    for (const device of ['cpu:2', 'cpu:1,cpu:2', 'opencl', 'opencl as gpu', 'cuda']) {
      const env = environmentOf(device);
      if (env && 'reason' in env) continue;
      const { stdout, stderr } = await run(await link('faults', 'faults', flags), {
        env: { ...env, LSAN_OPTIONS: ownLeaks },
      });
      expect(stderr).toBe('');
      expect(Number(/^ok, \d+ calls, (\d+) failures/.exec(stdout)?.[1])).toBeGreaterThan(100);
    }
  });

  test.skipIf(isShort)('has a header for C99 and C++17, with and without the CUDA toolkit', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const flags = ['-Wall', '-Wextra', '-Werror', '-fsyntax-only', `-I${folder}`];
    const toolkit = '/usr/local/cuda/include';
    for (const cc of ['gcc', ...(clang ? [] : ['clang'])])
      for (const include of [[], [`-I${toolkit}`]])
        for (const language of [['-std=c99'], ['-std=c11'], ['-std=c++17', '-x', 'c++']])
          await run(cc, [...language, ...flags, ...include, join(here, 'caller.c')]);
  });

  test.skipIf(isShort)('builds with clang', async (ctx) => {
    if (clang) return ctx.skip(clang);
    await compile('clang', ['-O1'], 'clang');
    for (const name of ['words', 'errors'])
      expect((await run(await link(name, 'clang'), { env: environmentOf('cpu:2') as NodeJS.ProcessEnv })).stdout).toBe(
        'ok\n',
      );
  });

  test('declares the whole interface', () => {
    const header = readFileSync(join(folder, 'wordlist_generator.h'), 'utf8');
    const declared = new Set([...header.matchAll(/^[\w ]+\W(wg_\w+)\(/gm)].map(([, name]) => name));
    const single =
      'create destroy set_charset set_mask set_format keyspace_size calculate_buffer_size get_error generate_batch_host generate_batch_device free_batch_device generate_batch_stream get_version cuda_available get_device_count get_device_info';
    const several = 'create create_with_devices set_charset set_mask set_format generate get_device_count destroy';
    const missing = 'word_to_index get_device_properties set_output_format';
    const names = [
      ...`${single} ${missing}`.split(' ').map((name) => `wg_${name}`),
      ...several.split(' ').map((name) => `wg_multigpu_${name}`),
    ];
    expect(names).toHaveLength(27);
    expect([...declared].sort()).toEqual(names.sort());
    const readme = readFileSync(join(folder, 'README.md'), 'utf8');
    for (const name of names) expect(readme).toContain(`${name}(`);
  });

  test('has an example that writes words', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const program = await link('example', 'plain', [], folder);
    const { stdout } = await run(program, ['cpu:1'], { env: environmentOf('cpu:1') as NodeJS.ProcessEnv });
    expect(stdout).toMatch(/: 67600 words, of which 99 to 101 are\naa99\nab00\nab01\n67600 words of 5 bytes/);
    await expect(run(program, ['tpu'])).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/"tpu"/) });
  });

  test('takes the name of the export', () => {
    const files = exportC({ ...request, name: 'other', targets: ['cpu'] }, { arch: thisArch });
    const source = files.find(({ path }) => path === 'wordlist_generator.c')?.text ?? '';
    expect(source).toContain('#include "other.h"');
    expect(source).toContain('other_launch(stream');
    expect(source).not.toMatch(/\bwords_(job|chunk|buffers|launch|params_from_job)\b/);
    expect(files.find(({ path }) => path === 'Makefile')?.text).toContain('cp other.h wordlist_generator.h');
  });
});

interface Recorded {
  /** Words of several masks, one after the other. */
  readonly parts: readonly { readonly mask: Mask; readonly start: bigint; readonly count: bigint }[];
  readonly format: 0 | 1 | 2;
  readonly sha256: string;
}

/** The recorded words that the interface can express: canonical order, single bytes, no filter, indices below 2^64. */
function recorded(): Recorded[] {
  const data = (name: string): string => readFileSync(new URL(`data/words/${name}`, import.meta.url), 'utf8');
  const masks = ({ space, range }: WordRequest): Recorded['parts'] | undefined => {
    const parts = space.parts(range.start, range.start + range.length);
    const isPlain = parts.every(
      ({ words, to }) =>
        words instanceof PlainWords &&
        words.order === 'canonical' &&
        words.mask.every((charset) => charset.every((symbol) => symbol.length === 1)) &&
        to <= 1n << 64n,
    );
    return isPlain
      ? parts.map(({ words, from, to }) => ({ mask: words.mask, start: from, count: to - from }))
      : undefined;
  };
  const commands = right.flatMap(({ golden, asked }): Recorded[] => {
    if ('skipped' in asked || asked.asSet) return [];
    const parts = masks(parseRequest(asked.mask, asked.options));
    return parts ? [{ parts, format: 0, sha256: golden.sha256 }] : [];
  });
  interface Window {
    readonly mask: string;
    readonly custom: Readonly<Record<string, string>>;
    readonly start: string;
    readonly words: readonly string[];
  }
  const windows = (JSON.parse(data('golden_index_windows.json')) as Window[]).flatMap(
    ({ mask, custom, start, words }): Recorded[] => {
      const charsets = Object.fromEntries(Object.entries(custom).map(([id, text]) => [`charset${id}`, text]));
      const range = { skip: BigInt(start), limit: BigInt(words.length) };
      const parts = masks(parseRequest(mask, { order: 'canonical', format: 'newline', ...charsets, ...range }));
      const text = words.map((word) => `${word}\n`).join('');
      const sha256 = createHash('sha256').update(text, 'latin1').digest('hex');
      return parts ? [{ parts, format: 0, sha256 }] : [];
    },
  );
  const formats: Readonly<Record<string, 0 | 1 | 2>> = { newlines: 0, fixed_nul: 1, packed: 2 };
  const batches = data('golden_batches.tsv')
    .trim()
    .split('\n')
    .slice(1)
    .flatMap((line): Recorded[] => {
      const [mask = '', count = '', , format = '', , sha256 = ''] = line.split('\t');
      if (Number(count) > 1_000_000) return [];
      const parts = [{ mask: parseMask(mask), start: 0n, count: BigInt(count) }];
      return [{ parts, format: formats[format] ?? 0, sha256 }];
    });
  return [...commands, ...windows, ...batches];
}
