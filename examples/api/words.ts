// # Make words
//
// `millrace/words` makes the words of a mask. `parseMask` reads a mask, `wordsOf` gives a word by its index and an index by
// its word; `createGenerator` makes words on devices, from any index.

import assert from 'node:assert';
import { createGenerator, parseMask, wordsOf } from 'millrace/words';

const words = wordsOf(parseMask('?u?l?d'));
assert.equal(words.size, 26n * 26n * 10n);
assert.equal(String(words.wordAt(11n)), 'Ab1');

const generator = await createGenerator({ devices: 'wasm' });
generator.setCharset(1, 'abc');
generator.setMask([1, 1, 1, 1]);
generator.setFormat('newline');
const into = new Uint8Array(generator.bufferSize(3));
await generator.generate(40n, 3, into);
assert.equal(Buffer.from(into).toString(), 'bbbb\nbbbc\nbbca\n');
await generator.close();
