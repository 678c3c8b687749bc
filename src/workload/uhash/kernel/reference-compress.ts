/**
 * The compressions of UniversalHash, and all of BLAKE3, for the reference only: bytes and words as in the standards, no
 * code of the kernel language. AES follows its definition, byte by byte (SubBytes, ShiftRows, MixColumns in one look-up
 * per byte, which JavaScript engines do fast).
 */

/** One AES round on the four words at `at`: column by column, row 0 in the low byte. */
export function aesRound(state: Uint32Array, at: number, keys: Uint32Array, key: number): void {
  const [w0, w1, w2, w3] = [state[at] ?? 0, state[at + 1] ?? 0, state[at + 2] ?? 0, state[at + 3] ?? 0];
  state[at] = column(w0, w1, w2, w3) ^ (keys[key] ?? 0);
  state[at + 1] = column(w1, w2, w3, w0) ^ (keys[key + 1] ?? 0);
  state[at + 2] = column(w2, w3, w0, w1) ^ (keys[key + 2] ?? 0);
  state[at + 3] = column(w3, w0, w1, w2) ^ (keys[key + 3] ?? 0);
}

/** FIPS 180-4's compression of one block of bytes into a state of bytes, both as little-endian words. */
export function sha256Compress(state: Uint32Array, block: Uint32Array, at: number): void {
  for (let t = 0; t < 16; t++) schedule[t] = byteSwap(block[at + t] ?? 0);
  for (let t = 16; t < 64; t++) {
    const early = schedule[t - 15] ?? 0;
    const late = schedule[t - 2] ?? 0;
    const s0 = rotr(early, 7) ^ rotr(early, 18) ^ (early >>> 3);
    const s1 = rotr(late, 17) ^ rotr(late, 19) ^ (late >>> 10);
    schedule[t] = (schedule[t - 16] ?? 0) + s0 + (schedule[t - 7] ?? 0) + s1;
  }
  for (let i = 0; i < 8; i++) initial[i] = byteSwap(state[i] ?? 0);
  let [a, b, c, d] = [initial[0] ?? 0, initial[1] ?? 0, initial[2] ?? 0, initial[3] ?? 0];
  let [e, f, g, h] = [initial[4] ?? 0, initial[5] ?? 0, initial[6] ?? 0, initial[7] ?? 0];
  for (let t = 0; t < 64; t++) {
    const s1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (sha256Constants[t] ?? 0) + (schedule[t] ?? 0)) | 0;
    const s0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22);
    const t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + t2) | 0;
  }
  const ended = [a, b, c, d, e, f, g, h];
  for (let i = 0; i < 8; i++) state[i] = byteSwap(((ended[i] ?? 0) + (initial[i] ?? 0)) | 0);
}

/** Seven rounds of BLAKE3 over `v`, whose sixteen words the caller has set; the message begins at `at`. */
export function blake3Rounds(v: Uint32Array, message: Uint32Array, at: number): void {
  for (let from = 0; from < messageOrders.length; from += 16) {
    for (let q = 0; q < 8; q++) {
      const x = message[at + (messageOrders[from + 2 * q] ?? 0)] ?? 0;
      const y = message[at + (messageOrders[from + 2 * q + 1] ?? 0)] ?? 0;
      mix(v, quarters[4 * q] ?? 0, quarters[4 * q + 1] ?? 0, quarters[4 * q + 2] ?? 0, quarters[4 * q + 3] ?? 0, x, y);
    }
  }
}

/** BLAKE3 of a message of any length, unkeyed, 32 bytes. */
export function blake3(message: Uint8Array): Uint8Array {
  return bytesOf(tree(message, 0, true));
}

export const BLAKE3_IV = Uint32Array.of(
  0x6a09e667,
  0xbb67ae85,
  0x3c6ef372,
  0xa54ff53a,
  0x510e527f,
  0x9b05688c,
  0x1f83d9ab,
  0x5be0cd19,
);

const CHUNK = 1024;
const Flag = { chunkStart: 1, chunkEnd: 2, parent: 4, root: 8 } as const;

/** The chaining value of the subtree whose first chunk is number `first`. The left subtree is the largest full one. */
function tree(message: Uint8Array, first: number, isRoot: boolean): Uint32Array {
  if (message.length <= CHUNK) return chunk(message, first, isRoot);
  let left = CHUNK;
  while (left * 2 < message.length) left *= 2;
  const words = new Uint32Array(16);
  words.set(tree(message.subarray(0, left), first, false));
  words.set(tree(message.subarray(left), first + left / CHUNK, false), 8);
  return compress(BLAKE3_IV, words, 0, 64, Flag.parent | (isRoot ? Flag.root : 0));
}

function chunk(message: Uint8Array, number: number, isRoot: boolean): Uint32Array {
  const blocks = Math.max(1, Math.ceil(message.length / 64));
  let chaining: Uint32Array = BLAKE3_IV;
  for (let i = 0; i < blocks; i++) {
    const bytes = message.subarray(64 * i, 64 * i + 64);
    const padded = new Uint8Array(64);
    padded.set(bytes);
    const isLast = i === blocks - 1;
    const end = isLast ? Flag.chunkEnd | (isRoot ? Flag.root : 0) : 0;
    const flags = (i === 0 ? Flag.chunkStart : 0) | end;
    chaining = compress(chaining, wordsOf(padded), number, bytes.length, flags);
  }
  return chaining;
}

