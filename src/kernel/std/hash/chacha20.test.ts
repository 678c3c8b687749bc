import { createCipheriv, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { hexOfWords, kernelRunners, wordsOfHex } from '../../../../test/run-kernel.js';
import { isShort } from '../../../../test/tier.js';
import { read, rw } from '../../language/buffers.js';
import { items } from '../../language/items.js';
import { u32 } from '../../language/types.js';
import { chacha20 } from './chacha20.js';

const { interpreter, native } = await kernelRunners();

const BLOCKS = 5;
const stream = (rolled: boolean) =>
  items(
    'stream',
    { job: { counter: u32 }, buffers: { key: read(u32), nonce: read(u32), out: rw(u32) } },
    ({ item, job, buffers }) => {
      const key = Array.from({ length: 8 }, (_, i) => buffers.key.at(i));
      const nonce = Array.from({ length: 3 }, (_, i) => buffers.nonce.at(i));
      const words = chacha20.block(key, job.counter.add(item), nonce, { rolled });
      for (const [i, word] of words.entries()) buffers.out.set(item.mul(16).add(i), word);
    },
  );

test.each([
  ['unrolled', interpreter, false],
  ['as a loop', interpreter, true],
  ['in a gang', native, true],
] as const)('the key stream equals the one of node:crypto, %s', async (_, runner, rolled) => {
  if (runner.absent || (isShort && runner === native)) return;
  const [key, nonce, counter] = [randomBytes(32), randomBytes(12), 0x7fff_fffe];
  const iv = Buffer.alloc(16);
  iv.writeUInt32LE(counter, 0);
  nonce.copy(iv, 4);
  const expected = createCipheriv('chacha20', key, iv).update(Buffer.alloc(64 * BLOCKS));
  const buffers = {
    key: Uint32Array.from(wordsOfHex(key.toString('hex'))),
    nonce: Uint32Array.from(wordsOfHex(nonce.toString('hex'))),
    out: new Uint32Array(16 * BLOCKS),
  };
  const { out } = await runner.run(stream(rolled), { job: { counter }, count: BLOCKS, buffers });
  expect(hexOfWords(out as Uint32Array)).toBe(expected.toString('hex'));
});
