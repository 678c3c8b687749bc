import {
  type AesTables,
  aes,
  atomic,
  blake3,
  cell,
  cells,
  choose,
  type Expr,
  items,
  lit,
  loop,
  type RwBuffer,
  rw,
  select,
  sha256,
  u32,
  u64Of,
  when,
} from '../../../kernel/index.js';
import { compressBytes } from '../../../kernel/std/hash/sha256-bytes.js';
import { BLOCKS, padBuffers, padOf } from './pads.js';
import { rolledAes, rolledBlake3, rolledSha256 } from './rolled.js';
import { halves, put, setState, stateAt } from './state.js';

/**
 * UniversalHash in five launches over a batch of nonces, which communicate through memory only: the seeds of all chains,
 * their scratchpads (fill.ts), the rounds (in one or several launches, so that none is long), the digests, and the proof.
 * Chain c of nonce number n of the batch is slot 4n + c; `state` has 8 words per slot, the scratchpads are `pads`.
 */

type Word = Expr<'u32'>;

export const CHAINS = 4;
export const ROUNDS = 12_288;
const PHI = 0x9e3779b97f4a7c15n;

export interface Variant {
  /**
   * Chains per item: one, or three that are never at the same compression. Three in turn leave time to fetch a block
   * before it is needed, and no lane ever waits for another; one keeps more items busy.
   */
  readonly chainsPerItem: 1 | 3;
  /** Copies of the AES table in workgroup memory, and the number of its rotations there (`aes.rounds`). */
  readonly copies: number;
  readonly tables: 1 | 2 | 4;
  /** With three chains an item: reads all three blocks before the first compression, for targets without prefetch. */
  readonly early?: boolean;
  /** Compressions as loops (rolled.ts): a third of the code size, some instructions more. */
  readonly rolled?: boolean;
  /** Buffers that the scratchpads are spread over, if one binding cannot hold them. */
  readonly pads: number;
  /** Workgroups fill scratchpads together (fill.ts); otherwise each item fills one. */
  readonly tile?: FillTile | false;
}

/** How a workgroup fills scratchpads together. */
export interface FillTile {
  /** Scratchpads, one for each thread. */
  readonly chains: number;
  /** Blocks of each that are written at a time, a power of two: 64 contiguous bytes each. */
  readonly blocks: number;
  /** As in `Variant`. */
  readonly copies: number;
  readonly tables: 1 | 2 | 4;
}

/** The first state of each chain: BLAKE3 of header and nonce. The part that depends on the header only is hoisted. */
export const seeds = (spec: { readonly headerBytes: number }) =>
  items(
    'uhash-seeds',
    {
      job: { header: [u32, Math.max(1, Math.ceil(spec.headerBytes / 4))] },
      chunk: { nonce: [u32, 2] },
      buffers: { state: rw(u32) },
    },
    ({ job, chunk, item, buffers }) => {
      const chain = item.and(3);
      const times = chain.to('u64').mul(PHI);
      // A chunk never crosses a multiple of 2^32: there is no carry.
      const low = chunk.nonce[0].add(item.shr(2)).xor(times.lo);
      const high = chunk.nonce[1].xor(times.hi);
      const header = job.header.slice(0, Math.ceil(spec.headerBytes / 4));
      const seed = blake3.hash(appendNonce(header, spec.headerBytes, low, high), spec.headerBytes + 8);
      setState(buffers.state, item, seed);
    },
  );

/**
 * Rounds `from` (a multiple of 3) to `from + rounds` of every chain. Neighbours must be at the same compression: chains of
 * one phase, (nonce + chain) mod 3, are adjacent, and `perPhase` of them (some without a nonce) fill whole gangs
 * and workgroups.
 */
export const mix = (variant: Variant) => (variant.chainsPerItem === 1 ? mixOne(variant) : mixThree(variant));

/** Chunk values of the launches of `mix`. */
const mixChunk = {
  from: u32,
  rounds: u32,
  nonces: u32,
  /** The first nonce modulo 3. */
  turn: u32,
  perPhase: u32,
  perPad: u32,
} as const;

