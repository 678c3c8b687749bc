/**
 * Compiles every variant of the SHA-256d kernel for an H200 and prints the rate that the model of its pipes predicts. Writes
 * the files for the machine with the GPU to .gpu/speed: see `run.c`.
 *
 *   npx rolldown test/speed/prepare.ts --platform node -o .gpu/speed/prepare.mjs && node .gpu/speed/prepare.mjs [NAME…]
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { countsOf, predicted } from './model.js';
import { hotPath, instructions } from './sass.js';
import { NONCE, type Prepared, prepare, variants } from './variants.js';

const folder = join('.gpu', 'speed');
const REGISTERS = 65536; // per multiprocessor
const run = promisify(execFile);

const asked = process.argv.slice(2);
const chosen = variants.filter(({ name }) => asked.length === 0 || asked.includes(name));
await mkdir(folder, { recursive: true });
const texts = await mkdtemp(join(tmpdir(), 'millrace-speed-'));
const prepared = chosen.map(prepare);
console.log('variant                          regs   alu   fma issue  bank 0  bank 1   GH/s, predicted');
for (let i = 0; i < prepared.length; i += 2) {
  const lines = await Promise.all(prepared.slice(i, i + 2).map(compile));
  for (const line of lines) console.log(line);
}
await writeFile(join(folder, 'manifest.txt'), [`nonce ${NONCE}`, ...prepared.flatMap(manifest), ''].join('\n'));

await rm(texts, { recursive: true });

/** Returns a line of clocks per warp of each pipe and register bank, and the prediction without and with reuse. */
async function compile({ variant: { name, options = [] }, text, workgroup }: Prepared): Promise<string> {
  const [source, cubin] = [join(texts, `${name}.cu`), join(folder, `${name}.cubin`)];
  await writeFile(source, text);
  const flags = ['-cubin', '-arch=sm_90', '-O3', '-std=c++17', '--fmad=false', '-Xptxas', '-v', ...options];
  const { stderr } = await run('nvcc', [...flags, '-o', cubin, source]);
  const registers = Number(stderr.match(/Used (\d+) registers/)?.[1]);
  const path = hotPath(instructions(await readFile(cubin), 'millrace_range'));
  const { alu, fma, issue, banks } = countsOf(path);
  const groups = Math.min(2048 / workgroup, Math.floor(REGISTERS / (8 * Math.ceil(registers / 8) * workgroup)));
  const warps = Math.floor((groups * workgroup) / 32 / 4);
  const rates = [false, true].map((reuse) => (predicted(path, warps, reuse) / 1e9).toFixed(2));
  const numbers = [alu, fma, issue].map((n) => String(n).padStart(5)).join(' ');
  const spills = /[1-9]\d* bytes spill/.test(stderr) ? ' spills' : '';
  const reads = banks.map((n) => String(n).padStart(7)).join(' ');
  return `${name.padEnd(32)} ${String(registers).padStart(4)} ${numbers} ${reads}   ${rates.join(' to ')}${spills}`;
}

function manifest({ variant: { name, waves = 1 }, workgroup, scans }: Prepared): string[] {
  return [
    `variant ${name} ${workgroup} ${waves} ${scans[0]?.words.length}`,
    ...scans.map((scan) => `${scan.name} ${scan.count} ${[...scan.words].map((word) => word.toString(16)).join(' ')}`),
  ];
}
