import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { isShort } from './tier.js';

const root = fileURLToPath(new URL('..', import.meta.url));

/** A module with one mistake per marked line, and the end of what TypeScript says about it. */
const mistakes: readonly (readonly [code: string, end: string])[] = [
  [
    'search(marked, { space: 9n });',
    "Property 'job' is missing in type '{ space: bigint; }' but required in type '{ readonly job: { readonly every: number; }; }'.",
  ],
  [
    'search(marked, { space: 9n, job: {} });',
    "error TS2741: Property 'every' is missing in type '{}' but required in type '{ readonly every: number; }'.",
  ],
  [
    "search(marked, { space: 9n, job: { every: '3' } });",
    "error TS2322: Type 'string' is not assignable to type 'number'.",
  ],
  [
    "search(plain, { space: 9n, mode: 'frist' });",
    `error TS2820: Type '"frist"' is not assignable to type 'SearchMode | undefined'. Did you mean '"first"'?`,
  ],
  [
    'search(writes, { space: 9n });',
    'is not assignable to type \'"search() needs a kernel that declares `hit` in its signature"\'.',
  ],
  [
    'generate(scaled, { space: 9n, rowBytes: 4 });',
    "Property 'job' is missing in type '{ space: bigint; rowBytes: number; }' but required in type '{ readonly job: { readonly by: number; }; }'.",
  ],
];

// src/engine/flow/values.test-d.ts has the same mistakes, without the texts.
test.skipIf(isShort)('TypeScript says once what is wrong with a job', async () => {
  const head = `import { generate, items, rw, search, u32 } from ${JSON.stringify(join(root, 'dist/index.js'))};
const marked = items('marked', { job: { every: u32 }, hit: { n: u32 } }, ({ job, emit }) => emit({ n: job.every }));
const plain = items('plain', { hit: { n: u32 } }, ({ index, emit }) => emit({ n: index.lo }));
const writes = items('writes', { buffers: { y: rw(u32) } }, ({ item, buffers }) => buffers.y.set(item, 1));
const scaled = items('scaled', { job: { by: u32 }, buffers: { y: rw(u32) } }, ({ item, job, buffers }) => {
  buffers.y.set(item, job.by);
});
`;
  const folder = mkdtempSync(join(tmpdir(), 'millrace-types-'));
  try {
    const file = join(folder, 'wrong.ts');
    writeFileSync(file, `${head}${mistakes.map(([code]) => `${code}\n`).join('')}`);
    const options = '--ignoreConfig --noEmit --strict --target es2022 --module nodenext --skipLibCheck --types node';
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const text = await promisify(execFile)(process.execPath, [
      ...[tsc, ...options.split(' ')],
      ...['--typeRoots', join(root, 'node_modules/@types'), file],
    ]).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    );
    const errors = text.split(/\n(?=\S)/).map((error) => ({
      line: Number(/wrong\.ts\((\d+),/.exec(error)?.[1]),
      end: error.trim().split('\n').at(-1) ?? '',
    }));
    const first = head.split('\n').length;
    expect(errors).toEqual(
      mistakes.map(([, end], at) => ({ line: first + at, end: expect.stringMatching(endOf(end)) })),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const endOf = (text: string) => new RegExp(`${text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