function compress(chaining: Uint32Array, block: Uint32Array, counter: number, length: number, flags: number) {
  const v = new Uint32Array(16);
  v.set(chaining);
  v.set(BLAKE3_IV.subarray(0, 4), 8);
  v.set([counter, Math.floor(counter / 2 ** 32), length, flags], 12);
  blake3Rounds(v, block, 0);
  return v.subarray(0, 8).map((word, i) => word ^ (v[i + 8] ?? 0));
}

function mix(v: Uint32Array, a: number, b: number, c: number, d: number, x: number, y: number): void {
  let [va, vb, vc, vd] = [(v[a] ?? 0) | 0, (v[b] ?? 0) | 0, (v[c] ?? 0) | 0, (v[d] ?? 0) | 0];
  va = (va + vb + x) | 0;
  vd = rotr(vd ^ va, 16);
  vc = (vc + vd) | 0;
  vb = rotr(vb ^ vc, 12);
  va = (va + vb + y) | 0;
  vd = rotr(vd ^ va, 8);
  vc = (vc + vd) | 0;
  vb = rotr(vb ^ vc, 7);
  v[a] = va;
  v[b] = vb;
  v[c] = vc;
  v[d] = vd;
}

/** The four words of each mix: the columns, then the diagonals. */
const quarters = Uint8Array.from(
  [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
  ].flat(),
);

/** The message words of each of the seven rounds, from the permutation between rounds. */
const messageOrders = (() => {
  const permutation = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
  let order = Array.from({ length: 16 }, (_, i) => i);
  return Uint8Array.from(
    Array.from({ length: 7 }, () => {
      const now = order;
      order = permutation.map((from) => now[from] ?? 0);
      return now;
    }).flat(),
  );
})();

const schedule = new Int32Array(64);
const initial = new Int32Array(8);
const rotr = (x: number, by: number): number => (x >>> by) | (x << (32 - by));
const byteSwap = (x: number): number => (x << 24) | ((x & 0xff00) << 8) | ((x >>> 8) & 0xff00) | (x >>> 24) | 0;

/** The first 32 fractional bits of the cube roots of the first 64 primes, by Newton's method on bigints. */
const sha256Constants = (() => {
  const primes: bigint[] = [];
  for (let n = 2n; primes.length < 64; n++) if (primes.every((p) => n % p !== 0n)) primes.push(n);
  return Int32Array.from(primes, (p) => {
    const scaled = p << 96n;
    let root = 1n << 36n;
    for (let next = 0n; ; root = next) {
      next = (2n * root + scaled / (root * root)) / 3n;
      if (next >= root) break;
    }
    return Number(root & 0xffff_ffffn);
  });
})();

/** AES' S-box: the inverse as the 254th power in GF(2^8), then the affine map. */
const gfMultiply = (a: number, b: number): number => {
  let sum = 0;
  for (let x = a, y = b; y > 0; y >>= 1) {
    if (y & 1) sum ^= x;
    x = (x << 1) ^ (x & 0x80 ? 0x11b : 0);
  }
  return sum;
};
const sBox = Uint8Array.from({ length: 256 }, (_, byte) => {
  let inverse = 1;
  for (let i = 0; i < 254; i++) inverse = gfMultiply(inverse, byte);
  let out = 0x63;
  for (let bit = 0; bit < 8; bit++) {
    const sum = [0, 4, 5, 6, 7].reduce((parity, by) => parity ^ (inverse >> ((bit + by) % 8)), 0) & 1;
    out ^= sum << bit;
  }
  return out;
});
/** The contribution of a byte in row r to the four rows of its new column. */
const rowTables = [0, 1, 2, 3].map((row) =>
  Uint32Array.from(sBox, (s) => {
    const rows = [2, 1, 1, 3].map((factor) => gfMultiply(s, factor));
    return rows.reduce((word, value, r) => word | (value << (8 * ((r + row) % 4))), 0);
  }),
) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
const [fromRow0, fromRow1, fromRow2, fromRow3] = rowTables;

function column(a: number, b: number, c: number, d: number): number {
  return (
    (fromRow0[a & 0xff] ?? 0) ^
    (fromRow1[(b >>> 8) & 0xff] ?? 0) ^
    (fromRow2[(c >>> 16) & 0xff] ?? 0) ^
    (fromRow3[d >>> 24] ?? 0)
  );
}

/** Little-endian words of whole bytes, and back. */
export function wordsOf(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, i) => view.getUint32(4 * i, true));
}

export function bytesOf(words: Uint32Array): Uint8Array {
  const bytes = new Uint8Array(words.length * 4);
  const view = new DataView(bytes.buffer);
  words.forEach((word, i) => {
    view.setUint32(4 * i, word, true);
  });
  return bytes;
}
