import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { isShort } from './tier.js';

/** The examples run unchanged, each in its own process. */
const run = async (name: string, ...args: string[]): Promise<Buffer> => {
  const file = fileURLToPath(new URL(`../examples/${name}.mjs`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...args], { encoding: 'buffer' });
  return stdout;
};

// test/readme runs another search as a program.
test.skipIf(isShort)('search: five numbers whose hash begins with 20 zero bits', async () => {
  const lines = (await run('search', 'wasm')).toString().trim().split('\n');
  const numbers = lines.map((line) => {
    const [index, digest] = line.split(' ');
    const message = Buffer.from('millrace....');
    message.writeUInt32BE(Number(index), 8);
    expect(createHash('sha256').update(message).digest('hex')).toBe(digest);
    expect(digest).toMatch(/^00000/);
    return Number(index);
  });
  // The smallest five, counted with node:crypto.
  expect(numbers).toEqual([70_619, 555_014, 898_857, 1_170_137, 2_129_093]);
});

test('generate: digests of numbers in order', async () => {
  const bytes = await run('generate', '3000', 'wasm');
  expect(bytes).toHaveLength(32 * 3000);
  const wanted = createHash('sha256');
  for (let k = 0; k < 3000; k++) {
    const message = Buffer.alloc(4);
    message.writeUInt32BE(k);
    wanted.update(createHash('sha256').update(message).digest());
  }
  expect(createHash('sha256').update(bytes).digest('hex')).toBe(wanted.digest('hex'));
});

test.skipIf(isShort)('transform: the brightness of pixels', async () => {
  let pixels = 0;
  let sum = 0;
  for (let size = 1; size < 5000; size *= 3) {
    for (let at = 0; at < size; at++) {
      const [blue = 0, green = 0, red = 0] = [16, 8, 0].map((by) => ((at * 0x010203) >> by) & 255);
      sum += (77 * red + 150 * green + 29 * blue) >> 8;
    }
    pixels += size;
  }
  expect((await run('transform', 'wasm')).toString()).toBe(`${pixels} pixels, total brightness ${sum}\n`);
});

// src/kernel/language/array.test.ts has the same key stream.
test.skipIf(isShort)('rc4: the key of a key stream of RFC 6229', async () => {
  expect((await run('rc4', 'wasm')).toString()).toBe('key 0102030405\n');
});

test.skipIf(isShort).each(['md5', 'sha256'])('mask: a word by its %s', async (name) => {
  const digest = createHash(name).update('dog42').digest('hex');
  const [word, rate] = (await run('mask', 'wasm', name, '?l?l?l?d?d', digest)).toString().split('\n');
  expect(word).toBe('dog42');
  expect(rate).toMatch(/^[\d.e+-]+ GH\/s$|^$/);
});

test.skipIf(isShort)('pi: the same points as the generator in bigint', async () => {
  const inside = (x: number, y: number) => Math.fround(Math.fround(x * x) + Math.fround(y * y)) < 1;
  let hits = 0;
  for (let index = 0; index < 8; index++) {
    for (let block = 0; block < 256; block++) {
      const [a, b, c, d] = philox([index, 0, block, 0], [26, 0]).map((word) => (word >>> 8) / 2 ** 24);
      hits += Number(inside(a!, b!)) + Number(inside(c!, d!));
    }
  }
  const pi = ((4 * hits) / 4096).toFixed(5);
  expect((await run('pi', '8', 'wasm')).toString()).toBe(`${hits} of 4096 points: π is about ${pi}\n`);
  expect(Math.abs(Number(pi) - Math.PI)).toBeLessThan(0.1); // four deviations of 4,096 points
});

test.skipIf(isShort)('image: the Mandelbrot set', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-image-'));
  try {
    const file = join(folder, 'small.pgm');
    expect((await run('image', file, '48', '32', 'wasm')).toString()).toMatch(
      /small\.pgm: 48 × 32, \d+\.\d % inside\n$/,
    );
    const bytes = readFileSync(file);
    expect(bytes.subarray(0, 13).toString()).toBe('P5 48 32 255\n');
    const f = Math.fround;
    const scale = f(2.4 / 32);
    const [left, top] = [f(-0.7 - ((2.4 / 32) * 48) / 2), f(-1.2)];
    const wanted = Array.from({ length: 48 * 32 }, (_, at) => {
      const [cx, cy] = [f(f((at % 48) * scale) + left), f(f(Math.floor(at / 48) * scale) + top)];
      let [zx, zy, rounds] = [0, 0, 0];
      while (f(f(zx * zx) + f(zy * zy)) < 4 && rounds < 255)
        [zx, zy, rounds] = [f(f(f(zx * zx) - f(zy * zy)) + cx), f(f(f(zx * zy) * 2) + cy), rounds + 1];
      return 255 - rounds;
    });
    expect([...bytes.subarray(13)]).toEqual(wanted);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.skipIf(isShort)('flow: primes by two kernels', async () => {
  expect((await run('flow', '1000000', 'wasm')).toString()).toBe('78498 primes below 1000000, the largest is 999983\n');
});

test.skipIf(isShort)('device: two streams without the engine', async () => {
  expect((await run('device', 'wasm')).toString()).toBe('wasm: 2097152 of 2097152 words are right\n');
});

/** Philox-4x32-10 as the paper writes it. */
function philox(counter: readonly number[], key: readonly number[]): number[] {
  const mask = 0xffff_ffffn;
  let [l0, r0, l1, r1] = counter.map(BigInt) as [bigint, bigint, bigint, bigint];
  let [k0, k1] = key.map(BigInt) as [bigint, bigint];
  for (let round = 0; round < 10; round++) {
    const [p0, p1] = [l0 * 0xd2511f53n, l1 * 0xcd9e8d57n];
    [l0, r0, l1, r1] = [(p1 >> 32n) ^ r0 ^ k0, p1 & mask, (p0 >> 32n) ^ r1 ^ k1, p0 & mask];
    [k0, k1] = [(k0 + 0x9e3779b9n) & mask, (k1 + 0xbb67ae85n) & mask];
  }
  return [l0, r0, l1, r1].map(Number);
}
