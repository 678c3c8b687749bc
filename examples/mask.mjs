// Finds a word of a mask by its MD5, SHA-256 or SHA3-256: `node examples/mask.mjs cuda:0 md5 '?l?l?l?l?l?l?l?l' DIGEST`. Without a digest
// it looks for the mask's last word, so that every word is tried. Prints the word, and the rate in words per second.

import { createHash } from 'node:crypto';
import { items, md5, search, sha3, sha256, u32, when } from 'millrace';
import { fusedWords, parseMask, wordsOf } from 'millrace/words';

const [, , devices = 'auto', name = 'md5', text = '?l?l?l?d?d', hex] = process.argv;
const mask = parseMask(text);
// In this order the first letters change fastest. They are in the first word of the message, which the fewest steps need.
const words = fusedWords(mask, 'hashcat');
const list = wordsOf(mask, 'hashcat');
const isBigEndian = name === 'sha256'; // it reads and writes big-endian words

/** The eight parts of a word's digest. */
const digestWords = (/** @type {import('millrace').Expr<'u32'>[]} */ word) =>
  isBigEndian
    ? sha256.hash(
        word.map((part) => part.byteSwap()),
        words.bytes,
      )
    : sha3.hash256(word, words.bytes).flatMap((lane) => [lane.lo, lane.hi]);

/** An item is a loop over `words.perItem` words; what they share is computed once. `inner` is a word's number in its item. */
const find = items(`${name}-mask`, { job: { wanted: [u32, 8] }, hit: { inner: u32 } }, ({ job, index, emit }) => {
  words.each(index, (word, inner) => {
    if (name === 'md5') {
      when(md5.matches(word, words.bytes, job.wanted.slice(0, 4)), () => emit({ inner }));
      return;
    }
    const digest = digestWords(word);
    const all = job.wanted.map((part, i) => part.eq(digest[i] ?? 0)).reduce((one, other) => one.and(other));
    // The last part alone is computed for most words: SHA-256's needs three rounds fewer than its first.
    when(job.wanted[7].eq(digest[7] ?? 0), () => {
      when(all, () => emit({ inner }));
    });
  });
});

const digestOf = (/** @type {string} */ word) => createHash(name).update(word, 'latin1').digest();
const wordAt = (/** @type {bigint} */ item, /** @type {number} */ inner) =>
  list.wordAt(item * BigInt(words.perItem) + BigInt(inner));
const digest = hex === undefined ? digestOf(list.wordAt(list.size - 1n)) : Buffer.from(hex, 'hex');
const wanted = Array.from({ length: 8 }, (_, i) => {
  const part = digest.subarray(4 * i, 4 * i + 4);
  return part.length < 4 ? 0 : isBigEndian ? part.readUInt32BE() : part.readUInt32LE();
});

// The first report comes when the kernel is compiled and runs.
let first = { done: 0n, time: 0 };
let last = first;
const hit = await search(find, {
  devices,
  space: words.items,
  job: { wanted },
  mode: 'first',
  verify: ({ index, inner }) => digestOf(wordAt(index, inner)).equals(digest),
  onProgress: ({ done }) => {
    last = { done, time: performance.now() };
    if (first.time === 0) first = last;
  },
}).first();
console.log(hit ? wordAt(hit.index, hit.inner) : 'not found');
const rate = (Number(last.done - first.done) * words.perItem) / (last.time - first.time) / 1e6;
if (rate > 0) console.log(`${rate.toPrecision(4)} GH/s`);
