import { cells, type Expr, lit, type RwBuffer, rw, select, when } from '../../../kernel/index.js';

type Word = Expr<'u32'>;

/** Blocks of a scratchpad, of 64 bytes: four quads each. */
export const BLOCKS = 8192;
/**
 * Quads from one scratchpad to the next: one block more than a scratchpad has. With a stride of 2^19 bytes the same block of
 * all scratchpads would map to one set of a CPU's caches, and during filling all lanes are at the same block.
 */
const PAD_QUADS = BLOCKS * 4 + 4;
export const PAD_BYTES = PAD_QUADS * 16;
/** The most scratchpads in one buffer: quads are indexed in 32 bits. */
export const MAX_PADS = Math.floor(2 ** 32 / PAD_QUADS);

/** The scratchpad buffers of a kernel: `pad0`, `pad1` … */
export function padBuffers(count: number): Readonly<Record<`pad${number}`, ReturnType<typeof rw<'u32'>>>> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`pad${at}`, rw('u32')]));
}

/** One slot's scratchpad. A `block` is the index of its first quad in the scratchpad. */
export interface Pad {
  /** The sixteen words of a block. */
  read(block: Word): Word[];
  /** Writes quads from a block's first on. */
  write(block: Word, quads: readonly (readonly Word[])[]): void;
  /** Prefetches a block that will be read soon. */
  fetch(block: Word): void;
}

/** Layout of the scratchpads: `perPad` slots in each of `count` buffers, in order. */
export interface PadLayout {
  readonly buffers: Readonly<Record<`pad${number}`, RwBuffer<'u32'>>>;
  readonly count: number;
  readonly perPad: Word;
}

export const padOf = (pads: PadLayout, slot: Word): Pad => {
  const part = padBufferIndex(pads, slot);
  return padIn(pads, part, firstQuadOf(pads, slot, part));
};

/** The index of the buffer that holds a slot's scratchpad. */
export function padBufferIndex({ count, perPad }: PadLayout, slot: Word): Word {
  let part = lit('u32', 0);
  for (let at = 1; at < count; at++) part = select(slot.lt(perPad.mul(at)), part, lit('u32', at));
  return part;
}

/** The scratchpad's first quad in that buffer. */
export const firstQuadOf = ({ perPad }: PadLayout, slot: Word, part: Word): Word =>
  slot.sub(part.mul(perPad)).mul(PAD_QUADS);

/** The scratchpad that begins with quad `first` of buffer `part`. */
export function padIn({ buffers, count }: PadLayout, part: Word, first: Word): Pad {
  const parts = Array.from({ length: count }, (_, at) => buffers[`pad${at}`] as RwBuffer<'u32'>);
  // No target can index buffers, so an access is a binary tree of branches; neighbours mostly take the same ones.
  const withBuffer = (act: (buffer: RwBuffer<'u32'>) => void, from = 0, to = count): void => {
    const [only, middle] = [parts[from], (from + to + 1) >> 1];
    if (only === undefined) return;
    if (to - from === 1) act(only);
    else when(part.lt(middle), () => withBuffer(act, from, middle)).otherwise(() => withBuffer(act, middle, to));
  };
  const wordsAt = (buffer: RwBuffer<'u32'>, at: Word): Word[] =>
    [0, 1, 2, 3].flatMap((quad) => buffer.at4(at.add(quad)));
  return {
    read(block) {
      const at = first.add(block);
      const [only, ...others] = parts;
      if (only && others.length === 0) return wordsAt(only, at);
      const words = cells('u32', Array<number>(16).fill(0));
      withBuffer((buffer) => {
        wordsAt(buffer, at).forEach((word, i) => {
          words[i]?.set(word);
        });
      });
      return words.map((word) => word.get());
    },
    write(block, quads) {
      const at = first.add(block);
      withBuffer((buffer) => {
        quads.forEach((quad, k) => {
          buffer.set4(at.add(k), quad);
        });
      });
    },
    fetch(block) {
      const at = first.add(block);
      withBuffer((buffer) => buffer.prefetch4(at));
    },
  };
}
