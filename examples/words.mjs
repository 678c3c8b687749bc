// Finds a word by its SHA-256. Words are made and hashed on the device, in registers: nothing is stored, nothing copied.
// `node examples/words.mjs cuda:0` runs on that device.

import { createHash } from 'node:crypto';
import { items, search, sha256, u32, when } from 'millrace';
import { fusedWords, parseMask, wordsOf } from 'millrace/words';

const mask = parseMask('?u?l?l?l?d?d?d?d'); // 4,569,760,000 words of eight bytes
const words = fusedWords(mask);

const find = items('find', { job: { wanted: [u32, 8] }, hit: { digest: [u32, 8] } }, ({ job, index, emit }) => {
  // SHA-256 reads big-endian words.
  const digest = sha256.hash(words.at(index).map((word) => word.byteSwap()));
  when(digest[0].eq(job.wanted[0]), () => emit({ digest }));
});

const planted = 'Acat2024';
const digest = createHash('sha256').update(planted).digest();
const wanted = Array.from({ length: 8 }, (_, at) => digest.readUInt32BE(4 * at));
const [, , devices = 'auto'] = process.argv;

const hit = await search(find, {
  devices,
  space: words.size,
  job: { wanted },
  mode: 'first',
  verify: ({ index }) => createHash('sha256').update(wordsOf(mask).wordAt(index)).digest().equals(digest),
}).first();
console.log(hit ? `${wordsOf(mask).wordAt(hit.index)} is word ${hit.index}` : 'not found');