const mixOne = ({ copies, tables, rolled = false, pads: count }: Variant) =>
  items(
    'uhash-mix',
    { chunk: mixChunk, buffers: { state: rw(u32), ...padBuffers(count) } },
    ({ chunk, item, buffers }) => {
      const phase = select(item.lt(chunk.perPhase), 0, select(item.lt(chunk.perPhase.mul(2)), lit('u32', 1), 2));
      const at = item.sub(phase.mul(chunk.perPhase));
      const chain = at.and(3);
      const nonce = at
        .shr(2)
        .mul(3)
        .add(nonceOffset(phase, chain, chunk.turn));
      when(nonce.lt(chunk.nonces), () => {
        const slot = nonce.mul(CHAINS).add(chain);
        const state = cells('u32', stateAt(buffers.state, slot));
        const pad = padOf({ buffers, count, perPad: chunk.perPad }, slot);
        const turn = cell('u32', phase);
        const aesTables = { copies, tables, lane: item.and(copies - 1) };
        loop(chunk.rounds, (i) => {
          const now = state.map((word) => word.get());
          const block = blockOf(now, chunk.from.add(i));
          const message = pad.read(block);
          turn.set(select(turn.eq(2), 0, turn.add(1)));
          // Each compression is traced once.
          choose(
            turn,
            compressions(aesTables, rolled).map((step) => () => put(state, step(now, message))),
          );
          pad.write(block, halves(state.map((word) => word.get())));
        });
        setState(buffers.state, slot, state);
      });
    },
  );

/**
 * Three chains per item, in phases 0, 2 and 1 at first: the next to do SHA-256, AES and BLAKE3. After each round they
 * rotate, so that no branch is needed. In this order a chain's next block has at least the time of a SHA-256 to arrive
 * from memory, after BLAKE3; with AES first it would have none.
 */
const mixThree = ({ copies, tables, rolled = false, early = false, pads: count }: Variant) =>
  items(
    'uhash-mix',
    { chunk: mixChunk, buffers: { state: rw(u32), ...padBuffers(count) } },
    ({ chunk, item, buffers }) => {
      const chain = item.and(3);
      const first = item.shr(2).mul(3);
      const aesTables = { copies, tables, lane: item.and(copies - 1) };
      const rotation = [0, 2, 1].map((phase) => {
        const slot = first
          .add(nonceOffset(lit('u32', phase), chain, chunk.turn))
          .mul(CHAINS)
          .add(chain);
        const state = cells('u32', stateAt(buffers.state, slot));
        return { turn: (phase + 1) % 3, slot: cell('u32', slot), state };
      });
      const steps = compressions(aesTables, rolled);
      loop(chunk.rounds, (i) => {
        const round = chunk.from.add(i);
        const begin = ({ slot, state }: (typeof rotation)[number]) => {
          const now = state.map((word) => word.get());
          const own = slot.get();
          const pad = padOf({ buffers, count, perPad: chunk.perPad }, own);
          const block = blockOf(now, round);
          return { now, own, pad, block, message: pad.read(block) };
        };
        const begun = early ? rotation.map(begin) : [];
        const done = rotation.map((one, at) => {
          const { now, own, pad, block, message } = begun[at] ?? begin(one);
          const after = steps[one.turn]?.(now, message) ?? now;
          pad.write(block, halves(after));
          pad.fetch(blockOf(after, round.add(1)));
          return { turn: one.turn, own, after };
        });
        // The chain that has done AES does SHA-256 next, and so on.
        done.forEach(({ turn, own, after }) => {
          const next = rotation.find((one) => one.turn === (turn + 1) % 3);
          next?.slot.set(own);
          if (next) put(next.state, after);
        });
      });
      for (const { slot, state } of rotation) setState(buffers.state, slot.get(), state);
    },
  );

const proof = { offset: u32, digest: [u32, 8] } as const;

/** Stores the smallest item that is a proof in `best`, which is initialized to 2^32 − 1. */
export const findBest = items(
  'uhash-judge',
  { job: { difficulty: u32 }, buffers: { state: rw(u32), best: atomic() } },
  ({ job, item, buffers }) => {
    const bits = zeroBits(digestOf(buffers.state, item));
    when(bits.ge(job.difficulty), () => void buffers.best.min(0, item));
  },
);

/** Emits the proof that `findBest` stored, with a single item. */
export const emitBest = items(
  'uhash-tell',
  { buffers: { state: rw(u32), best: atomic() }, hit: proof },
  ({ buffers, emit }) => {
    const best = buffers.best.load(0);
    when(best.ne(0xffff_ffff), () => emit({ offset: best, digest: digestOf(buffers.state, best) }));
  },
);

