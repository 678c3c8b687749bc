import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { millrace } from './command-line.js';
import { isShort } from './tier.js';

/**
 * docs/guide.md, block by block, in one folder: a block with a file name is written there, others run, and a block of text
 * is what the block before it prints.
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const guide = readFileSync(join(root, 'docs', 'guide.md'), 'utf8');

interface Block {
  readonly language: string;
  readonly file: string;
  readonly code: string;
  readonly output: string | undefined;
}

const found = [...guide.matchAll(/^```(\w+) ?(\S*)\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', file = '', code = '']) => ({
    language,
    file,
    code,
  }),
);
const blocks: Block[] = found.flatMap((block, at) => {
  const next = found[at + 1];
  return block.language === 'text' ? [] : { ...block, output: next?.language === 'text' ? next.code : undefined };
});

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-guide-'));
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(root, join(folder, 'node_modules', 'millrace'), 'junction');
  for (const { file, code } of blocks) if (file !== '') writeFileSync(join(folder, file), code);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('there are blocks of each kind, and no others', () => {
  expect(new Set(blocks.map(({ language }) => language))).toEqual(new Set(['js', 'sh']));
  expect(blocks.length).toBeGreaterThan(7);
});

const trimmed = (text: string): string => text.replaceAll(/ +$/gm, '');

test.for(blocks.filter(({ file }) => file === '').map((block) => [block.code.split('\n', 1)[0], block] as const))(
  '%s',
  async ([, { language, code, output }], { skip }) => {
    if (isShort && language === 'js') return skip('each starts a process: npm run test:all');
    const printed = language === 'js' ? await runModule(code) : await runCommands(code);
    if (output === undefined) expect(printed).not.toBe('');
    else expect(trimmed(printed)).toBe(output);
  },
);

async function runModule(code: string): Promise<string> {
  const file = join(folder, 'block.mjs');
  writeFileSync(file, code);
  return (await promisify(execFile)(process.execPath, [file], { cwd: folder })).stdout;
}

async function runCommands(code: string): Promise<string> {
  let printed = '';
  for (const line of code.trim().split('\n')) {
    const [name, ...args] = line.split(' ');
    expect(name).toBe('millrace');
    const { status, stdout, stderr } = await millrace([...args, '--device', 'wasm', '--no-ledger'], { cwd: folder });
    expect([status, stderr.includes('error')], line).toEqual([0, false]);
    printed += stdout;
  }
  return printed;
}
