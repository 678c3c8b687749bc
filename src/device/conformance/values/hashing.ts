import { items, read, rw, sha256 } from '../../../kernel/index.js';
import type { CompileOptions } from '../../device.js';
import { type Case, Skip } from '../case.js';
import { Random } from '../model/random.js';
import { expectEqual, Rig } from '../rig.js';
import { distinctOptions } from '../streams/behaviour.js';

/** A plain implementation of SHA-256 by FIPS 180-4, to compare std/sha256 and its native bodies with. */
function compress(state: readonly number[], block: readonly number[]): number[] {
  const rotate = (x: number, n: number) => (x >>> n) | (x << (32 - n));
  const w = block.slice();
  for (let t = 16; t < 64; t++) {
    const [x, y] = [w[t - 15] as number, w[t - 2] as number];
    const s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >>> 3);
    const s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >>> 10);
    w.push(((w[t - 16] as number) + s0 + (w[t - 7] as number) + s1) | 0);
  }
  let [a, b, c, d, e, f, g, h] = state as [number, number, number, number, number, number, number, number];
  for (let t = 0; t < 64; t++) {
    const first =
      (h +
        (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
        ((e & f) ^ (~e & g)) +
        (constants[t] as number) +
        (w[t] as number)) |
      0;
    const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [a, b, c, d, e, f, g, h] = [(first + second) | 0, a, b, c, (d + first) | 0, e, f, g];
  }
  return [a, b, c, d, e, f, g, h].map((x, i) => (x + (state[i] as number)) >>> 0);
}

function digest(message: readonly number[]): number[] {
  const padded = [...message, 0x8000_0000];
  while (padded.length % 16 !== 14) padded.push(0);
  padded.push(0, message.length * 32);
  let state = initial;
  for (let at = 0; at < padded.length; at += 16) state = compress(state, padded.slice(at, at + 16));
  return state;
}

/** Fractions of square and cube roots of primes; f64 holds 32 bits of them exactly enough. */
const primes = Array.from({ length: 311 }, (_, n) => n + 2)
  .filter((n) => Array.from({ length: n - 2 }, (_, k) => k + 2).every((k) => n % k !== 0))
  .slice(0, 64);
const fraction = (x: number): number => Math.floor((x - Math.floor(x)) * 2 ** 32);
const initial = primes.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const constants = primes.map((p) => fraction(Math.cbrt(p)));

const forms = {
  'native bodies': [{ nativeBodies: true, lanes: 1 }, { nativeBodies: true }],
  'generic, one lane': [{ nativeBodies: false, lanes: 1 }],
  'generic, a gang': [{ nativeBodies: false }],
} as const satisfies Readonly<Record<string, readonly CompileOptions[]>>;
const everyForm: readonly CompileOptions[] = Object.values(forms).flat();
const COUNT = 67;

const hashes = ([form, formOptions]: readonly [string, readonly CompileOptions[]]): Case => ({
  name: `std/sha256: compress and double hash, ${form}`,
  run: async (device) => {
    const variants = distinctOptions(device, everyForm).filter((options) => formOptions.includes(options));
    if (variants.length === 0) throw new Skip('another form is the same program on this device');
    const random = new Random(256);
    const words = Uint32Array.from({ length: COUNT * 24 }, () => random.u32());
    const kernel = items(
      'hashes',
      { job: { first: ['u32', 3] }, buffers: { words: read('u32'), out: rw('u32') } },
      ({ item, job, buffers }) => {
        const from = item.mul(24);
        const all = Array.from({ length: 24 }, (_, k) => buffers.words.at(from.add(k)));
        const results = [
          sha256.compress(all.slice(0, 8), all.slice(8)),
          sha256.double([...job.first, ...all.slice(0, 9)]), // partly of the job
        ];
        for (const [k, word] of results.flat().entries()) buffers.out.set(item.mul(16).add(k), word);
      },
    );
    const expected = Array.from({ length: COUNT }, (_, i) => {
      const all = [...words.slice(24 * i, 24 * i + 24)];
      return [compress(all.slice(0, 8), all.slice(8)), digest(digest([1, 2, 3, ...all.slice(0, 9)]))].flat();
    }).flat();
    for (const options of variants) {
      await Rig.with(device, async (rig) => {
        const { buffers } = await rig.run(await device.compile(kernel, options), {
          job: { first: [1, 2, 3] },
          count: COUNT,
          buffers: { words, out: new Uint32Array(COUNT * 16) },
        });
        expectEqual(`digests with ${JSON.stringify(options)}`, buffers.out, expected);
      });
    }
  },
});

export const hashing: readonly Case[] = Object.entries(forms).map(hashes);
