import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emitC } from '../src/workload/words/emit/emit.js';
import { byTier, isShort } from './tier.js';

const run = promisify(execFile);
const here = fileURLToPath(new URL('words-c', import.meta.url));
const compiler = await run('cc', ['--version']).then(
  () => undefined,
  () => 'no C compiler',
);

/** The C library that `millrace words --emit-c` writes, built and used by C programs. */
describe('the C library', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-c-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const flags = ['-std=c11', '-Wall', '-Wextra', '-Werror', '-fno-strict-aliasing', '-pthread', `-I${folder}`];

  /** Compiled once for all programs. */
  const library = join(folder, 'millrace_words.o');
  beforeAll(async () => {
    emitC(folder);
    if (!compiler) await run('cc', [...flags, '-O2', '-c', '-o', library, join(folder, 'millrace_words.c')]);
  });

  test.for(['words', 'errors', 'device', 'several'])('%s.c builds and passes', async (name, ctx) => {
    if (compiler) return ctx.skip(compiler);
    const program = join(folder, name);
    const rounds = `-DROUNDS=${byTier(100, 400)}`;
    await run('cc', [...flags, '-O2', rounds, '-o', program, join(here, `${name}.c`), library]);
    expect((await run(program)).stdout).toBe('ok\n');
  });

  test.skipIf(isShort)('accesses only its own memory', async (ctx) => {
    if (compiler) return ctx.skip(compiler);
    const program = join(folder, 'sanitized');
    // Not alignment: the kernel stores words at any address, which x86 and ARM allow.
    const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize=alignment', '-fno-sanitize-recover=all'];
    const sources = ['-DROUNDS=400', join(here, 'words.c'), join(folder, 'millrace_words.c')];
    const built = await run('cc', [...flags, ...sanitizers, '-O1', '-g', '-o', program, ...sources]).then(
      () => true,
      () => false,
    );
    if (!built) return ctx.skip('the compiler has no sanitizers');
    expect((await run(program)).stdout).toBe('ok\n');
  });

  test('declares the whole interface', () => {
    const header = readFileSync(join(folder, 'millrace_words.h'), 'utf8');
    const declared = new Set([...header.matchAll(/\b(wg_\w+)\(/g)].map(([, name]) => name));
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
  });
});
