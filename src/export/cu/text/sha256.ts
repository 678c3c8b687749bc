import { sha256 as functions, roundConstants } from '../../../kernel/std/hash/sha256.js';
import { hex32 } from '../hex.js';

/** Returns the rows of a table of words. */
function table(words: readonly number[]): string {
  const texts = words.map((word) => `0x${hex32(word)}`);
  const rows = Array.from({ length: Math.ceil(texts.length / 8) }, (_, row) => texts.slice(8 * row, 8 * row + 8));
  return rows.map((row) => `    ${row.join(', ')},`).join('\n');
}

/** SHA-256 as its standard defines it. It checks the GPU's answers, and so shares nothing with the kernels. */
export const sha256 = `// Plain SHA-256, by the standard (FIPS 180-4). It hashes the merkle tree, and checks every nonce that the GPU finds.

using State = std::array<u32, 8>;
using Hash = std::array<unsigned char, 32>;

static const State INITIAL_STATE = {
${table(functions.iv)}
};

static const u32 ROUND_CONSTANTS[64] = {
${table(roundConstants)}
};

static u32 rotr(u32 x, u32 count) { return x >> count | x << (32 - count); }
static u32 choose(u32 x, u32 y, u32 z) { return (x & y) | (~x & z); }
static u32 majority(u32 x, u32 y, u32 z) { return (x & y) | (x & z) | (y & z); }

// Returns the state after one block of 16 words.
static State compress(const State &before, const u32 *block) {
  u32 w[64];
  for (int t = 0; t < 16; t++) w[t] = block[t];
  for (int t = 16; t < 64; t++) {
    const u32 s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const u32 s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = before;
  for (int t = 0; t < 64; t++) {
    const u32 t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choose(e, f, g) + ROUND_CONSTANTS[t] + w[t];
    const u32 t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority(a, b, c);
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  return {before[0] + a, before[1] + b, before[2] + c, before[3] + d,
          before[4] + e, before[5] + f, before[6] + g, before[7] + h};
}

// Returns the big-endian word at an address.
static u32 load_word(const unsigned char *bytes) {
  return u32(bytes[0]) << 24 | u32(bytes[1]) << 16 | u32(bytes[2]) << 8 | u32(bytes[3]);
}

// Returns the SHA-256 of fewer than 120 bytes: a message here has 32, 64 or 80.
static Hash sha256(const unsigned char *message, size_t size) {
  unsigned char padded[128] = {};
  std::memcpy(padded, message, size);
  padded[size] = 0x80;
  const size_t blocks = (size + 9 + 63) / 64;
  padded[64 * blocks - 2] = static_cast<unsigned char>(8 * size >> 8);
  padded[64 * blocks - 1] = static_cast<unsigned char>(8 * size);
  State state = INITIAL_STATE;
  for (size_t block = 0; block < blocks; block++) {
    u32 words[16];
    for (int t = 0; t < 16; t++) words[t] = load_word(padded + 64 * block + 4 * t);
    state = compress(state, words);
  }
  Hash hash;
  for (int i = 0; i < 32; i++) hash[i] = static_cast<unsigned char>(state[i / 4] >> (24 - 8 * (i % 4)));
  return hash;
}

static Hash double_sha256(const unsigned char *message, size_t size) {
  const Hash once = sha256(message, size);
  return sha256(once.data(), once.size());
}`;
