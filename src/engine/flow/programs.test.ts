import { expect, test } from 'vitest';
import type { CompileOptions, Device, DeviceProgram } from '../../device/device.js';
import { items, type Kernel, rw } from '../../kernel/index.js';
import { LruCache } from '../telemetry/lru-cache.js';
import { leaseProgram, leasePrograms, programOf } from './programs.js';

/** A device that logs the programs it compiles and closes, in order. */
function watched(): { readonly device: Device; readonly log: string[] } {
  const log: string[] = [];
  const compile = async ({ name }: Kernel, options?: CompileOptions): Promise<DeviceProgram> => {
    if (name === 'bad') throw new Error('it cannot be compiled');
    log.push(`compile ${name}${options?.lanes ?? ''}`);
    return { name, close: () => log.push(`close ${name}`) } as unknown as DeviceProgram;
  };
  return { device: { compile } as unknown as Device, log };
}

const kernel = (name: string): Kernel =>
  items(name, { buffers: { x: rw('u32') } }, ({ item, buffers }) => buffers.x.set(item, item)) as unknown as Kernel;
const many = Array.from({ length: 100 }, (_, i) => kernel(`k${i}`));
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('jobs with the same kernel and options share a program', async () => {
  const { device, log } = watched();
  const [one, other] = [kernel('one'), kernel('one')];
  const programs = await Promise.all([one, one, other].map((asked) => programOf(device, asked)));
  expect(programs[0]).toBe(programs[1]);
  expect(programs[2]).not.toBe(programs[0]);
  await programOf(device, one, { lanes: 4 });
  expect(log).toEqual(['compile one', 'compile one', 'compile one4']);
});

test('the 64 most recent programs without a lease stay loaded; a leased program always does', async () => {
  const { device, log } = watched();
  const held = await leaseProgram(device, many[0]!);
  for (const one of many.slice(1, 70)) (await leaseProgram(device, one)).release();
  await turn();
  expect(log.filter((line) => line.startsWith('close'))).toEqual(
    ['k1', 'k2', 'k3', 'k4', 'k5'].map((n) => `close ${n}`),
  );
  (await leaseProgram(device, many[6]!)).release(); // is now the most recently used
  (await leaseProgram(device, many[70]!)).release();
  await turn();
  expect(log.at(-1)).toBe('close k7');
  expect(log).not.toContain('close k0');
  held.release();
  held.release();
  await turn();
  expect(log.at(-1)).toBe('close k0'); // the least recently used
  (await leaseProgram(device, many[0]!)).release();
  expect(log.filter((line) => line === 'compile k0')).toHaveLength(2);
});

test('a program given out without a lease is evicted, not closed', async () => {
  const { device, log } = watched();
  for (const one of many) await programOf(device, one);
  await turn();
  expect(log.filter((line) => line.startsWith('close'))).toEqual([]);
  await programOf(device, many[0]!);
  expect(log.at(-1)).toBe('compile k0');
});

test('programs are leased together or not at all: a failed compile releases the others', async () => {
  const { device, log } = watched();
  const wanted = [
    ['good', many[0]!],
    ['bad', kernel('bad')],
  ] as const;
  await expect(leasePrograms(device, wanted)).rejects.toThrow('it cannot be compiled');
  for (const one of many.slice(1, 66)) (await leaseProgram(device, one)).release();
  await turn();
  expect(log).toContain('close k0');
});

test('LruCache evicts the least recently used value', () => {
  const recent = new LruCache<object>(2);
  const [a, b] = [recent.get('a', () => ({})), recent.get('b', () => ({}))];
  expect(recent.get('a', () => ({}))).toBe(a);
  recent.get('c', () => ({}));
  expect(recent.get('a', () => ({}))).toBe(a);
  expect(recent.get('b', () => ({}))).not.toBe(b);
});
