import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { build } from '../src/device/conformance/fuzz/build.js';
import { generate } from '../src/device/conformance/fuzz/generate.js';
import { Random } from '../src/device/conformance/model/random.js';
import {
  aes,
  array,
  checkProgram,
  decodeKernel,
  encodeKernel,
  type Field,
  fn,
  interpret,
  items,
  type Kernel,
  kernelText,
  loop,
  MillraceError,
  type Program,
  RING_HEADER_WORDS,
  rw,
  table,
  u32,
} from '../src/kernel/index.js';
import { encodings } from './kernels-as-data/encoding.js';
import { mutate } from './kernels-as-data/mutations.js';
import { byTier, isLong, patience } from './tier.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The most processor time that one input may take: decoding it, and running and printing what came of it. */
const MAX_MS = patience(2000);
/**
 * The most that all inputs together may add to the process's peak, garbage included, and to the heap without garbage. Tests
 * collect garbage from 512 MiB on (vitest.config.ts): half a million inputs add 640 MiB.
 */
const MAX_PEAK_BYTES = 2 ** 30;
const MAX_HEAP_BYTES = 32 << 20;

/** Runs a kernel from elsewhere for two items on small inputs, and prints it. Only errors of Millrace may come of it. */
function exercise(kernel: Kernel, program: Program): void {
  const valuesOf = (fields: readonly Field[]) =>
    Object.fromEntries(
      fields
        .filter(({ name }) => !name.startsWith('.'))
        .map(({ name, type, length, array }) => {
          const value = type === 'bool' ? true : type === 'u64' ? 3n : 3;
          return [name, array ? Array.from({ length }, () => value) : value];
        }),
    );
  const attempt = (action: () => unknown) => {
    try {
      action();
    } catch (error) {
      if (!(error instanceof MillraceError)) throw error;
    }
  };
  const buffers = Object.fromEntries(program.buffers.map(({ name }) => [name, new Uint8Array(4096)]));
  const ring = new Uint8Array(4096 + RING_HEADER_WORDS);
  const [job, chunk] = [valuesOf(program.job), valuesOf(program.chunk)];
  attempt(() => interpret(program, { job, chunk, count: 2, buffers, ring, itemSteps: 2000 }));
  for (const target of byTier(['c'] as const, ['c', 'wat', 'cuda', 'wgsl'] as const))
    attempt(() => kernelText(kernel, { target }));
}

const hashes = items('hashes', { job: { seed: [u32, 2] }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
  const words = array(u32, 4);
  const primes = table(u32, [2, 3, 5, job.seed[0]]);
  loop(3, (i) => {
    words.set(i, aes.round([item, i, 1, 2], [item, 5, 6, job.seed[1]])[0] as never);
    buffers.out.set(i, words.at(i).add(primes.at(i)));
  });
}) as unknown as Kernel;

const calls = items('calls', { job: { n: u32 }, buffers: { out: rw(u32) } }, ({ item, job, buffers }) => {
  const inner = fn('inner', { x: u32 }, ({ x }) => x.mul(3).add(1));
  const outer = fn('outer', { x: u32, y: u32 }, ({ x, y }) => ({ sum: inner({ x }).add(inner({ x: y })), y }));
  const { sum, y } = outer({ x: item, y: job.n });
  buffers.out.set(item, outer({ x: sum, y }).sum);
}) as unknown as Kernel;

test('mutated bytes are refused, or are a kernel that can be run', { timeout: patience(14_400_000) }, () => {
  const seeds = byTier([2, 5], [2, 3, 5, 8, 13, 21]);
  const sources = seeds.map((seed) => build(generate(new Random(seed), seed % 2 === 0 ? 'tiles' : 'items')));
  const encoded = [...sources, hashes, calls].flatMap(encodings);
  const random = new Random(26);
  const count = byTier(60, 6000, 1_000_000);
  const sizes = () => ({ heap: process.memoryUsage().heapUsed, peak: process.resourceUsage().maxRSS * 1024 });
  collectGarbage();
  const before = sizes();
  let valid = 0;
  let slowest = 0;
  for (let i = 0; i < count; i++) {
    const bytes = mutate(random, encoded);
    const start = process.cpuUsage();
    try {
      const kernel = decoded(bytes);
      if (!kernel) continue;
      valid++;
      const program = kernel.trace();
      checkProgram(program);
      expect(Buffer.from(encodeKernel(kernel)).equals(bytes)).toBe(true);
      if (valid % byTier(4, 2, 10) === 0) exercise(kernel, program);
    } catch (error) {
      throw new Error(`mutation ${i}: ${Buffer.from(bytes).toString('hex')}`, { cause: error });
    } finally {
      const { user, system } = process.cpuUsage(start);
      const took = (user + system) / 1000;
      slowest = Math.max(slowest, took);
      expect(took, `milliseconds for mutation ${i}: ${Buffer.from(bytes).toString('hex')}`).toBeLessThan(MAX_MS);
    }
  }
  collectGarbage();
  const after = sizes();
  const grown = { heap: after.heap - before.heap, peak: after.peak - before.peak };
  if (isLong) console.info({ count, valid, slowest, ...grown });
  expect(grown.heap).toBeLessThan(MAX_HEAP_BYTES);
  expect(grown.peak).toBeLessThan(MAX_PEAK_BYTES);
  expect(valid).toBeGreaterThan(count / 50); // else the mutations test the format alone
  expect(valid).toBeLessThan(count);
});

/** The kernel; undefined if the bytes are refused. */
function decoded(bytes: Uint8Array): Kernel | undefined {
  try {
    return decodeKernel(bytes, { limits: { statements: 20_000 } });
  } catch (error) {
    if (error instanceof MillraceError) return undefined;
    throw error;
  }
}