/** Emits every proof of the batch. */
export const emitAll = items(
  'uhash-tell-all',
  { job: { difficulty: u32 }, buffers: { state: rw(u32) }, hit: proof },
  ({ job, item, buffers, emit }) => {
    const digest = digestOf(buffers.state, item);
    when(zeroBits(digest).ge(job.difficulty), () => emit({ offset: item, digest }));
  },
);

/** Stores every digest of the batch. */
export const digests = items('uhash-digests', { buffers: { state: rw(u32), digests: rw(u32) } }, ({ item, buffers }) =>
  setState(buffers.digests, item, digestOf(buffers.state, item)),
);

/** BLAKE3 of SHA-256 of the XOR of the four chains' states. */
function digestOf(state: RwBuffer<'u32'>, nonce: Word): Word[] {
  const finals = [0, 1, 2, 3].map((chain) => stateAt(state, nonce.mul(CHAINS).add(chain)));
  const sum = finals.reduce((all, one) => all.map((word, i) => word.xor(one[i] as Word)));
  const bits = [0x80000000, ...ZEROS.slice(0, 6), 256];
  const inner = rolledSha256(sha256.iv, [...sum.map((word) => word.byteSwap()), ...bits]);
  const { chunkStart, chunkEnd, root } = blake3.flags;
  const rest = [...blake3.iv.slice(0, 4), 0, 0, 32, chunkStart | chunkEnd | root];
  return rolledBlake3(blake3.iv, rest, [...inner.map((word) => word.byteSwap()), ...ZEROS]);
}

const ZEROS = Array<number>(8).fill(0);

/** Leading zero bits of a digest, byte 0 first. */
function zeroBits(digest: readonly Word[]): Word {
  let bits = lit('u32', 0);
  for (const word of [...digest].reverse()) {
    const zeros = word.byteSwap().clz();
    bits = select(zeros.eq(32), bits.add(32), zeros);
  }
  return bits;
}

/** The index of a nonce in its group of three, so that its chain `chain` is in `phase`; `turn` is the first nonce mod 3. */
const nonceOffset = (phase: Word, chain: Word, turn: Word): Word => phase.add(chain.mul(2)).add(turn.mul(2)).rem(3);

/** The first quad of the block that a round reads: of the specification's 64 bits only 13 matter. */
const blockOf = (state: readonly Word[], round: Word): Word =>
  (state[0] as Word)
    .xor(state[2] as Word)
    .xor(round.mul(2709))
    .and(BLOCKS - 1)
    .shl(2);

type Compression = (state: readonly Word[], block: readonly Word[]) => Word[];

/** The compressions: AES, SHA-256, BLAKE3. */
function compressions(aesTables: AesTables, isRolled: boolean): readonly [Compression, Compression, Compression] {
  const swapped = (words: readonly Word[]) => words.map((word) => word.byteSwap());
  return [
    (state, block) => (isRolled ? rolledAes : aesCompression)(state, block, aesTables),
    (state, block) => (isRolled ? swapped(rolledSha256(swapped(state), swapped(block))) : compressBytes(state, block)),
    (state, block) => (isRolled ? rolledBlake3(state, blake3.iv, block) : blake3.compressIv(state, block)),
  ];
}

function aesCompression(state: readonly Word[], block: readonly Word[], aesTables: AesTables): Word[] {
  const keys = [0, 4, 8, 12].map((at) => block.slice(at, at + 4));
  const order = (first: number) => [0, 1, 2, 3].map((k) => keys[(first + k) % 4] as Word[]);
  return [...aes.rounds(state.slice(0, 4), order(0), aesTables), ...aes.rounds(state.slice(4), order(2), aesTables)];
}

/** Appends the eight bytes of the nonce to a header of any length, as words. */
function appendNonce(header: readonly Word[], bytes: number, low: Word, high: Word): Word[] {
  const shift = 8 * (bytes % 4);
  if (shift === 0) return [...header, low, high];
  const last = header.at(-1) as Word;
  const middle = u64Of(low, high).shr(32 - shift).lo;
  return [...header.slice(0, -1), last.or(low.shl(shift)), middle, high.shr(32 - shift)];
}
