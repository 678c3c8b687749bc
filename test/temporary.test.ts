import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { replaceFileSync, temporaryFile, temporaryFolder } from '../src/device/cache/temporary.js';
import { start } from './command-line.js';

/** Temporary files and folders of dead processes are removed, those of live ones never. */
const root = await mkdtemp(join(tmpdir(), 'millrace-test-'));
const children: ChildProcess[] = [];
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(root, { recursive: true, force: true });
});
let folders = 0;
function folder(): string {
  const path = join(root, String(folders++));
  mkdirSync(path);
  return path;
}

/** Starts another process that makes a temporary file or folder and holds it; returns its name. */
async function holder(make: string): Promise<{ child: ChildProcess; name: string }> {
  const url = new URL('../dist/device/cache/temporary.js', import.meta.url).href;
  const text = `const t = await import('${url}'); console.log((await ${make}).path); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const [first] = await new Promise<Buffer[]>((resolve) => child.stdout?.once('data', (...given) => resolve(given)));
  return { child, name: `${first}`.trim().split('/').at(-1) ?? '' };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
}

test('a new file removes that of a killed process for the same target, and no file of a live process', async () => {
  const place = folder();
  const target = join(place, 'out.npy');
  const dead = await holder(`t.temporaryFile(${JSON.stringify(target)})`);
  await kill(dead.child);
  const live = await holder(`t.temporaryFile(${JSON.stringify(target)})`);
  expect(readdirSync(place)).toEqual([live.name]); // the second process removed what the first left
  const other = await holder(`t.temporaryFile(${JSON.stringify(join(place, 'other.npy'))})`);
  await kill(other.child);
  writeFileSync(join(place, '.out.npy.0123456789ab.tmp'), 'of an older version, which locks nothing');
  symlinkSync('/dev/null', join(place, `.out.npy.${process.pid}-0123456789ab.tmp`));
  const before = readdirSync(place).sort();
  const own = await temporaryFile(target);
  await own.file.writeFile('whole');
  expect(readdirSync(place)).toHaveLength(before.length + 1);
  await own.commit();
  expect(readdirSync(place).sort()).toEqual([...before, 'out.npy'].sort());
  expect(readFileSync(target, 'utf8')).toBe('whole');
  await kill(live.child);
  await (await temporaryFile(target)).discard();
  expect(readdirSync(place).sort()).toEqual([...before, 'out.npy'].filter((name) => name !== live.name).sort());
});

test('a new folder removes that of a killed process; folders of this process stay until removed', async () => {
  const place = folder();
  const dead = await holder(`t.temporaryFolder(${JSON.stringify(place)}, '.new-')`);
  writeFileSync(join(place, dead.name, 'half'), 'a program');
  await kill(dead.child);
  const first = temporaryFolder(place, '.new-');
  const second = temporaryFolder(place, '.new-');
  expect(
    readdirSync(place)
      .map((name) => join(place, name))
      .sort(),
  ).toEqual([first.path, second.path].sort());
  first.remove();
  second.remove();
  expect(readdirSync(place)).toEqual([]);
});

test('a name of 255 bytes can have a temporary file', async () => {
  const place = folder();
  const name = 'n'.repeat(255);
  replaceFileSync(join(place, name), 'text');
  await (await temporaryFile(join(place, name))).discard();
  expect(readdirSync(place)).toEqual([name]);
  expect(readFileSync(join(place, name), 'utf8')).toBe('text');
});

test('encode -o leaves nothing behind when it was killed and has run again', async () => {
  const place = folder();
  const [samples, out] = [join(place, 'samples.f64'), join(place, 'states.npy')];
  writeFileSync(samples, new Uint8Array(Float64Array.from({ length: 2 ** 20 }, (_, i) => i + 1).buffer));
  const args = ['encode', samples, '--length', '2', '--device', 'wasm', '-o', out, '--batch-size', '16', '--json'];
  const killed = start(args);
  await killed.until(({ event }) => event === 'device');
  killed.child.kill('SIGKILL');
  await killed.ended.catch(() => undefined);
  expect(readdirSync(place).filter((name) => name.endsWith('.tmp'))).toHaveLength(1);
  const { status } = await start(['encode', samples, '--length', '65536', '--device', 'wasm', '-o', out]).ended;
  expect(status).toBe(0);
  expect(readdirSync(place).sort()).toEqual(['samples.f64', 'states.npy']);
});
