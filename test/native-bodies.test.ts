import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { thisCpu } from '../src/device/native/cpu.js';
import { items, type Kernel, kernelText, read, rw, sha256, u32 } from '../src/kernel/index.js';
import { type Foreign, missing, runForeign } from './foreign.js';

/**
 * Bodies for instructions that only some processors have, each in programs of its own. They are run where the processor
 * has the instructions, ARM's also where there is a cross compiler and an emulator.
 */
const here = thisCpu();

const shaNi: Foreign = {
  cpu: { arch: 'x86', features: new Set(['sse4_1', 'avx2', 'sha_ni']) },
  compiler: ['gcc', '-mavx2', '-msha'],
};
const armSha: Foreign = {
  cpu: { arch: 'arm', features: new Set(['neon', 'aes', 'sha2']) },
  ...(here.arch === 'arm'
    ? { compiler: ['gcc', '-march=armv8-a+crypto'] }
    : { compiler: ['aarch64-linux-gnu-gcc', '-static', '-march=armv8-a+crypto'], emulator: ['qemu-aarch64', '-cpu', 'max'] }),
};

/** Why programs for it cannot run here. */
function reason(foreign: Foreign): string | undefined {
  if (foreign.emulator) return missing(foreign) && `no ARM cross compiler or qemu (${missing(foreign)})`;
  const lacking = [...foreign.cpu.features].filter((name) => !here.features.has(name));
  return lacking.length > 0 ? `this processor has no ${lacking.join(', ')}` : missing(foreign);
}

/** Items whose number fills no gang. */
const COUNT = 509;
const LONGEST = 40;

/** Digests of the first n of each item's words, for each n of `lengths`, one after the other. */
const hashes = (lengths: readonly number[]): Kernel =>
  items('hashes', { buffers: { words: read(u32), out: rw(u32) } }, ({ item, buffers }) => {
    const words = Array.from({ length: Math.max(...lengths) }, (_, i) => buffers.words.at(item.mul(LONGEST).add(i)));
    lengths.forEach((length, k) => {
      sha256.hash(words.slice(0, length)).forEach((word, i) => {
        buffers.out.set(item.mul(8 * lengths.length).add(8 * k + i), word);
      });
    });
  });

/** Gangs, and lengths that they share out so that the compilers' time stays short: all of 1 to 40 words. */
const lanesAndLengths: readonly (readonly [lanes: number, lengths: readonly number[]])[] = [1, 2, 4, 8, 16].map(
  (lanes, i) => [lanes, Array.from({ length: LONGEST / 5 }, (_, k) => 5 * k + i + 1)],
);

describe.each([
  ['c-shani', shaNi, '_mm_sha256rnds2_epu32'],
  ['c-neon-sha', armSha, 'vsha256h2q_u32'],
] as const)('sha256.compress, %s', (_, foreign, instruction) => {
  test.each(lanesAndLengths)("%i lanes: node:crypto's digests", (lanes, lengths) => {
    // see below
  });
});
