import { cells, type Expr, lit, type RwBuffer, rw, select, when } from '../../../kernel/index.js';

type Word = Expr<'u32'>;

/** Blocks of a scratchpad, of 64 bytes: four quads each. */
export const BLOCKS = 8192;
/**
 * Quads from one scratchpad to the next. One block more than it has: with 2^19 bytes the same block of all scratchpads
 * would fall in one set of a CPU's caches, and while they are filled all lanes are at the same block.
 */
const PAD_QUADS = BLOCKS * 4 + 4;
export const PAD_BYTES = PAD_QUADS * 16;
/** Quads are counted in 32 bits: so many scratchpads are the most of one buffer. */
export const MOST_PADS = Math.floor(2 ** 32 / PAD_QUADS);

/** The scratchpads of a kernel: `pad0`, `pad1` … */
export function padBuffers(count: number): Readonly<Record<`pad${number}`, ReturnType<typeof rw<'u32'>>>> {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`pad${at}`, rw('u32')]));
}

/** One slot's scratchpad. Places are quads from its beginning on, all of a block at once. */
export interface Pad {
  /** The sixteen words of a block. */
  read(block: Word): Word[];
  /** Two or four quads from a block's first on. */
  write(block: Word, quads: readonly (readonly Word[])[]): void;
  /** The block will be read soon. */
  fetch(block: Word): void;
}

/** Where scratchpads are: `perPad` slots in each of `count` buffers, in their order. */
export interface Pads {
  readonly buffers: Readonly<Record<`pad${number}`, RwBuffer<'u32'>>>;
  readonly count: number;
  readonly perPad: Word;
}

/** A slot's scratchpad. */
export const padOf = (pads: Pads, slot: Word): Pad => {
  const part = partOf(pads, slot);
  return padIn(pads, part, firstOf(pads, slot, part));
};

/** The number of the buffer that a slot's scratchpad is in. */
export function partOf({ count, perPad }: Pads, slot: Word): Word {
  let part = lit('u32', 0);
  for (let at = 1; at < count; at++) part = select(slot.lt(perPad.mul(at)), part, lit('u32', at));
  return part;
}

/** Its first quad there. */
export const firstOf = ({ perPad }: Pads, slot: Word, part: Word): Word => slot.sub(part.mul(perPad)).mul(PAD_QUADS);

/** The scratchpad that begins with quad `first` of buffer `part`. */
export function padIn({ buffers, count }: Pads, part: Word, first: Word): Pad {
  const parts = Array.from({ length: count }, (_, at) => buffers[`pad${at}`] as RwBuffer<'u32'>);
  // No target can choose a buffer by a number, so an access is branches, by halves; neighbours mostly take the same ones.
  const reach = (act: (buffer: RwBuffer<'u32'>) => void, from = 0, to = count): void => {
    const [only, middle] = [parts[from], (from + to + 1) >> 1];
    if (only === undefined) return;
    if (to - from === 1) act(only);
    else when(part.lt(middle), () => reach(act, from, middle)).otherwise(() => reach(act, middle, to));
  };
  const wordsAt = (buffer: RwBuffer<'u32'>, at: Word): Word[] =>
    [0, 1, 2, 3].flatMap((quad) => buffer.at4(at.add(quad)));
  return {
    read(block) {
      const at = first.add(block);
      const [only, ...others] = parts;
      if (only && others.length === 0) return wordsAt(only, at);
      const words = cells('u32', Array<number>(16).fill(0));
      reach((buffer) => {
        wordsAt(buffer, at).forEach((word, i) => {
          words[i]?.set(word);
        });
      });
      return words.map((word) => word.get());
    },
    write(block, quads) {
      const at = first.add(block);
      reach((buffer) => {
        quads.forEach((quad, k) => {
          buffer.set4(at.add(k), quad);
        });
      });
    },
    fetch(block) {
      const at = first.add(block);
      reach((buffer) => buffer.prefetch4(at));
    },
  };
}
