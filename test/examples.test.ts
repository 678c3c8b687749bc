import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
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

test('transform: the brightness of pixels', async () => {
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
