import { roundConstants } from '../../kernel/std/hash/sha256.js';
import type { CuPipeline } from '../request.js';
import { hex32 } from './hex.js';

/** Adds comments to a kernel's body: notes, and the rounds of the two hashes. */
export function annotate(body: readonly string[], pipeline: CuPipeline): string[] {
  const lines = markRounds(body).flatMap((line) => {
    const [, ...comment] = notes[pipeline].find(([before]) => before.test(line)) ?? [];
    const indent = /^ */.exec(line)?.[0] ?? '';
    return [...comment.map((text) => `${indent}// ${text}`), line];
  });
  const missing = notes[pipeline].filter(([before]) => body.filter((line) => before.test(line)).length !== 1);
  if (missing.length > 0) throw new TypeError(`the kernel has not one line for ${missing.map(([before]) => before)}`);
  return lines;
}

/** A comment of its own line before the line that matches. */
type Note = readonly [before: RegExp, ...comment: readonly string[]];

const itemNotes: readonly Note[] = [
  [/const u32 p_job_0 = /, "The block's words."],
  [/const u32 v0 = item \+ /, 'The nonce; then its bytes, as SHA-256 reads them. Each line of the rest is one value.'],
  [
    /^ *if \(v\d+ <= p_target_0\)/,
    "The hash's top 32 bits are known after round 60. Nearly all nonces end here; rounds 61 to 63 are for the others.",
  ],
  [/^ *const u32 v\d+ = atomicAdd\(&b_ring\[0u\]/, 'A hit. It is counted, and stored if there is room.'],
];

const notes: Readonly<Record<CuPipeline, readonly Note[]>> = {
  poll: [
    [/^ *if \(counted\)/, 'A launch may read its number of items from memory. This program does not use that.'],
    [/^ *const u32 least = /, 'Blocks of 256 items, one item a thread; thread blocks stride over them.'],
    [/^ *if \(round % 64u == 0u/, 'Now and then: has the host cancelled the launch?'],
    ...itemNotes,
  ],
  persistent: [
    [
      /atomicExch\(\(u64 \*\)state \+ HAS_WATCH/,
      'The watch is the first thread block to arrive. It copies new entries to the device and passes on orders, and it',
      "stays until no other thread block is left. It alone reads the host's memory: that takes a microsecond.",
    ],
    [/^ *u32 processor = 0u;/, "Thread blocks on multiprocessors that are not the grid's leave at once."],
    [
      /^ *ticket = \(u64\)-1;/,
      'One thread takes the next part, waits until its entry is there, and tells the others. A part that was taken is',
      'dropped only when the watch has passed on an order, after which no more entries arrive.',
    ],
    [/^ *const u64 number = ticket >> partsLog;/, 'The entry of this part.'],
    [/^ *const u32 least = /, 'Blocks of 256 items, one item a thread; the parts of an entry stride over them.'],
    [/^ *if \(round % 64u == 63u/, 'Now and then: has the host ordered the grid to stop?'],
    [
      /^ *if \(__any_sync\(4294967295u, stopped\)\) break;/,
      "The thread block that finishes an entry's last part publishes the entry: hits, fence, flag.",
    ],
    ...itemNotes,
  ],
};

/** Marks the lines that add a round's constant. Constant message words are already in it. */
function markRounds(body: readonly string[]): string[] {
  const constants = [roundConstants.map(hex32), roundConstants.map(hex32)] as [string[], string[]];
  const fold = (hash: 0 | 1, round: number, word: number) => {
    constants[hash][round] = hex32(((roundConstants[round] ?? 0) + word) >>> 0);
  };
  fold(0, 15, 640); // the header's length in bits
  fold(1, 8, 0x80000000); // the bit after the first hash
  fold(1, 15, 256); // its length
  let [hash, last] = [0 as 0 | 1, 0];
  return body.map((line) => {
    const literals = [...line.matchAll(/0x([0-9a-f]+)u/g)].map(([, digits = '']) => digits.padStart(8, '0'));
    if (hash === 0 && last === 63) hash = 1;
    const round = literals.map((digits) => constants[hash].indexOf(digits)).find((at) => at > 0);
    if (round === undefined) return line;
    last = round;
    return `${line}  // hash ${hash + 1}, round ${round}`;
  });
}
